"""Who is a member when the hammer falls (docs/rules.md, "After the hammer")."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from saleroom.kernel.errors import Contradiction
from saleroom.settlement.domain.memberships import Mark, Members, is_member, people_of, refuse_end

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)


class Case(NamedTuple):
    """Marks in their order, and whether they make somebody a member at noon."""

    marks: list[Mark]
    member: bool


def mark(since: datetime, until: datetime | None = None, *, member: bool = True) -> Mark:
    """Return a mark."""
    return Mark(since=since, is_member=member, until=until)


CASES = {
    "nobody has said": Case([], False),
    "marked at that very instant": Case([mark(NOON)], True),
    "marked just after": Case([mark(NOON + TICK)], False),
    "it ends at that very instant": Case([mark(NOON - TICK, NOON)], False),
    "it ends just after": Case([mark(NOON - TICK, NOON + TICK)], True),
    "ended just before": Case([mark(NOON - 2 * TICK), mark(NOON - TICK, member=False)], False),
    "ended just after": Case([mark(NOON - TICK), mark(NOON + TICK, member=False)], True),
    "a shorter end holds in place of a longer one": Case([mark(NOON - 2 * TICK), mark(NOON - TICK, NOON)], False),
    "of two at one instant the later one holds": Case([mark(NOON), mark(NOON, member=False)], False),
}


@pytest.mark.parametrize("name", CASES)
def test_the_last_mark_before_the_hammer_holds(name: str) -> None:
    """A mark counts from its instant on, and its end is the first instant at which nobody is a member by it."""
    assert CASES[name].member == is_member(CASES[name].marks, NOON)


def test_two_who_were_merged_are_a_member_if_one_of_them_is() -> None:
    """Somebody who was merged into the buyer counts, and nobody else; a consignor has their own mark."""
    members = Members(buyers={1: [mark(NOON)], 3: [mark(NOON)]}, consignors={2: [mark(NOON)]}, merged={1: 2})
    assert [False, True, True] == [members.has_bought(number, NOON) for number in (1, 2, 3)]
    assert [False, True, False] == [members.has_sold(number, NOON) for number in (1, 2, None)]
    assert not members.has_bought(None, NOON)
    assert {1, 2} == people_of([2], {1: 2, 5: 6})


@pytest.mark.parametrize(
    ("member", "until", "code"), [(True, NOON, "end_in_past"), (False, NOON + TICK, "no_membership")]
)
def test_ends_that_make_no_sense_are_refused(member: bool, until: datetime, code: str) -> None:
    """An end lies in the future, and only a membership has one."""
    with pytest.raises(Contradiction) as refused:
        refuse_end(until, NOON, is_member=member)
    assert code == refused.value.faults["until"][0].code
    refuse_end(NOON + TICK, NOON, is_member=True)
    refuse_end(None, NOON, is_member=False)
