"""Retracing: the rules agree with every history that they made, and notice every change of one."""

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from msgspec import Struct, structs

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.bidding import BidRequest, buy_now, place_bid
from saleroom.bidding.domain.closing import reopen_after_outage, settle
from saleroom.bidding.domain.events import (
    AuctionClosed,
    AuctionCreated,
    AuctionExtended,
    AuctionOpened,
    BidPlaced,
    Event,
    MaximumRaised,
    Outcome,
    Reason,
    ReserveMet,
    SoftClose,
)
from saleroom.bidding.domain.increments import Tier
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.domain.reasons import conclusion
from saleroom.bidding.domain.retrace import RuleViolation, retrace
from saleroom.bidding.domain.selling import Draft, announce_end, create
from tests.bidding.domain.examples import ADA, BOB, BY_NAME, after, eur, said
from tests.bidding.domain.playing import T0, play
from tests.histories import History, histories

MICROSECOND = timedelta(microseconds=1)


class PlayedAuction:
    """An auction by ada that starts at 100, played step by step; `log` has all its events."""

    def __init__(self, **terms: Any) -> None:
        money = {name: eur(value) for name, value in terms.items() if name.endswith("_price")}
        draft = Draft(**{"name": "Longcase clock", "starting_price": eur("100"), **terms, **money})
        self.log: list[Event] = [create("gid", ADA, draft, T0)]

    @property
    def auction(self) -> Auction:
        """The auction as it stands."""
        return replay(7, self.log)

    def bids(self, *bids: str, seconds: float = 1) -> "PlayedAuction":
        """Place each of `bids` at the same instant, each received a microsecond before."""
        now = after(seconds)
        for bid in bids:
            bidder, request = said(bid)
            asked = BidRequest(request.amount, request.maximum, received_at=now - MICROSECOND)
            self.log += place_bid(self.auction, bidder, asked, now)
        return self

    def then(self, decide: Callable[..., list[Event]], *arguments: Any) -> "PlayedAuction":
        """Add the events of another decision."""
        self.log += decide(self.auction, *arguments)
        return self

    def whys(self) -> list[str]:
        """Each bid in words: its bidder, its amount, its reason."""
        return [f"{b.bidder} {b.amount or b.limit}: {b.why}".replace(".000:", ":") for b in retrace(self.log).bids]


def broken(log: list[Event]) -> tuple[int, str] | None:
    """The index of the event at which a log breaks, and the reason; or None."""
    try:
        retrace(log)
    except RuleViolation as error:
        return error.index, error.reason
    return None


@given(histories())
def test_every_history_retraces(history: History) -> None:
    """Every history made by the rules retraces, and gives the same auction."""
    game = play(history)
    trace = retrace(game.log)
    assert game.auction == structs.replace(trace.auction, id=game.auction.id, chain=game.auction.chain)
    shown = [e for e in game.log if isinstance(e, BidPlaced | MaximumRaised)]
    assert [e.at for e in shown] == [bid.at for bid in trace.bids]
    assert all(bid.why for bid in trace.bids)


@given(histories(), st.data())
def test_history_from_before_requests_were_written_down_retraces(history: History, data: st.DataObject) -> None:
    """In old logs without `asked`, `received_at` and `down_since`, a bid is judged by its outcome."""
    game = play(history)
    gone = {"asked": None, "received_at": None, "down_since": None}
    old = [structs.replace(e, **{name: gone[name] for name in gone if hasattr(e, name)}) for e in game.log]
    trace = retrace(old)
    assert game.auction == structs.replace(trace.auction, id=game.auction.id, chain=game.auction.chain)


def other(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """Another value of the same kind."""
    match value:
        case None | str():
            return None if value is None else f"{value}x"
        case bool():
            return not value
        case Decimal():
            return value + draw(st.sampled_from((Decimal("0.001"), Decimal("-0.001"), Decimal("1.000"))))
        case datetime():
            return value + draw(st.sampled_from((MICROSECOND, -MICROSECOND, timedelta(hours=2))))
        case Outcome():
            return Outcome.NO_BIDS if value is not Outcome.NO_BIDS else Outcome.SOLD
        case Reason():
            return Reason.OUTAGE if value is Reason.SOFT_CLOSE else Reason.SOFT_CLOSE
        case int():
            return value + 1
        case Struct():
            name = draw(st.sampled_from(value.__struct_fields__))
            return structs.replace(value, **{name: other(getattr(value, name), draw)})
        case tuple():
            return (*value[:-1], other(value[-1], draw))
    raise AssertionError(value)


FREE = {
    "auction.created": {
        "name",
        "description",
        "author",
        "author_id",
        "gid",
        "seed",
        "buy_now_price",
        "soft_close",
        "at",
    },
    "auction.amended": {"name", "description", "buy_now_price", "soft_close", "at"},
    "bid.placed": {"asked", "received_at", "bidder", "bidder_id"},
    "maximum.raised": {"maximum", "received_at", "at"},
    "auction.extended": {"down_since", "at"},
}
"""What a user asked for, and could have asked for differently: the rules cannot notice a change, but the chain can."""


@given(histories(), st.data())
def test_a_changed_decision_is_noticed(history: History, data: st.DataObject) -> None:
    """If a member of an event that the rules decide is changed, the rules notice."""
    log = list(play(history).log)
    index = data.draw(st.integers(0, len(log) - 1))
    changed = log[index]
    decided = sorted(set(changed.__struct_fields__) - FREE.get(changed.TYPE, set()))
    decided = [name for name in decided if name != "at" or not isinstance(changed, AuctionClosed | AuctionOpened)]
    if isinstance(changed, AuctionCreated):
        decided = ["minimum_bid", "reserve_met", "status"]
    if changed.TYPE == "auction.amended":
        decided = ["minimum_bid", "reserve_met"]
    if isinstance(changed, BidPlaced) and changed.asked is None:
        decided = [
            "minimum_bid",
            "reserve_met",
            "ends_at",
        ]  # a purchase, or an early bid and its author's close
    assume(decided)
    name = data.draw(st.sampled_from(decided))
    value = other(getattr(changed, name), data.draw)
    assume(value != getattr(changed, name))
    if name == "at" and changed.TYPE in {"bid.placed", "auction.cancelled"}:
        return
    event(f"{changed.TYPE} {name}")
    log[index] = structs.replace(changed, **{name: value})
    assert broken(log) is not None


@given(histories(), st.data())
def test_a_dropped_doubled_or_swapped_event_is_noticed(history: History, data: st.DataObject) -> None:
    """The rules notice a doubled event, two neighbours swapped at different times, and a dropped automatic bid."""
    log = list(play(history).log)
    assume(len(log) > 1)
    index = data.draw(st.integers(0, len(log) - 2))
    doubled = [*log[: index + 1], *log[index:]]
    assert broken(doubled) is not None
    swapped = [*log[:index], log[index + 1], log[index], *log[index + 2 :]]
    if log[index].at != log[index + 1].at:
        assert broken(swapped) is not None
    bid = log[index]
    if isinstance(bid, BidPlaced) and bid.automatic:
        assert broken([*log[:index], *log[index + 1 :]]) is not None


def test_each_bid_has_its_reason() -> None:
    """The reasons are those of the rules, in words."""
    story = PlayedAuction(reserve_price="300", soft_close=SoftClose(120, 120), ends_at=after(1000))
    story.bids("bob up to 150").bids("cyd 120", seconds=2).bids("dee up to 150", seconds=3)
    story.bids("cyd up to 200", seconds=4).bids("cyd up to 250", seconds=5).bids("cyd up to 400", seconds=6)
    story.bids("dee up to 500", seconds=990)
    assert [
        "bob 100: leads as the first bid",
        "cyd 120: held off by bob's automatic bid at 130.000",
        "bob 130: holds off cyd's 120.000",
        "bob 150: dee asks for as much: at a tie the earlier keeps the lead",
        "dee 150: ties with the maximum of bob: the earlier keeps the lead",
        "cyd 160: outbids the maximum of bob, 150.000",
        "cyd 250: raises the own maximum from 200.000",
        "cyd 400: raises the own maximum from 250.000; the price is lifted to the reserve of 300.000",
        "cyd 400: goes up to the whole maximum, which dee outbids",
        "dee 410: outbids the maximum of cyd, 400.000; soft close extended to 2026-11-21T12:18:30.000000Z",
    ] == story.whys()


def test_a_bid_is_lifted_to_the_reserve() -> None:
    """A bid that reaches the reserve says so."""
    assert [
        "bob 300: leads as the first bid; lifted to the reserve of 300.000",
    ] == PlayedAuction(reserve_price="300").bids("bob up to 350").whys()
    assert [
        "bob 100: leads as the first bid",
        "cyd 330: outbids the maximum of bob, 100.000; the reserve of 300.000 is met",
    ] == PlayedAuction(reserve_price="300").bids("bob up to 100").bids("cyd 330").whys()


@pytest.mark.parametrize(
    ("bids", "ending"),
    [
        ((), "not sold: nobody bid"),
        (("bob 150",), "not sold: the reserve of 300.000 was not met, the highest bid was 150.000"),
        (("bob 310",), "sold to bob at 310.000"),
    ],
)
def test_the_end_in_words(bids: tuple[str, ...], ending: str) -> None:
    """An auction that is over says how it ended; an auction that is not says that."""
    story = PlayedAuction(reserve_price="300", ends_at=after(60), soft_close=None).bids(*bids)
    assert "not over: it is open" == conclusion(retrace(story.log).auction)
    story.then(settle, after(61))
    assert ending == conclusion(retrace(story.log).auction)


def test_a_purchase_retraces() -> None:
    """A purchase retraces as a purchase, not as a bid of the buy-now price."""
    story = PlayedAuction(buy_now_price="200").then(
        buy_now, BOB, after(1), BidRequest(None, None, received_at=after(0))
    )
    assert ["bob 200: bought at the buy-now price"] == story.whys()
    assert "sold to bob at 200.000" == conclusion(retrace(story.log).auction)
    assert "sold to bob at EUR 200.000" == conclusion(retrace(story.log).auction, "EUR {}".format)
    bid, closed = story.log[1:]
    assert (1, "its maximum is 201.000, but by the rules 200.000") == broken(
        [story.log[0], structs.replace(bid, maximum=eur("201")), closed]
    )
    assert (1, "by the rules nothing has brought bid.placed about") == broken([*story.log[:2]])
    assert (1, "its amount is 199.000, but by the rules 200.000") == broken(
        [story.log[0], structs.replace(bid, amount=eur("199"), maximum=eur("199")), closed]
    )


def test_an_end_announced_among_bids_retraces() -> None:
    """A log in which the author announces the end after bids retraces."""
    story = PlayedAuction().bids("bob 100").then(announce_end, ADA, after(60), after(2)).then(settle, after(60))
    assert "sold to bob at 100.000" == conclusion(retrace(story.log).auction)


def test_an_outage_retraces() -> None:
    """An outage moves the end only if it reached the last window; if its beginning is unknown, it may have."""
    story = PlayedAuction(ends_at=after(1000)).then(reopen_after_outage, after(900), after(1100))
    assert after(1220) == retrace(story.log).auction.ends_at
    created, extended = story.log
    assert (1, "by the rules nothing has brought auction.extended about") == broken(
        [created, structs.replace(extended, down_since=after(1000))]
    )
    assert (1, "an outage does not begin after its end") == broken(
        [created, structs.replace(extended, down_since=after(1101))]
    )
    assert None is broken([created, structs.replace(extended, down_since=None)])


def test_a_forged_winner_is_noticed() -> None:
    """Another winner, price or order of bids in a log contradicts the rules, and the break tells what the rules say."""
    story = (
        PlayedAuction(ends_at=after(60), soft_close=None)
        .bids("bob up to 150")
        .bids("cyd 120", seconds=2)
        .then(settle, after(60))
    )
    *before, closed = story.log
    assert (4, "its winner is 'cyd', but by the rules 'bob'") == broken(
        [*before, structs.replace(closed, winner="cyd")]
    )
    assert (4, "its price is 120.000, but by the rules 130.000") == broken(
        [*before, structs.replace(closed, price=eur("120"))]
    )
    early = AuctionClosed(at=after(59), outcome=Outcome.SOLD, winner="bob", price=eur("130"))
    assert (4, "by the rules nothing has brought auction.closed about") == broken([*before, early])
    created, bid, *_ = story.log
    assert (2, "the rules refuse it: Nobody may bid in their own auction.") == broken(
        [created, bid, structs.replace(before[2], bidder="ada", bidder_id=ADA.id)]
    )


def test_a_log_that_ends_within_a_decision_is_noticed() -> None:
    """If a log was cut within a decision, the events that the rules add to the bid are missing."""
    story = PlayedAuction(ends_at=after(60), soft_close=SoftClose(120, 120)).bids("bob 100")
    assert (2, "by the rules auction.extended comes next, but nothing does") == broken(story.log[:-1])


def test_nobody_bids_under_two_names() -> None:
    """One number has one name: the rules tell people apart by number, and readers by name."""
    story = PlayedAuction().bids("bob 100").bids("cyd 200", seconds=2).bids("bob 300", seconds=3)
    renamed = structs.replace(story.log[-1], bidder="dee")
    assert (3, "its bidder is 'dee', who was 'bob' before") == broken([*story.log[:-1], renamed])
    twins = structs.replace(story.log[2], bidder="bob")
    where = broken([story.log[0], story.log[1], twins])
    assert (2, "its bidder is 'bob', a name that another has") == where


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (lambda e: structs.replace(e, starting_price=Decimal("NaN")), "NaN is no amount with three decimals"),
        (lambda e: structs.replace(e, starting_price=Decimal("1E+5")), "1E+5 is no amount with three decimals"),
        (lambda e: structs.replace(e, starting_price=Decimal("-1.000")), "-1.000 is no amount with three decimals"),
        (lambda e: structs.replace(e, increment=()), "its increment must have at least one tier"),
        (
            lambda e: structs.replace(e, increment=(Tier(eur("0"), eur("0")),)),
            "its increment every step must be above 0",
        ),
        (
            lambda e: structs.replace(e, soft_close=SoftClose(10**30, 1)),
            "a soft close has 1 to 86400 seconds",
        ),
        (
            lambda e: structs.replace(e, reserve_price=eur("1")),
            "the rules refuse it: reserve_price: must be at least the starting price",
        ),
        (lambda e: structs.replace(e, status="scheduled"), "its status is 'scheduled', but by the rules 'open'"),
    ],
)
def test_impossible_terms_break_the_log(forge: Callable[[Event], Event], why: str) -> None:
    """Terms that no request could have are told as a break, and not raised as another error."""
    assert (0, why) == broken([forge(PlayedAuction().log[0])])


def test_time_does_not_go_back() -> None:
    """An event is never earlier than the one before it, nor decided before it was received."""
    story = PlayedAuction().bids("bob 100", seconds=5).bids("cyd 200", seconds=6)
    early = structs.replace(story.log[2], at=after(4), received_at=after(3))
    assert (2, "it is earlier than the event before it") == broken([*story.log[:2], early])
    late = structs.replace(story.log[2], received_at=after(7))
    assert (2, "it was received after it was decided") == broken([*story.log[:2], late])


@pytest.mark.parametrize(
    "log", [[], PlayedAuction().bids("bob 100").log[1:], [*PlayedAuction().log, *PlayedAuction().log]]
)
def test_a_log_begins_with_one_creation(log: list[Event]) -> None:
    """A log without a creation, or with two, is broken."""
    assert broken(log) is not None


def test_events_that_no_rule_begins_with_are_noticed() -> None:
    """An event that only follows from another is a break if it stands alone."""
    created = PlayedAuction(ends_at=after(60)).log[0]
    alone = [
        ReserveMet(at=after(1), amount=eur("100"), bidder="bob", minimum_bid=None),
        MaximumRaised(at=after(1), maximum=eur("100")),
        AuctionExtended(at=after(1), ends_at=after(90), reason=Reason.SOFT_CLOSE),
        AuctionOpened(at=after(1)),
    ]
    for each in alone:
        assert (1, f"by the rules nothing has brought {each.TYPE} about") == broken([created, each])
    bid = PlayedAuction().bids("bob 100").log[1]
    assert (1, "an automatic bid answers somebody's, and here is none") == broken(
        [created, structs.replace(bid, automatic=True)]
    )


def test_retraced_requests_are_well_formed() -> None:
    """A request asks for something, and for no more than its own limit."""
    created, bid = PlayedAuction().bids("bob 100 up to 150").log
    assert isinstance(bid, BidPlaced)
    assert bid.asked is not None
    nothing = structs.replace(bid, asked=structs.replace(bid.asked, amount=None, maximum=None))
    assert (1, "a bidder asks for an amount, a maximum or both") == broken([created, nothing])
    more = structs.replace(bid, asked=structs.replace(bid.asked, amount=eur("200")))
    assert (1, "a bidder's amount is at most their maximum") == broken([created, more])


def test_beyond_the_calendar() -> None:
    """An end at the last instant of the calendar is told as a break, and not raised as another error."""
    last = datetime.max.replace(tzinfo=T0.tzinfo)
    story = PlayedAuction(ends_at=last)
    bid = BidPlaced(
        at=last - timedelta(seconds=1), amount=eur("100"), bidder="bob", bidder_id=BY_NAME["bob"].id, automatic=False,
        leading=True, minimum_bid=None, reserve_met=None, ends_at=last, maximum=eur("100"),
    )  # fmt: skip
    where = broken([*story.log, bid])
    assert (1, "its amounts or instants are beyond what the rules can reckon with") == where
