"""The rules' properties once more through the HTTP API, over generated histories, on both databases.

Each history is played once per database, and answers and records are compared with the oracle. Then each property is
checked on what a stranger could see: the requests, their answers, and the auction after each.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs

from saleroom.bidding.service.closing import settle_due
from saleroom.kernel.instants import instant
from saleroom.kernel.parties import Party
from tests import fixtures_house
from tests.bidding.api.records import Records, records
from tests.bidding.domain.oracle import (
    AUTHOR,
    Act,
    Amend,
    Announce,
    Bid,
    Buy,
    Cancel,
    CloseNow,
    Oracle,
    Outage,
    Row,
    Settle,
    SoftCloseRule,
    Terms,
)
from tests.bidding.domain.playing import T0, at, money, seen, units
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, User, settings_for
from tests.histories import MINUTE, History, Relative, Step, bids, ends, interludes, lots

PEOPLE = ("ada", "bob", "cyd", "dee", "eve")
NAMES = {
    "starting": "startingPrice",
    "reserve": "reservePrice",
    "buy_now": "buyNowPrice",
    "soft_close": "softClose",
    "starts": "startsAt",
    "ends": "endsAt",
}

EVENTFUL = st.builds(
    lambda lot, early, middle, late: History(lot, (*early, *middle, *late)),
    lots(),
    st.lists(interludes(), max_size=2),
    st.lists(bids() | bids() | interludes(), min_size=3, max_size=9),
    st.lists(ends(), min_size=1, max_size=3),
)
"""Number of histories. Over HTTP, a request costs a hundred times as much as a step of the rules alone."""
SOON, LEAST = Relative("now", 1), Relative("least", 0)
BID = Step(SOON, "bid", 1, amount=LEAST)
RAISE = Step(SOON, "bid", 1, maximum=Relative("maximum", 1_000))
RIVAL = Step(SOON, "bid", 2, maximum=Relative("maximum", 5_000))
CANCEL, CLOSE = Step(SOON, "cancel"), Step(SOON, "close_now")
ANNOUNCE = Step(SOON, "announce", ends=Relative("now", MINUTE))
END = Step(Relative("end", 0), "settle")
REFUSED = (
    *(Step(SOON, "bid", 1, amount=Relative("least", -1)), Step(SOON, "buy", 1), Step(SOON, "cancel", 1)),
    *(Step(SOON, "amend", changes=(("reserve", 1),)), BID, BID, CANCEL),
)
LOT = Terms(10_000)
RESERVED = Terms(10_000, reserve=20_000)


class Turn(Struct, frozen=True):
    """One step: the request and its instant, the code of the refusal, and the public view before and after."""

    lot: Terms
    act: Act
    now: int
    refused: str | None
    before: dict[str, Any]
    after: dict[str, Any]
    stored: tuple[Records, Records]

    @property
    def accepted(self) -> Bid | None:
        """Return the bid, if the step is an accepted one."""
        return self.act if isinstance(self.act, Bid) and self.refused is None else None


def term(name: str, value: Any) -> Any:
    """Return a term of the `Terms` as its author writes it."""
    if value is None:
        return None
    if isinstance(value, SoftCloseRule):
        return {"window": value.window, "extension": value.extension, "cap": term("ends", value.cap)}
    return instant(at(value)) if name in ("starts", "ends") else str(money(value))


def terms(lot: Terms) -> dict[str, Any]:
    """Return the body that creates an auction with these terms."""
    tiers = [{"from": str(money(start)), "step": str(money(step))} for start, step in lot.tiers]
    return {wire: term(name, getattr(lot, name)) for name, wire in NAMES.items()} | {"increment": tiers}


def ask(people: list[User], gid: str, act: Act) -> httpx.Response | None:
    """Send the request of `act`; None if only the clock acts."""
    path = f"/auctions/{gid}"
    match act:
        case Bid(who, amount, maximum):
            return people[who].bid(gid, *(None if sent is None else str(money(sent)) for sent in (amount, maximum)))
        case Buy(who):
            return people[who].post(f"{path}/buy")
        case Amend(who, changes):
            return people[who].patch(path, json={NAMES[name]: term(name, value) for name, value in changes})
        case Cancel(who):
            return people[who].delete(path)
        case Announce(who, ends):
            return people[who].post(f"{path}/close", json={"endsAt": term("ends", ends)})
        case CloseNow(who):
            return people[who].post(f"{path}/close", json={})
        case Settle() | Outage():
            return None


def refusal_of(answer: httpx.Response | None) -> str | None:
    """Return the refusal as the oracle writes it."""
    if answer is None or answer.is_success:
        return None
    body = answer.json()
    if body["code"] != "validation":
        return str(body["code"])
    by_term = {re.sub("([A-Z])", r"_\1", name).lower(): faults for name, faults in body["message"].items()}
    return "validation " + " ".join(
        sorted(f"{name}/{fault['code']}" for name, faults in by_term.items() for fault in faults)
    )


def told(stored: Records) -> dict[str, Any]:
    """Return the records in the form of `Oracle.seen`."""
    leader = stored.auction.leader
    party = None if leader is None else Party(100 + PEOPLE.index(leader.name), leader.name)
    rows = [Row(PEOPLE.index(b.bidder), units(b.amount), units(b.maximum), b.automatic) for b in reversed(stored.bids)]
    return seen(structs.replace(stored.auction, leader=party), rows, stored.types)


def play(house: House, clock: FakeClock, history: History) -> list[Turn]:
    """Play a history over HTTP, compare everything with the oracle, and return the steps.

    The closer looks before each step, and what it leaves alone is as it was after the step before. Other tests have a late
    closer. The house is never down here.
    """
    clock.now = T0
    people = [house.user(name) for name in PEOPLE]
    oracle, gid = Oracle(history.lot), people[AUTHOR].auction(**terms(history.lot))
    after, shown = records(house, gid), house.anyone.json("GET", f"/auctions/{gid}")
    assert oracle.seen() == told(after)
    turns = []
    for now, act in history.acts(oracle):
        clock.now = at(now)
        house.write(settle_due, reopens=False)
        known = oracle.seen()
        oracle.settle(now)
        before, view, lot = after, shown, oracle.lot
        if oracle.seen() != known:
            before, view = records(house, gid), house.anyone.json("GET", f"/auctions/{gid}")
        refused = refusal_of(ask(people, gid, act))
        assert refused == (None if isinstance(act, Outage) else oracle.do(act, now))
        after = records(house, gid)
        assert oracle.seen() == told(after)
        shown = house.anyone.json("GET", f"/auctions/{gid}")
        turns.append(Turn(lot, act, now, refused, view, shown, (before, after)))
    return turns


def play_many(house: House, clock: FakeClock) -> list[list[Turn]]:
    """Play generated histories, a third as many as for a property of the rules alone."""
    found: list[list[Turn]] = []

    @settings(max_examples=settings().max_examples // 3)
    @example(History(LOT, REFUSED))
    @example(History(LOT, (Step(SOON, "amend", changes=(("starting", 5_000),)), CANCEL, CANCEL, BID)))
    @example(History(Terms(10_000, starts=MINUTE), (BID, CLOSE)))
    @example(History(LOT, (CLOSE,)))
    @example(History(Terms(10_000, buy_now=30_000), (Step(SOON, "buy"), Step(SOON, "buy", 2), BID)))
    @example(History(LOT, (BID, CANCEL, RAISE, RAISE, CLOSE, BID)))
    @example(History(RESERVED, (BID, ANNOUNCE, CLOSE, RIVAL, RAISE, END, BID)))
    @example(History(RESERVED, (BID, Step(SOON, "bid", 1, maximum=Relative("reserve", 1)), CLOSE)))
    @given(EVENTFUL)
    def one(history: History) -> None:
        found.append(play(house, clock, history))

    one()
    return found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[list[Turn]]]:
    """Every history, played over HTTP on each database."""
    clock = FakeClock()
    for url in fixtures_house._urls(str(request.param), request, tmp_path_factory.mktemp("histories")):
        house = House(settings_for(url, outage_reopens=False), clock)
        house.start()
        try:
            yield play_many(house, clock)
        finally:
            house.stop()


def turns(played: list[list[Turn]]) -> Iterator[Turn]:
    """Yield every step of every history."""
    for history in played:
        yield from history


def price(view: dict[str, Any]) -> Decimal:
    """Return the visible price, or -1 before the first bid."""
    return Decimal(view["currentBid"] or -1)


def limits(history: list[Turn]) -> Iterator[tuple[Turn, list[tuple[int, int, int]]]]:
    """Yield each step with each bidder's highest accepted maximum, the highest first and then the earliest."""
    highest: dict[int, tuple[int, int, int]] = {}
    for number, turn in enumerate(history):
        bid = turn.accepted
        if bid is not None:
            limit = bid.maximum if bid.maximum is not None else bid.amount
            assert limit is not None
            if bid.who not in highest or limit > -highest[bid.who][0]:
                highest[bid.who] = (-limit, number, bid.who)
        yield turn, sorted(highest.values())


def test_histories_have_every_act_and_refusal(played: list[list[Turn]]) -> None:
    """The histories contain every act, accepted and refused, and every refusal that bidders and authors can meet."""
    acts = {type(turn.act).__name__ for turn in turns(played) if turn.refused is None}
    assert {"Bid", "Buy", "Amend", "Cancel", "CloseNow", "Announce"} <= acts
    refused = {turn.refused.split()[0] for turn in turns(played) if turn.refused is not None}
    bidders = {"bid_too_low", "already_leading", "auction_closed", "auction_not_started", "own_auction"}
    assert bidders | {"buy_now_unavailable", "not_author", "has_bids", "validation"} <= refused


def test_p_never_falls(played: list[list[Turn]]) -> None:
    """'P never falls'."""
    for turn in turns(played):
        assert price(turn.before) <= price(turn.after)


def test_p_is_within_m_and_the_highest_maximum_leads(played: list[list[Turn]]) -> None:
    """'P <= M; the leader holds the highest maximum, the earliest at ties'."""
    for history in played:
        for turn, ranked in limits(history):
            if ranked and not any(isinstance(step.act, Buy) and step.refused is None for step in history):
                limit, _, leader = ranked[0]
                assert PEOPLE[leader] == turn.after["currentBidder"]
                assert price(turn.after) <= money(-limit)


def test_p_is_at_most_a_step_above_the_second(played: list[list[Turn]]) -> None:
    """'P <= second-highest maximum + one step, unless S, R or a literal amount lifted it'."""
    for history in played:
        lifted: set[Decimal] = set()
        for turn, ranked in limits(history):
            if turn.accepted is not None and turn.accepted.amount is not None:
                lifted.add(money(turn.accepted.amount))
            lifted |= {money(each) for each in (turn.lot.starting, turn.lot.reserve) if each is not None}
            if len(ranked) > 1 and price(turn.after) not in lifted:
                second = -ranked[1][0]
                step = [step for start, step in turn.lot.tiers if start <= second][-1]
                assert price(turn.after) <= money(second + step)


def test_sold_iff_there_is_a_bid_that_meets_the_reserve(played: list[list[Turn]]) -> None:
    """'`sold` iff there is a bid and R is none or final P >= R'."""
    closed = [turn for turn in turns(played) if turn.after["status"] == "closed"]
    assert {"sold", "no_bids", "reserve_not_met"} == {turn.after["outcome"] for turn in closed}
    for turn in closed:
        met = turn.lot.reserve is None or price(turn.after) >= money(turn.lot.reserve)
        assert (turn.after["bidCount"] > 0 and met) == (turn.after["outcome"] == "sold")


def test_a_leaders_own_raise_goes_up_to_the_reserve_only(played: list[list[Turn]]) -> None:
    """'The leader's own raise changes P at most up to R'."""
    raises = 0
    for turn in turns(played):
        if turn.accepted is not None and turn.before["currentBidder"] == PEOPLE[turn.accepted.who]:
            raises += 1
            reserve = None if turn.lot.reserve is None else money(turn.lot.reserve)
            assert price(turn.after) in (price(turn.before), reserve)
            assert turn.before["bidCount"] == turn.after["bidCount"]
    assert raises


def test_the_end_never_moves_back_nor_past_the_cap(played: list[list[Turn]]) -> None:
    """'`endsAt` never moves back nor past the cap'; before the first bid its author may amend it."""
    moved = 0
    for turn in turns(played):
        before, after = turn.before["endsAt"], turn.after["endsAt"]
        if before != after and not isinstance(turn.act, Amend | Announce):
            moved += 1
            assert before < after
            soft = turn.lot.soft_close
            assert soft is not None
            assert soft.cap is None or after <= instant(at(soft.cap))
    assert moved


def test_a_refusal_changes_nothing(played: list[list[Turn]]) -> None:
    """'A refused bid changes nothing': no record, no event and no public view; nor does any other refusal."""
    for turn in turns(played):
        if turn.refused is not None:
            before, after = turn.stored
            assert before == after
            assert turn.before == turn.after


def test_no_bid_is_accepted_at_or_after_the_end(played: list[list[Turn]]) -> None:
    """'No accepted bid is at or after the end'."""
    for turn in turns(played):
        if isinstance(turn.act, Bid | Buy) and turn.refused is None:
            assert turn.before["status"] == "open"
            assert turn.before["endsAt"] is None or instant(at(turn.now)) < turn.before["endsAt"]


def test_nobody_leads_their_own_auction(played: list[list[Turn]]) -> None:
    """'Nobody leads their own auction'."""
    for turn in turns(played):
        assert turn.after["currentBidder"] != PEOPLE[AUTHOR]


def test_versions_count_what_anybody_could_learn(played: list[list[Turn]]) -> None:
    """The version rises exactly when the public auction changes, so that a tag never hides a change."""
    for history in played:
        for earlier, later in pairwise(view for turn in history for view in (turn.before, turn.after)):
            assert (earlier["version"] == later["version"]) == (earlier == later)
