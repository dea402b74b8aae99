"""Placing a bid: examples by hand for every number of docs/rules.md, "Placing a bid"."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import pytest

from saleroom.bidding.domain.bidding import BidRequest, buy_now, place_bid
from saleroom.bidding.domain.closing import close
from saleroom.bidding.domain.events import (
    AuctionClosed,
    AuctionOpened,
    BidPlaced,
    MaximumRaised,
    Outcome,
    ReserveMet,
)
from saleroom.bidding.domain.increments import fixed
from saleroom.bidding.domain.selling import cancel
from saleroom.kernel.errors import Refusal
from saleroom.kernel.money import LIMIT
from tests.bidding.domain.examples import ADA, BOB, CY, after, an_auction, eur, place, refusal, said, shown
from tests.bidding.domain.playing import T0
from tests.rows import each_of

STEP_5 = {"increment": fixed(eur("5"))}
FROM_90, RESERVE_200 = {"starting_price": "90"}, {"reserve_price": "200"}


@dataclass(frozen=True, kw_only=True)
class PlacedBids:
    """Accepted bids on an auction, the leader with price and limit after them, and the bids as recorded."""

    terms: dict[str, Any] = field(default_factory=dict)
    bids: str
    leads: str
    rows: str


PLACED = {
    "4a an amount is shown": PlacedBids(bids="bob 130", leads="bob at 130 up to 130", rows="bob 130"),
    "4a the least amount is S": PlacedBids(bids="bob 100", leads="bob at 100 up to 100", rows="bob 100"),
    "4a a maximum opens at S": PlacedBids(bids="bob up to 150", leads="bob at 100 up to 150", rows="bob 100"),
    "4a both": PlacedBids(bids="bob 120 up to 150", leads="bob at 120 up to 150", rows="bob 120"),
    "4a a lot that starts at nothing": PlacedBids(
        terms={"starting_price": "0"}, bids="bob up to 9", leads="bob at 0 up to 9", rows="bob 0"
    ),
    "4b outbids a literal amount": PlacedBids(
        bids="bob 100, cyd up to 150", leads="cyd at 110 up to 150", rows="bob 100, cyd 110"
    ),
    "4b by the tier of M, not of P": PlacedBids(
        terms=FROM_90,
        bids="bob up to 99.5, cyd up to 150",
        leads="cyd at 100.500 up to 150",
        rows="bob 90, bob 99.500 automatic, cyd 100.500",
    ),
    "4b the tier that holds M itself": PlacedBids(
        terms=FROM_90,
        bids="bob up to 100, cyd up to 150",
        leads="cyd at 110 up to 150",
        rows="bob 90, bob 100 automatic, cyd 110",
    ),
    "4b by less than a step": PlacedBids(
        bids="bob up to 150, cyd up to 155", leads="cyd at 155 up to 155", rows="bob 100, bob 150 automatic, cyd 155"
    ),
    "4b by a hair": PlacedBids(
        bids="bob up to 150, cyd 150.001",
        leads="cyd at 150.001 up to 150.001",
        rows="bob 100, bob 150 automatic, cyd 150.001",
    ),
    "4b a literal amount stands": PlacedBids(
        bids="bob up to 150, cyd 180", leads="cyd at 180 up to 180", rows="bob 100, bob 150 automatic, cyd 180"
    ),
    "4b both: the amount is the least shown": PlacedBids(
        bids="bob up to 150, cyd 170 up to 200",
        leads="cyd at 170 up to 200",
        rows="bob 100, bob 150 automatic, cyd 170",
    ),
    "4b both: an amount below M gives way": PlacedBids(
        bids="bob up to 150, cyd 120 up to 200",
        leads="cyd at 160 up to 200",
        rows="bob 100, bob 150 automatic, cyd 160",
    ),
    "4b a fixed step": PlacedBids(
        terms=STEP_5,
        bids="bob up to 150, cyd up to 200",
        leads="cyd at 155 up to 200",
        rows="bob 100, bob 150 automatic, cyd 155",
    ),
    "4c the leader stays": PlacedBids(
        bids="bob up to 150, cyd 120", leads="bob at 130 up to 150", rows="bob 100, cyd 120, bob 130 automatic"
    ),
    "4c against a maximum": PlacedBids(
        bids="bob up to 150, cyd up to 120", leads="bob at 130 up to 150", rows="bob 100, cyd 120, bob 130 automatic"
    ),
    "4c both: recorded at the maximum": PlacedBids(
        bids="bob up to 150, cyd 110 up to 120",
        leads="bob at 130 up to 150",
        rows="bob 100, cyd 120, bob 130 automatic",
    ),
    "4c never above M": PlacedBids(
        bids="bob up to 150, cyd up to 145", leads="bob at 150 up to 150", rows="bob 100, cyd 145, bob 150 automatic"
    ),
    "4c the earlier one at a tie, recorded first": PlacedBids(
        bids="bob up to 150, cyd up to 150", leads="bob at 150 up to 150", rows="bob 100, bob 150 automatic, cyd 150"
    ),
    "4c a tie by a literal amount": PlacedBids(
        bids="bob up to 150, cyd 150", leads="bob at 150 up to 150", rows="bob 100, bob 150 automatic, cyd 150"
    ),
    "4c by the tier of m": PlacedBids(
        terms=FROM_90,
        bids="bob up to 150, cyd 100",
        leads="bob at 110 up to 150",
        rows="bob 90, cyd 100, bob 110 automatic",
    ),
    "2 only M rises": PlacedBids(bids="bob up to 150, bob up to 180", leads="bob at 100 up to 180", rows="bob 100"),
    "2 an amount beside a higher maximum is not shown": PlacedBids(
        bids="bob up to 150, bob 170 up to 180", leads="bob at 100 up to 180", rows="bob 100"
    ),
    "2 a raise defends": PlacedBids(
        bids="bob up to 150, bob up to 180, cyd 160",
        leads="bob at 170 up to 180",
        rows="bob 100, cyd 160, bob 170 automatic",
    ),
    "5 R lifts a first bid": PlacedBids(
        terms=RESERVE_200, bids="bob up to 250", leads="bob at 200 up to 250", rows="bob 200"
    ),
    "5 R at M": PlacedBids(terms=RESERVE_200, bids="bob up to 200", leads="bob at 200 up to 200", rows="bob 200"),
    "5 R above M": PlacedBids(
        terms=RESERVE_200, bids="bob up to 199.999", leads="bob at 100 up to 199.999", rows="bob 100"
    ),
    "5 R lifts an outbidding": PlacedBids(
        terms=RESERVE_200,
        bids="bob up to 150, cyd up to 250",
        leads="cyd at 200 up to 250",
        rows="bob 100, bob 150 automatic, cyd 200",
    ),
    "5 R below P": PlacedBids(
        terms={"reserve_price": "110"}, bids="bob 130 up to 150", leads="bob at 130 up to 150", rows="bob 130"
    ),
    "5 R lifts a raise, without a row": PlacedBids(
        terms=RESERVE_200, bids="bob up to 150, bob up to 250", leads="bob at 200 up to 250", rows="bob 100"
    ),
    "20 digits: the last bid": PlacedBids(
        terms={"starting_price": str(LIMIT), "increment": fixed(eur("0.001"))},
        bids=f"bob up to {LIMIT}",
        leads=f"bob at {LIMIT} up to {LIMIT}",
        rows=f"bob {LIMIT}",
    ),
    "20 digits: 4b takes what can be written": PlacedBids(
        terms={"starting_price": "99999999999999990", "increment": fixed(eur("5"))},
        bids=f"bob up to 99999999999999998, cyd up to {LIMIT}",
        leads=f"cyd at {LIMIT} up to {LIMIT}",
        rows=f"bob 99999999999999990, bob 99999999999999998 automatic, cyd {LIMIT}",
    ),
    "20 digits: 4c takes what can be written": PlacedBids(
        terms={"starting_price": "99999999999999990", "increment": fixed(eur("5"))},
        bids=f"bob up to {LIMIT}, cyd 99999999999999998",
        leads=f"bob at {LIMIT} up to {LIMIT}",
        rows=f"bob 99999999999999990, cyd 99999999999999998, bob {LIMIT} automatic",
    ),
}


@pytest.mark.parametrize("example", PLACED)
def test_placed(example: str) -> None:
    """After an accepted bid, price, leader, limit and recorded bids are as the rules say."""
    case = PLACED[example]
    auction, log = place(an_auction(**case.terms), *case.bids.split(", "))
    assert auction.leader is not None
    leads = f"{auction.leader.name} at {auction.current_bid:f} up to {auction.maximum:f}"
    assert case.leads == leads.replace(".000", "")
    rows = [shown(event) for event in log if isinstance(event, BidPlaced)]
    assert case.rows == ", ".join(rows)
    assert len(rows) == auction.bid_count


@dataclass(frozen=True, kw_only=True)
class BidRefusal:
    """A bid that is refused after other bids, and the minimum bid if the refusal tells it."""

    terms: dict[str, Any] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)
    bid: str
    code: str
    minimum: str | None = None


REFUSED = {
    "2 a literal amount": BidRefusal(before=["bob up to 150"], bid="bob 200", code="already_leading", minimum="110"),
    "2 the same maximum": BidRefusal(
        before=["bob up to 150"], bid="bob up to 150", code="already_leading", minimum="110"
    ),
    "2 a lower maximum": BidRefusal(
        before=["bob up to 150"], bid="bob up to 149.999", code="already_leading", minimum="110"
    ),
    "2 both, no higher": BidRefusal(
        before=["bob up to 150"], bid="bob 120 up to 150", code="already_leading", minimum="110"
    ),
    "3 below S": BidRefusal(bid="bob 99.999", code="bid_too_low", minimum="100"),
    "3 a maximum below S": BidRefusal(bid="bob up to 99.999", code="bid_too_low", minimum="100"),
    "3 an amount below S beside a maximum": BidRefusal(bid="bob 99.999 up to 200", code="bid_too_low", minimum="100"),
    "3 at P": BidRefusal(before=["bob 100"], bid="cyd 100", code="bid_too_low", minimum="110"),
    "3 below P + inc(P)": BidRefusal(before=["bob 100"], bid="cyd 109.999", code="bid_too_low", minimum="110"),
    "3 a maximum below it": BidRefusal(before=["bob 100"], bid="cyd up to 109.999", code="bid_too_low", minimum="110"),
    "3 an amount below it": BidRefusal(
        before=["bob 100"], bid="cyd 109.999 up to 500", code="bid_too_low", minimum="110"
    ),
    "3 by the tier that holds P": BidRefusal(
        terms={"starting_price": "10"}, before=["bob 10"], bid="cyd 10.999", code="bid_too_low", minimum="11"
    ),
    "3 a fixed step": BidRefusal(
        terms=STEP_5, before=["bob 100"], bid="cyd 104.999", code="bid_too_low", minimum="105"
    ),
    "3 a tie that cannot be": BidRefusal(before=["bob 150"], bid="cyd 150", code="bid_too_low", minimum="160"),
    "3 nothing higher can be written": BidRefusal(
        terms={"starting_price": str(LIMIT)}, before=[f"bob {LIMIT}"], bid=f"cyd {LIMIT}", code="bid_too_low"
    ),
    "1 the author": BidRefusal(bid="ada 100", code="own_auction"),
    "1 the author, before the amount is looked at": BidRefusal(bid="ada 1", code="own_auction"),
}


@pytest.mark.parametrize("example", REFUSED)
def test_refused(example: str) -> None:
    """A bid against the rules is refused with a code, and the refusal tells the minimum bid if that helps."""
    case = REFUSED[example]
    auction, _ = place(an_auction(**case.terms), *case.before)
    refused = refusal(place, auction, case.bid)
    assert isinstance(refused, Refusal)
    minimum = None if case.minimum is None else eur(case.minimum)
    expected = {} if case.code == "own_auction" else {"minimum_bid": minimum}
    assert (case.code, expected) == (refused.code, refused.facts)


HOUR = after(3600)


class Admission(NamedTuple):
    """A bidder in an auction from one hour to two hours after its creation, and the code of the refusal if there is one."""

    who: str
    now: datetime
    refusal: str | None


ADMITTED = [
    Admission("bob", now=after(0), refusal="auction_not_started"),
    Admission("bob", now=after(3600, microseconds=-1), refusal="auction_not_started"),
    Admission("ada", now=after(0), refusal="auction_not_started"),
    Admission("bob", now=after(3600), refusal=None),
    Admission("ada", now=after(3600), refusal="own_auction"),
    Admission("bob", now=after(7200, microseconds=-1), refusal=None),
    Admission("ada", now=after(7200, microseconds=-1), refusal="own_auction"),
    Admission("bob", now=after(7200), refusal="auction_closed"),
    Admission("ada", now=after(7200), refusal="auction_closed"),
    Admission("bob", now=after(7200, microseconds=1), refusal="auction_closed"),
]


@pytest.mark.parametrize("case", ADMITTED)
@pytest.mark.parametrize("buying", [False, True])
def test_admission_in_its_order(case: Admission, buying: bool) -> None:
    """Rule 1: closed (from endsAt on), then not started (before startsAt), then own auction; the same for buying."""
    auction = an_auction(starts_at=HOUR, ends_at=after(7200), buy_now_price="500", soft_close=None)
    party, bid = said(f"{case.who} 100")
    refused = (
        refusal(buy_now, auction, party, case.now) if buying else refusal(place_bid, auction, party, bid, case.now)
    )
    assert case.refusal == (None if refused is None else refused.code)


def test_a_closed_or_cancelled_auction_takes_no_bid() -> None:
    """Once the auction is over, every bid is `auction_closed`, even the author's, and even before the start."""
    open_one = an_auction()
    sold, _ = place(open_one, "bob 100")
    closed = sold.after(close(sold, after(1)))
    waiting = an_auction(starts_at=HOUR)
    cancelled = waiting.after_all(cancel(waiting, ADA, after(1)))
    for auction in (closed, cancelled):
        for bid in ("bob 500", "cyd 500", "ada 500"):
            refused = refusal(place, auction, bid)
            assert "auction_closed" == (refused and refused.code)


def test_the_first_bid_opens_an_auction_that_nobody_has_opened() -> None:
    """A bid at the start is accepted even before the closer has looked; the opening is dated by the start."""
    auction = an_auction(starts_at=HOUR)
    events = place_bid(auction, *said("bob 100"), after(3601))
    assert [AuctionOpened(at=HOUR)] == events[:1]
    assert [after(3601)] == [event.at for event in events[1:]]
    assert "open" == auction.after_all(events).status


def test_a_raise_tells_nobody() -> None:
    """Rule 2: a raise is one private event, without bid row, extension or public number."""
    auction, _ = place(an_auction(ends_at=after(60)), "bob up to 150", now=after(1))
    events = place_bid(auction, BOB, BidRequest(None, eur("180")), after(59))
    assert [MaximumRaised(at=after(59), maximum=eur("180"))] == events
    raised = auction.after_all(events)
    assert (auction.version, auction.ends_at, auction.bid_count) == (raised.version, raised.ends_at, raised.bid_count)
    assert (auction.position + 1, auction.current_bid_at) == (raised.position, raised.current_bid_at)


def test_a_raise_to_the_reserve_is_told_without_its_limit() -> None:
    """Rule 5 after a raise: the price rises to R in a separate public event."""
    auction, _ = place(an_auction(reserve_price="200"), "bob up to 150")
    events = place_bid(auction, BOB, BidRequest(None, eur("250")), T0)
    met = ReserveMet(at=T0, amount=eur("200"), bidder="bob", minimum_bid=eur("210"))
    assert [MaximumRaised(at=T0, maximum=eur("250")), met] == events
    assert True is auction.after_all(events).reserve_met


def test_a_bid_records_the_state_after_it() -> None:
    """Each recorded bid tells the minimum bid, whether the reserve is met, the leader, and the end before the bid."""
    auction = an_auction(reserve_price="140", ends_at=after(7200))
    auction, first = place(auction, "bob up to 130")
    _, then = place(auction, "cyd up to 150", now=after(1))
    recorded = [e for e in first + then if isinstance(e, BidPlaced)]
    assert ["bob 100", "bob 130 automatic", "cyd 140"] == [shown(e) for e in recorded]
    assert ["110.000", "140.000", "150.000"] == [str(e.minimum_bid) for e in recorded]
    assert [False, False, True] == [e.reserve_met for e in recorded]
    assert {(True, after(7200))} == {(e.leading, e.ends_at) for e in recorded}


def test_a_losing_bid_records_the_state_after_its_answer() -> None:
    """A bid that does not take the lead tells the state after the automatic bid that answers it."""
    auction, _ = place(an_auction(reserve_price="125"), "bob up to 150")
    _, then = place(auction, "cyd 135")
    recorded = [(e.bidder, e.leading, str(e.minimum_bid), e.reserve_met) for e in then if isinstance(e, BidPlaced)]
    assert [("cyd", False, "155.000", True), ("bob", True, "155.000", True)] == recorded


def test_buy_now_sells_at_once() -> None:
    """Buy now: a bid at B and the close at once, whatever the soft close says."""
    auction = an_auction(buy_now_price="500", reserve_price="300", ends_at=after(60))
    events = buy_now(auction, CY, after(59))
    bid, closed = events
    assert isinstance(bid, BidPlaced)
    assert ("cyd", eur("500"), eur("500"), True) == (bid.bidder, bid.amount, bid.maximum, bid.leading)
    assert AuctionClosed(at=after(59), outcome=Outcome.SOLD, winner="cyd", price=eur("500")) == closed


@each_of(
    {"terms": {}, "bids": [], "minimum": "100"},
    {"terms": {"buy_now_price": "500"}, "bids": ["bob 100"], "minimum": "110"},
    {"terms": {"buy_now_price": "500"}, "bids": ["cyd 100"], "minimum": "110"},
)
def test_buy_now_is_gone(terms: dict[str, Any], bids: list[str], minimum: str) -> None:
    """Without B, or after the first bid, nobody can buy; the refusal tells the minimum bid instead."""
    auction, _ = place(an_auction(**terms), *bids)
    refused = refusal(buy_now, auction, CY, T0)
    assert refused is not None
    assert ("buy_now_unavailable", {"minimum_bid": eur(minimum)}) == (refused.code, refused.facts)


def test_a_late_bid_is_refused_with_its_lateness() -> None:
    """A late bid or purchase is refused with the end, its arrival, its decision and how long that was after the end."""
    auction = an_auction(ends_at=after(60), buy_now_price="500")
    came, decided = after(59), after(60, microseconds=7)
    bid = BidRequest(eur("100"), None, received_at=came)
    facts = {
        "ends_at": after(60),
        "closed_at": after(60),
        "received_at": came,
        "decided_at": decided,
        "late_microseconds": 7,
    }
    bought = BidRequest(None, None, received_at=came)
    for refused in (refusal(place_bid, auction, BOB, bid, decided), refusal(buy_now, auction, BOB, decided, bought)):
        assert facts == (refused and refused.facts)


def test_a_bid_after_a_purchase_is_refused_with_its_instant() -> None:
    """If the auction was bought before its announced end, the refusal says when that was, and not that the bid was late."""
    auction = an_auction(ends_at=after(60), buy_now_price="500")
    bought = auction.after_all(buy_now(auction, CY, after(10)))
    refused = refusal(place_bid, bought, BOB, BidRequest(eur("600"), None), after(20))
    facts = {
        name: refused and refused.facts[name] for name in ("ends_at", "closed_at", "decided_at", "late_microseconds")
    }
    assert {"ends_at": after(60), "closed_at": after(10), "decided_at": after(20), "late_microseconds": None} == facts


def test_an_early_bid_is_refused_with_the_start() -> None:
    """The refusal of a bid before the start tells the start."""
    refused = refusal(place_bid, an_auction(starts_at=after(60)), BOB, BidRequest(eur("100"), None), after(59))
    assert {"starts_at": after(60)} == (refused and refused.facts)
