"""Placing a bid: examples by hand for every number of docs/rules.md, "Placing a bid"."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from saleroom.bidding.domain.bidding import BidRequest, buy_now, place_bid
from saleroom.bidding.domain.closing import close
from saleroom.bidding.domain.events import (
    AuctionClosed,
    AuctionExtended,
    AuctionOpened,
    BidPlaced,
    MaximumRaised,
    Outcome,
    Reason,
    ReserveMet,
    SoftClose,
)
from saleroom.bidding.domain.increments import fixed
from saleroom.bidding.domain.selling import cancel
from saleroom.kernel.errors import Refusal
from saleroom.kernel.money import LIMIT
from tests.bidding.domain.examples import ADA, BOB, CY, after, an_auction, eur, place, refusal, said, shown
from tests.bidding.domain.playing import T0

STEP_5 = {"increment": fixed(eur("5"))}

# rule and example: terms, bids; price, leader, leader's maximum; recorded bids
PLACED: dict[str, tuple[dict[str, Any], list[str], str, str, str, list[str]]] = {
    "4a an amount is shown": ({}, ["bob 130"], "130", "bob", "130", ["bob 130"]),
    "4a the least amount is S": ({}, ["bob 100"], "100", "bob", "100", ["bob 100"]),
    "4a a maximum opens at S": ({}, ["bob up to 150"], "100", "bob", "150", ["bob 100"]),
    "4a both": ({}, ["bob 120 up to 150"], "120", "bob", "150", ["bob 120"]),
    "4a a lot that starts at nothing": ({"starting_price": "0"}, ["bob up to 9"], "0", "bob", "9", ["bob 0"]),
    "4b outbids a literal amount": ({}, ["bob 100", "cyd up to 150"], "110", "cyd", "150", ["bob 100", "cyd 110"]),
    "4b by the tier of M, not of P": (
        {"starting_price": "90"},
        ["bob up to 99.5", "cyd up to 150"],
        *("100.500", "cyd", "150", ["bob 90", "bob 99.500 automatic", "cyd 100.500"]),
    ),
    "4b the tier that holds M itself": (
        {"starting_price": "90"},
        ["bob up to 100", "cyd up to 150"],
        *("110", "cyd", "150", ["bob 90", "bob 100 automatic", "cyd 110"]),
    ),
    "4b by less than a step": (
        *({}, ["bob up to 150", "cyd up to 155"], "155", "cyd", "155"),
        ["bob 100", "bob 150 automatic", "cyd 155"],
    ),
    "4b by a hair": (
        *({}, ["bob up to 150", "cyd 150.001"], "150.001", "cyd", "150.001"),
        ["bob 100", "bob 150 automatic", "cyd 150.001"],
    ),
    "4b a literal amount stands": (
        *({}, ["bob up to 150", "cyd 180"], "180", "cyd", "180"),
        ["bob 100", "bob 150 automatic", "cyd 180"],
    ),
    "4b both: the amount is the least shown": (
        *({}, ["bob up to 150", "cyd 170 up to 200"], "170", "cyd", "200"),
        ["bob 100", "bob 150 automatic", "cyd 170"],
    ),
    "4b both: an amount below M gives way": (
        *({}, ["bob up to 150", "cyd 120 up to 200"], "160", "cyd", "200"),
        ["bob 100", "bob 150 automatic", "cyd 160"],
    ),
    "4b a fixed step": (
        STEP_5,
        ["bob up to 150", "cyd up to 200"],
        "155",
        "cyd",
        "200",
        ["bob 100", "bob 150 automatic", "cyd 155"],
    ),
    "4c the leader stays": (
        {},
        ["bob up to 150", "cyd 120"],
        "130",
        "bob",
        "150",
        ["bob 100", "cyd 120", "bob 130 automatic"],
    ),
    "4c against a maximum": (
        *({}, ["bob up to 150", "cyd up to 120"], "130", "bob", "150"),
        ["bob 100", "cyd 120", "bob 130 automatic"],
    ),
    "4c both: recorded at the maximum": (
        *({}, ["bob up to 150", "cyd 110 up to 120"], "130", "bob", "150"),
        ["bob 100", "cyd 120", "bob 130 automatic"],
    ),
    "4c never above M": (
        *({}, ["bob up to 150", "cyd up to 145"], "150", "bob", "150"),
        ["bob 100", "cyd 145", "bob 150 automatic"],
    ),
    "4c the earlier one at a tie, recorded first": (
        *({}, ["bob up to 150", "cyd up to 150"], "150", "bob", "150"),
        ["bob 100", "bob 150 automatic", "cyd 150"],
    ),
    "4c a tie by a literal amount": (
        *({}, ["bob up to 150", "cyd 150"], "150", "bob", "150"),
        ["bob 100", "bob 150 automatic", "cyd 150"],
    ),
    "4c by the tier of m": (
        {"starting_price": "90"},
        ["bob up to 150", "cyd 100"],
        *("110", "bob", "150", ["bob 90", "cyd 100", "bob 110 automatic"]),
    ),
    "2 only M rises": ({}, ["bob up to 150", "bob up to 180"], "100", "bob", "180", ["bob 100"]),
    "2 an amount beside a higher maximum is not shown": (
        *({}, ["bob up to 150", "bob 170 up to 180"], "100", "bob", "180", ["bob 100"]),
    ),
    "2 a raise defends": (
        *({}, ["bob up to 150", "bob up to 180", "cyd 160"], "170", "bob", "180"),
        ["bob 100", "cyd 160", "bob 170 automatic"],
    ),
    "5 R lifts a first bid": ({"reserve_price": "200"}, ["bob up to 250"], "200", "bob", "250", ["bob 200"]),
    "5 R at M": ({"reserve_price": "200"}, ["bob up to 200"], "200", "bob", "200", ["bob 200"]),
    "5 R above M": ({"reserve_price": "200"}, ["bob up to 199.999"], "100", "bob", "199.999", ["bob 100"]),
    "5 R lifts an outbidding": (
        *({"reserve_price": "200"}, ["bob up to 150", "cyd up to 250"], "200", "cyd", "250"),
        ["bob 100", "bob 150 automatic", "cyd 200"],
    ),
    "5 R below P": ({"reserve_price": "110"}, ["bob 130 up to 150"], "130", "bob", "150", ["bob 130"]),
    "5 R lifts a raise, without a row": (
        *({"reserve_price": "200"}, ["bob up to 150", "bob up to 250"], "200", "bob", "250", ["bob 100"]),
    ),
    "20 digits: the last bid": (
        {"starting_price": str(LIMIT), "increment": fixed(eur("0.001"))},
        *(["bob up to 99999999999999999.999"], str(LIMIT), "bob", str(LIMIT), [f"bob {LIMIT}"]),
    ),
    "20 digits: 4b takes what can be written": (
        {"starting_price": "99999999999999990", "increment": fixed(eur("5"))},
        ["bob up to 99999999999999998", f"cyd up to {LIMIT}"],
        *(str(LIMIT), "cyd", str(LIMIT)),
        ["bob 99999999999999990", "bob 99999999999999998 automatic", f"cyd {LIMIT}"],
    ),
    "20 digits: 4c takes what can be written": (
        {"starting_price": "99999999999999990", "increment": fixed(eur("5"))},
        [f"bob up to {LIMIT}", "cyd 99999999999999998"],
        *(str(LIMIT), "bob", str(LIMIT)),
        ["bob 99999999999999990", "cyd 99999999999999998", f"bob {LIMIT} automatic"],
    ),
}


@pytest.mark.parametrize("example", PLACED)
def test_placed(example: str) -> None:
    """After an accepted bid, price, leader, limit and recorded bids are as the rules say."""
    terms, bids, price, leader, maximum, rows = PLACED[example]
    auction, log = place(an_auction(**terms), *bids)
    assert auction.leader is not None
    assert (eur(price), leader, eur(maximum)) == (auction.current_bid, auction.leader.name, auction.maximum)
    assert rows == [shown(event) for event in log if isinstance(event, BidPlaced)]
    assert len(rows) == auction.bid_count


@dataclass(frozen=True, kw_only=True)
class Case:
    """A bid that is refused after other bids, and the minimum bid if the refusal tells it."""

    terms: dict[str, Any] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)
    bid: str
    code: str
    minimum: str | None = None


REFUSED = {
    "2 a literal amount": Case(before=["bob up to 150"], bid="bob 200", code="already_leading", minimum="110"),
    "2 the same maximum": Case(before=["bob up to 150"], bid="bob up to 150", code="already_leading", minimum="110"),
    "2 a lower maximum": Case(before=["bob up to 150"], bid="bob up to 149.999", code="already_leading", minimum="110"),
    "2 both, no higher": Case(before=["bob up to 150"], bid="bob 120 up to 150", code="already_leading", minimum="110"),
    "3 below S": Case(bid="bob 99.999", code="bid_too_low", minimum="100"),
    "3 a maximum below S": Case(bid="bob up to 99.999", code="bid_too_low", minimum="100"),
    "3 an amount below S beside a maximum": Case(bid="bob 99.999 up to 200", code="bid_too_low", minimum="100"),
    "3 at P": Case(before=["bob 100"], bid="cyd 100", code="bid_too_low", minimum="110"),
    "3 below P + inc(P)": Case(before=["bob 100"], bid="cyd 109.999", code="bid_too_low", minimum="110"),
    "3 a maximum below it": Case(before=["bob 100"], bid="cyd up to 109.999", code="bid_too_low", minimum="110"),
    "3 an amount below it": Case(before=["bob 100"], bid="cyd 109.999 up to 500", code="bid_too_low", minimum="110"),
    "3 by the tier that holds P": Case(
        terms={"starting_price": "10"}, before=["bob 10"], bid="cyd 10.999", code="bid_too_low", minimum="11"
    ),
    "3 a fixed step": Case(terms=STEP_5, before=["bob 100"], bid="cyd 104.999", code="bid_too_low", minimum="105"),
    "3 a tie that cannot be": Case(before=["bob 150"], bid="cyd 150", code="bid_too_low", minimum="160"),
    "3 nothing higher can be written": Case(
        terms={"starting_price": str(LIMIT)}, before=[f"bob {LIMIT}"], bid=f"cyd {LIMIT}", code="bid_too_low"
    ),
    "1 the author": Case(bid="ada 100", code="own_auction"),
    "1 the author, before the amount is looked at": Case(bid="ada 1", code="own_auction"),
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
# bidder, instant and code, in an auction from one hour to two hours after its creation
ADMITTED: list[tuple[str, datetime, str | None]] = [
    ("bob", after(0), "auction_not_started"),
    ("bob", after(3600, microseconds=-1), "auction_not_started"),
    ("ada", after(0), "auction_not_started"),
    ("bob", after(3600), None),
    ("ada", after(3600), "own_auction"),
    ("bob", after(7200, microseconds=-1), None),
    ("ada", after(7200, microseconds=-1), "own_auction"),
    ("bob", after(7200), "auction_closed"),
    ("ada", after(7200), "auction_closed"),
    ("bob", after(7200, microseconds=1), "auction_closed"),
]


@pytest.mark.parametrize(("who", "now", "code"), ADMITTED)
@pytest.mark.parametrize("buying", [False, True])
def test_admission_in_its_order(who: str, now: datetime, code: str | None, buying: bool) -> None:
    """Rule 1: closed (from endsAt on), then not started (before startsAt), then own auction; the same for buying."""
    auction = an_auction(starts_at=HOUR, ends_at=after(7200), buy_now_price="500", soft_close=None)
    party, request = said(f"{who} 100")
    refused = refusal(buy_now, auction, party, now) if buying else refusal(place_bid, auction, party, request, now)
    assert code == (None if refused is None else refused.code)


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


def test_what_a_bid_tells() -> None:
    """Each recorded bid tells the minimum bid, whether the reserve is met, the leader, and the end before the bid."""
    auction = an_auction(reserve_price="140", ends_at=after(7200))
    auction, first = place(auction, "bob up to 130")
    _, then = place(auction, "cyd up to 150", now=after(1))
    recorded = [
        (e.bidder, e.leading, e.automatic, str(e.minimum_bid), e.reserve_met, e.ends_at)
        for e in first + then
        if isinstance(e, BidPlaced)
    ]
    assert [
        ("bob", True, False, "110.000", False, after(7200)),
        ("bob", True, True, "140.000", False, after(7200)),
        ("cyd", True, False, "150.000", True, after(7200)),
    ] == recorded


def test_what_a_bid_tells_that_does_not_lead() -> None:
    """A bid that does not take the lead tells the state after the automatic bid that answers it."""
    auction, _ = place(an_auction(reserve_price="125"), "bob up to 150")
    _, then = place(auction, "cyd 135")
    recorded = [(e.bidder, e.leading, str(e.minimum_bid), e.reserve_met) for e in then if isinstance(e, BidPlaced)]
    assert [("cyd", False, "155.000", True), ("bob", True, "155.000", True)] == recorded


CAP = 7_200
# window, extension, cap, seconds before the end (cap and end in seconds after creation; the end is 3,600): the new end
EXTENDED: dict[str, tuple[SoftClose | None, float, float | None]] = {
    "outside the window": (SoftClose(120, 120), 120.000001, None),
    "on its edge": (SoftClose(120, 180), 120, 3600 - 120 + 180),
    "on its edge, without gain": (SoftClose(120, 120), 120, None),
    "within it": (SoftClose(120, 120), 60, 3600 - 60 + 120),
    "in the last microsecond": (SoftClose(120, 120), 0.000001, 3600 - 0.000001 + 120),
    "a short extension never moves it back": (SoftClose(120, 10), 60, None),
    "a short extension moves it on near the end": (SoftClose(120, 10), 5, 3600 - 5 + 10),
    "up to the cap": (SoftClose(120, 120, after(3630)), 60, 3630),
    "the cap is the end": (SoftClose(120, 120, after(3600)), 60, None),
    "below the cap": (SoftClose(120, 120, after(CAP)), 60, 3600 - 60 + 120),
    "turned off": (None, 1, None),
}


@pytest.mark.parametrize("example", EXTENDED)
def test_soft_close(example: str) -> None:
    """Rule 6: a bid in the window moves the end to now + extension, never past the cap and never earlier."""
    rule, before_end, end = EXTENDED[example]
    auction = an_auction(ends_at=after(3600), soft_close=rule)
    now = after(3600 - before_end)
    placed, log = place(auction, "bob 100", now=now)
    expected = [] if end is None else [AuctionExtended(at=now, ends_at=after(end), reason=Reason.SOFT_CLOSE)]
    assert expected == log[1:]
    assert (after(3600) if end is None else after(end)) == placed.ends_at


def test_every_change_of_price_extends() -> None:
    """Rule 6: a bid that does not take the lead changes the price, so it extends like any other; a raise does not."""
    auction, _ = place(an_auction(ends_at=after(3600)), "bob up to 150")
    held_off, _ = place(auction, "cyd 120", now=after(3590))
    raised, _ = place(auction, "bob up to 200", now=after(3590))
    assert (after(3710), after(3600)) == (held_off.ends_at, raised.ends_at)


def test_no_end_no_extension() -> None:
    """An auction without an end is never extended."""
    auction, log = place(an_auction(), "bob 100")
    assert (None, 1) == (auction.ends_at, len(log))


def test_buy_now_sells_at_once() -> None:
    """Buy now: a bid at B and the close at once, whatever the soft close says."""
    auction = an_auction(buy_now_price="500", reserve_price="300", ends_at=after(60))
    events = buy_now(auction, CY, after(59))
    bid, closed = events
    assert isinstance(bid, BidPlaced)
    assert ("cyd", eur("500"), eur("500"), True) == (bid.bidder, bid.amount, bid.maximum, bid.leading)
    assert AuctionClosed(at=after(59), outcome=Outcome.SOLD, winner="cyd", price=eur("500")) == closed


@pytest.mark.parametrize(
    ("terms", "bids", "minimum"),
    [({}, [], "100"), ({"buy_now_price": "500"}, ["bob 100"], "110"), ({"buy_now_price": "500"}, ["cyd 100"], "110")],
)
def test_buy_now_is_gone(terms: dict[str, Any], bids: list[str], minimum: str) -> None:
    """Without B, or after the first bid, nobody can buy; the refusal tells the minimum bid instead."""
    auction, _ = place(an_auction(**terms), *bids)
    refused = refusal(buy_now, auction, CY, T0)
    assert refused is not None
    assert ("buy_now_unavailable", {"minimum_bid": eur(minimum)}) == (refused.code, refused.facts)


def test_who_is_late_is_told_how_late() -> None:
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


def test_who_comes_after_a_purchase_is_told_when_that_was() -> None:
    """If the auction was bought before its announced end, the refusal says when that was, and not that the bid was late."""
    auction = an_auction(ends_at=after(60), buy_now_price="500")
    bought = auction.after_all(buy_now(auction, CY, after(10)))
    refused = refusal(place_bid, bought, BOB, BidRequest(eur("600"), None), after(20))
    facts = {
        name: refused and refused.facts[name] for name in ("ends_at", "closed_at", "decided_at", "late_microseconds")
    }
    assert {"ends_at": after(60), "closed_at": after(10), "decided_at": after(20), "late_microseconds": None} == facts


def test_who_is_early_is_told_the_start() -> None:
    """The refusal of a bid before the start tells the start."""
    refused = refusal(place_bid, an_auction(starts_at=after(60)), BOB, BidRequest(eur("100"), None), after(59))
    assert {"starts_at": after(60)} == (refused and refused.facts)
