"""Opening, closing and outages: examples by hand."""

from datetime import datetime
from typing import Any, NamedTuple

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
from tests.bidding.domain.examples import ADA, after, an_auction, place, window

END = after(3600)
NO_BIDS = AuctionClosed(at=END, outcome=Outcome.NO_BIDS, winner=None, price=None)


def _ended(reserve: str | None, *bids: str) -> AuctionClosed:
    terms: dict[str, Any] = {} if reserve is None else {"reserve_price": reserve}
    auction, _ = place(an_auction(ends_at=END, **terms), *bids)
    [closed] = settle(auction, END)
    assert isinstance(closed, AuctionClosed)
    return closed


OUTCOMES = [
    {"reserve": None, "bids": [], "ends": "no_bids"},
    {"reserve": "100", "bids": [], "ends": "no_bids"},
    {"reserve": None, "bids": ["bob 100"], "ends": "sold to bob at 100.000"},
    {"reserve": "200", "bids": ["bob 100"], "ends": "reserve_not_met"},
    {"reserve": "200", "bids": ["bob 199.999"], "ends": "reserve_not_met"},
    {"reserve": "200", "bids": ["bob 200"], "ends": "sold to bob at 200.000"},
    {"reserve": "200", "bids": ["bob up to 200"], "ends": "sold to bob at 200.000"},
    {"reserve": "200", "bids": ["bob up to 150", "bob up to 300"], "ends": "sold to bob at 200.000"},
    {"reserve": None, "bids": ["bob up to 150", "cyd 120"], "ends": "sold to bob at 130.000"},
]


@pytest.mark.parametrize("case", OUTCOMES)
def test_outcome(case: dict[str, Any]) -> None:
    """Without a bid `no_bids`; with P below R `reserve_not_met`, and no winner or price; otherwise `sold` to L at P."""
    closed = _ended(case["reserve"], *case["bids"])
    sold = (closed.winner, closed.price) != (None, None)
    assert case["ends"] == closed.outcome + (f" to {closed.winner} at {closed.price}" if sold else "")
    assert END == closed.at


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


def test_the_start_is_due_before_the_end() -> None:
    """First the start is due, then the end; an auction that is over, or has neither, is never due."""
    both = an_auction(starts_at=after(60), ends_at=END)
    opened = both.after_all(settle(both, after(60)))
    assert (after(60), END) == (both.due_at, opened.due_at)
    assert opened.after_all(settle(opened, END)).due_at is None
    assert (None, END) == (an_auction().due_at, an_auction(ends_at=END).due_at)
    assert after(60) == an_auction(starts_at=after(60)).due_at


def test_an_auction_that_is_over_stays_over() -> None:
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


class OutageCase(NamedTuple):
    """An outage before or over the end at 3,600, and the new end if it moves, in seconds after the auction's creation."""

    rule: SoftClose | None
    down: float
    back: float
    new_end: float | None


OUTAGES = {
    "over the end": OutageCase(rule=window(120), down=3_500, back=4_000, new_end=4_120),
    "long before, until after it": OutageCase(rule=window(120), down=10, back=4_000, new_end=4_120),
    "over after days": OutageCase(rule=window(120), down=3_599, back=90_000, new_end=90_120),
    "within the window": OutageCase(rule=window(120), down=3_500, back=3_550, new_end=3_670),
    "back in the window's first microsecond": OutageCase(
        rule=window(121), down=3_400, back=3_480.000001, new_end=3_601.000001
    ),
    "back when the window begins": OutageCase(rule=window(121), down=3_400, back=3_480, new_end=None),
    "before the window": OutageCase(rule=window(120), down=1_000, back=2_000, new_end=None),
    "from the end on": OutageCase(rule=window(120), down=3_600, back=4_000, new_end=None),
    "from the last microsecond on": OutageCase(rule=window(120), down=3_599.999999, back=4_000, new_end=4_120),
    "up to the cap": OutageCase(rule=window(120, cap=3_660), down=3_500, back=3_590, new_end=3_660),
    "the cap has passed": OutageCase(rule=window(120, cap=3_660), down=3_500, back=3_700, new_end=None),
    "back at the cap": OutageCase(rule=window(120, cap=3_660), down=3_500, back=3_660, new_end=None),
    "an extension to the very end that stands": OutageCase(rule=window(110), down=3_480, back=3_490, new_end=None),
    "an extension too short to matter": OutageCase(rule=window(10), down=3_490, back=3_500, new_end=None),
    "without soft close it ends as announced": OutageCase(rule=None, down=3_500, back=4_000, new_end=None),
}


@pytest.mark.parametrize("bid_on", [False, True])
@pytest.mark.parametrize("example", OUTAGES)
def test_outage(example: str, bid_on: bool) -> None:
    """An outage within the last window moves the end to start-up + extension, with an event that says why."""
    rule, down, back, new_end = OUTAGES[example]
    auction = an_auction(ends_at=END, soft_close=rule)
    auction = _bid_on(auction) if bid_on else auction
    moved = AuctionExtended(at=after(back), ends_at=after(new_end or 0), reason=Reason.OUTAGE, down_since=after(down))
    assert ([] if new_end is None else [moved]) == reopen_after_outage(auction, after(down), after(back))


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
