"""Opening, closing and outages: examples by hand."""

from datetime import datetime
from typing import Any

import pytest

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.closing import close, reopen_after_outage, settle
from saleroom.bidding.domain.events import (
    AuctionClosed,
    AuctionExtended,
    AuctionOpened,
    Event,
    Outcome,
    Reason,
    SoftClose,
)
from saleroom.bidding.domain.selling import cancel
from tests.bidding.domain.examples import ADA, after, an_auction, eur, place

END = after(3600)
NO_BIDS = AuctionClosed(at=END, outcome=Outcome.NO_BIDS, winner=None, price=None)


def _ended(reserve: str | None, *bids: str) -> AuctionClosed:
    terms: dict[str, Any] = {} if reserve is None else {"reserve_price": reserve}
    auction, _ = place(an_auction(ends_at=END, **terms), *bids)
    [closed] = settle(auction, END)
    assert isinstance(closed, AuctionClosed)
    return closed


OUTCOMES: list[tuple[str | None, list[str], str, str | None, str | None]] = [
    (None, [], "no_bids", None, None),
    ("100", [], "no_bids", None, None),
    (None, ["bob 100"], "sold", "bob", "100"),
    ("200", ["bob 100"], "reserve_not_met", None, None),
    ("200", ["bob 199.999"], "reserve_not_met", None, None),
    ("200", ["bob 200"], "sold", "bob", "200"),
    ("200", ["bob up to 200"], "sold", "bob", "200"),
    ("200", ["bob up to 150", "bob up to 300"], "sold", "bob", "200"),
    (None, ["bob up to 150", "cyd 120"], "sold", "bob", "130"),
]


@pytest.mark.parametrize(("reserve", "bids", "outcome", "winner", "price"), OUTCOMES)
def test_outcome(reserve: str | None, bids: list[str], outcome: str, winner: str | None, price: str | None) -> None:
    """Without a bid `no_bids`; with P below R `reserve_not_met`, and no winner or price; otherwise `sold` to L at P."""
    hammer = None if price is None else eur(price)
    assert AuctionClosed(at=END, outcome=Outcome(outcome), winner=winner, price=hammer) == _ended(reserve, *bids)


SETTLED: list[tuple[dict[str, Any], datetime, list[Event]]] = [
    ({}, after(days=999), []),
    ({"ends_at": END}, after(3600, microseconds=-1), []),
    ({"ends_at": END}, END, [NO_BIDS]),
    ({"ends_at": END}, after(days=30), [NO_BIDS]),
    ({"starts_at": after(60), "ends_at": END}, after(60, microseconds=-1), []),
    ({"starts_at": after(60), "ends_at": END}, after(60), [AuctionOpened(at=after(60))]),
    ({"starts_at": after(60), "ends_at": END}, after(99), [AuctionOpened(at=after(60))]),
    ({"starts_at": after(60), "ends_at": END}, after(days=1), [AuctionOpened(at=after(60)), NO_BIDS]),
    ({"starts_at": after(60)}, after(days=1), [AuctionOpened(at=after(60))]),
]


@pytest.mark.parametrize(("terms", "now", "events"), SETTLED)
def test_settling_is_dated_by_the_start_and_the_end(terms: dict[str, Any], now: datetime, events: list[Event]) -> None:
    """However late the closer comes, there is one opening, dated by startsAt, and one close, dated by endsAt."""
    auction = an_auction(**terms)
    assert events == settle(auction, now)
    assert [] == settle(auction.after_all(events), now)


def test_what_is_due_next() -> None:
    """First the start is due, then the end; an auction that is over, or has neither, is never due."""
    both = an_auction(starts_at=after(60), ends_at=END)
    opened = both.after_all(settle(both, after(60)))
    assert (after(60), END) == (both.due_at, opened.due_at)
    assert opened.after_all(settle(opened, END)).due_at is None
    assert (None, END) == (an_auction().due_at, an_auction(ends_at=END).due_at)
    assert after(60) == an_auction(starts_at=after(60)).due_at


def test_what_is_over_stays_over() -> None:
    """Closed and cancelled are final: nothing settles such an auction again, not even after an outage."""
    closed = an_auction(ends_at=END)
    closed = closed.after(close(closed, after(1)))
    cancelled = an_auction(starts_at=after(60), ends_at=END)
    cancelled = cancelled.after_all(cancel(cancelled, ADA, after(1)))
    for auction in (closed, cancelled):
        assert [] == settle(auction, after(days=1))
        assert [] == reopen_after_outage(auction, after(3500), after(3700))


def _bid_on(auction: Auction) -> Auction:
    return place(auction, "bob 100")[0]


CAPPED = SoftClose(120, 120, after(3660))
# soft close; down since, back at (seconds after creation, the end is 3,600); the new end or None
OUTAGES: dict[str, tuple[SoftClose | None, float, float, float | None]] = {
    "over the end": (SoftClose(120, 120), 3_500, 4_000, 4_120),
    "long before, until after it": (SoftClose(120, 120), 10, 4_000, 4_120),
    "over after days": (SoftClose(120, 120), 3_599, 90_000, 90_120),
    "within the window": (SoftClose(120, 120), 3_500, 3_550, 3_670),
    "back in the window's first microsecond": (SoftClose(120, 121), 3_400, 3_480.000001, 3_601.000001),
    "back when the window begins": (SoftClose(120, 121), 3_400, 3_480, None),
    "before the window": (SoftClose(120, 120), 1_000, 2_000, None),
    "from the end on": (SoftClose(120, 120), 3_600, 4_000, None),
    "from the last microsecond on": (SoftClose(120, 120), 3_599.999999, 4_000, 4_120),
    "up to the cap": (CAPPED, 3_500, 3_590, 3_660),
    "the cap has passed": (CAPPED, 3_500, 3_700, None),
    "back at the cap": (CAPPED, 3_500, 3_660, None),
    "an extension to the very end that stands": (SoftClose(120, 110), 3_480, 3_490, None),
    "an extension too short to matter": (SoftClose(120, 10), 3_490, 3_500, None),
    "without soft close it ends as announced": (None, 3_500, 4_000, None),
}


@pytest.mark.parametrize("bid_on", [False, True])
@pytest.mark.parametrize("example", OUTAGES)
def test_outage(example: str, bid_on: bool) -> None:
    """An outage within the last window moves the end to start-up + extension, with an event that says why."""
    rule, since, back, end = OUTAGES[example]
    auction = an_auction(ends_at=END, soft_close=rule)
    auction = _bid_on(auction) if bid_on else auction
    moved = AuctionExtended(at=after(back), ends_at=after(end or 0), reason=Reason.OUTAGE, down_since=after(since))
    expected = [] if end is None else [moved]
    assert expected == reopen_after_outage(auction, after(since), after(back))


def test_no_end_no_outage() -> None:
    """An outage does not extend an auction without an end."""
    assert [] == reopen_after_outage(an_auction(), after(1), after(days=1))


def test_an_outage_over_start_and_end_opens_first() -> None:
    """If start and end fell into the outage, the auction opens, dated by its start, and then its end moves."""
    auction = an_auction(starts_at=after(3000), ends_at=END)
    events = reopen_after_outage(auction, after(10), after(4000))
    assert [
        AuctionOpened(at=after(3000)),
        AuctionExtended(at=after(4000), ends_at=after(4120), reason=Reason.OUTAGE, down_since=after(10)),
    ] == events
    assert [] == settle(auction.after_all(events), after(4000))
