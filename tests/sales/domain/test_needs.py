"""Fund-a-need: its levels, its pledges, and what they add up to (docs/rules.md, "Fund-a-need")."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.bidding.domain.errors import BeyondLimit, NotClosed, NothingToUndo, NotOnBlock, OnBlock
from saleroom.bidding.domain.events import Channel
from saleroom.kernel.errors import Contradiction
from saleroom.kernel.money import STEP
from saleroom.kernel.parties import Party
from saleroom.sales.domain import needs
from saleroom.sales.domain.errors import (
    LevelChanged,
    NeedClosed,
    NoLevelLeft,
    PledgedAlready,
    PledgesStand,
    PledgeUndoneAlready,
)
from saleroom.sales.domain.needs import Need, Pledge, Stage, Tally, tally
from saleroom.sales.domain.participants import Exposure, refuse_pledge_beyond
from tests.bidding.domain.playing import T0


def eur(amount: int | Decimal) -> Decimal:
    """An amount."""
    return Decimal(amount).quantize(STEP)


LEVELS = (eur(5000), eur(1000), eur(500), eur(100))
ASKED = Need(levels=LEVELS)


def made(number: int, amount: Decimal, user: int = 1) -> Pledge:
    """A pledge of a user."""
    return Pledge(number=number, user=Party(user, f"user{user}"), amount=amount, channel=Channel.FLOOR, at=T0)


pledged = st.lists(st.tuples(st.integers(1, 5), st.sampled_from(LEVELS)), max_size=12).map(
    lambda some: [made(number, amount, user) for number, (user, amount) in enumerate(some, 1)]
)


def without(some: list[Pledge], numbers: list[int]) -> list[Pledge]:
    """Undo these pledges, one after the other."""
    found = {one.number: one for one in some}
    for number in numbers:
        found[number] = needs.undo_pledge(needs.call(ASKED), found[number], T0 + timedelta(seconds=1))
    return list(found.values())


@given(pledged)
def test_the_total_is_the_sum_of_what_stands(some: list[Pledge]) -> None:
    """The total is the sum of the pledges, their number is the count, and each level has its own."""
    found = tally(some)
    assert (sum(one.amount for one in some), len(some)) == (found.total, found.count)
    assert found.by_level == {level: n for level in LEVELS if (n := sum(one.amount == level for one in some))}


@given(pledged, st.data())
def test_an_undone_pledge_leaves_what_was_there_without_it(some: list[Pledge], data: st.DataObject) -> None:
    """Undoing any rows, in any order, gives what the others give; a pledge that is undone is no longer there to be undone."""
    numbers = data.draw(st.lists(st.sampled_from(some), unique_by=lambda one: one.number)) if some else []
    rows = [one.number for one in numbers]
    others = [one for one in some if one.number not in rows]
    after = without(some, rows)
    assert tally(others) == tally(after) == tally(without(some, data.draw(st.permutations(rows))))
    for number in rows:
        with pytest.raises(PledgeUndoneAlready):
            without(after, [number])


@given(pledged, st.sampled_from(LEVELS))
def test_a_bidder_gives_twice_only_when_somebody_says_so(some: list[Pledge], level: Decimal) -> None:
    """The same bidder at the same amount is refused, unless `again`; what was undone does not count."""
    need = structs.replace(needs.call(ASKED), level=level)
    for user in range(1, 6):
        own = [one for one in some if one.user.id == user]
        if any(one.amount == level for one in own):
            with pytest.raises(PledgedAlready):
                needs.refuse_pledge(need, level, own, again=False)
        else:
            needs.refuse_pledge(need, level, own, again=False)
        needs.refuse_pledge(need, level, own, again=True)
        needs.refuse_pledge(need, level, [structs.replace(one, undone_at=T0) for one in own], again=False)


@given(st.lists(st.sampled_from(["call", "level", "skip", "close", "undo", "reopen"]), max_size=12))
def test_every_act_that_is_done_makes_another_tag(acts: list[str]) -> None:
    """Whatever is done in which order, each act gives a state of another tag, and a level is set on the block."""
    need, tags = ASKED, {ASKED.tag}
    steps = {
        "call": needs.call,
        "level": lambda one: needs.set_level(one, None),
        "skip": needs.skip,
        "close": needs.close,
        "undo": lambda one: needs.undo(one, Tally()),
        "reopen": needs.reopen,
    }
    for act in acts:
        try:
            need = steps[act](need)
        except (NotOnBlock, NoLevelLeft, NeedClosed, NotClosed):
            continue
        assert need.tag not in tags
        tags.add(need.tag)
        assert need.level is not None or not need.on_block


def test_levels_are_called_from_high_to_low() -> None:
    """The call begins at the highest level; each next one is the next lower one, also after an amount that is no level."""
    need = needs.call(ASKED)
    assert (eur(5000), Stage.ON_BLOCK) == (need.level, need.stage)
    need = needs.set_level(need, eur(2500))
    need = needs.set_level(need, None)
    assert eur(1000) == need.level
    assert eur(1000) == needs.call(needs.skip(need)).level, "it goes on where it was"
    with pytest.raises(LevelChanged) as refused:
        needs.refuse_pledge(need, eur(5000), [], again=False)
    assert {"level": eur(1000)} == refused.value.facts
    with pytest.raises(NoLevelLeft):
        needs.set_level(needs.set_level(need, eur(100)), None)
    with pytest.raises(Contradiction):
        needs.set_level(need, eur(0))


def test_the_hammer_ends_it_and_is_taken_back() -> None:
    """After the hammer nothing is pledged or undone; the hammer is undone, or the lot is reopened and called again."""
    need = needs.close(needs.call(ASKED))
    with pytest.raises(NotOnBlock):
        needs.refuse_pledge(need, eur(5000), [], again=False)
    with pytest.raises(NeedClosed):
        needs.undo_pledge(need, made(1, eur(5000)), T0)
    with pytest.raises(NeedClosed):
        needs.call(need)
    back = needs.undo(need, Tally({eur(5000): 1}))
    assert (Stage.ON_BLOCK, eur(5000)) == (back.stage, back.level)
    assert Stage.WAITING is needs.reopen(need).stage
    with pytest.raises(NotClosed):
        needs.reopen(back)
    with pytest.raises(NothingToUndo):
        needs.undo(back, Tally({eur(5000): 1}))
    assert (Stage.WAITING, None) == ((off := needs.undo(back, Tally())).stage, off.level)


@pytest.mark.parametrize(
    ("levels", "code"),
    [
        ((), "levels_count"),
        ((100,) * 21, "levels_count"),
        ((5, 5), "levels_descending"),
        ((1, 2), "levels_descending"),
        ((5, 0), "levels_positive"),
    ],
)
def test_levels_go_down(levels: tuple[int, ...], code: str) -> None:
    """There are 1 to 20 levels above 0, each lower than the one before."""
    with pytest.raises(Contradiction) as refused:
        needs.refuse_contradictory_need(Need(levels=tuple(eur(one) for one in levels)))
    assert [code] == [fault.code for fault in refused.value.faults["levels"]]


def test_levels_stay_once_somebody_has_pledged() -> None:
    """With a pledge the goal can change and the levels cannot; a closed one changes no more, and is not withdrawn either."""
    need = needs.call(ASKED)
    assert eur(9000) == needs.amended(need, {"goal": eur(9000)}, pledged=True).goal
    assert (eur(7),) == needs.amended(need, {"levels": (eur(7),)}, pledged=False).levels
    with pytest.raises(PledgesStand):
        needs.amended(need, {"levels": (eur(7),)}, pledged=True)
    with pytest.raises(Contradiction):
        needs.amended(need, {"goal": eur(0)}, pledged=True)
    with pytest.raises(NeedClosed):
        needs.amended(needs.close(need), {"goal": eur(1)}, pledged=False)
    with pytest.raises(OnBlock):
        needs.refuse_to_withdraw(need, Tally())
    with pytest.raises(PledgesStand):
        needs.refuse_to_withdraw(needs.close(need), Tally({eur(5): 1}))
    needs.refuse_to_withdraw(ASKED, Tally())


@given(st.lists(st.integers(1, 50), max_size=8), st.integers(0, 200))
def test_pledges_never_pass_the_limit(amounts: list[int], limit: int) -> None:
    """Pledges add up: whatever is asked for, what is taken stays within the limit, and the refusal says what is left."""
    held = Decimal(0)
    for amount in amounts:
        if held + amount > limit:
            with pytest.raises(BeyondLimit) as refused:
                refuse_pledge_beyond(eur(limit), Exposure({-1: held}), eur(amount))
            assert eur(limit) - held == refused.value.facts["left"]
        else:
            refuse_pledge_beyond(eur(limit), Exposure({-1: held}), eur(amount))
            held += amount
