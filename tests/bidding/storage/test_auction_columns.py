"""The columns of an auction that are written after an event: all that it changes."""

from datetime import datetime
from decimal import Decimal

import pytest

from saleroom.bidding.domain.auction import begin
from saleroom.bidding.domain.block_events import (
    ActUndone,
    AskSet,
    AuctionCalled,
    AuctionDecided,
    AuctionReopened,
    AuctionSkipped,
    AuctionWarned,
    BidderNamed,
    BidRetracted,
    Stage,
)
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.events import (
    AuctionAmended,
    AuctionCancelled,
    AuctionClosed,
    AuctionCreated,
    AuctionExtended,
    AuctionHidden,
    AuctionOpened,
    AuctionPaused,
    AuctionResumed,
    AuctionShown,
    BidPlaced,
    BidVoided,
    Event,
    MaximumRaised,
    Outcome,
    PhotosArranged,
    Reason,
    ReserveMet,
    SoftClose,
)
from saleroom.bidding.domain.increments import fixed
from saleroom.bidding.domain.ledger import enter
from saleroom.bidding.storage.auction_columns import columns_after, row_of
from tests.bidding.domain.examples import BOB, CY, after
from tests.bidding.domain.playing import T0

ONE, TWO = Decimal("1.000"), Decimal("2.000")
CREATED = AuctionCreated(
    at=T0,
    name="Clock",
    description="",
    starting_price=ONE,
    buy_now_price=None,
    soft_close=None,
    starts_at=after(1),
    ends_at=after(2),
    minimum_bid=ONE,
    reserve_met=None,
    reserve_price=None,
    gid="gid",
    author="ada",
    author_id=1,
    increment=fixed(ONE).tiers,
    status="scheduled",
)


def bid(amount: Decimal, at: datetime) -> BidPlaced:
    """A bid by Bob."""
    return BidPlaced(
        at=at,
        amount=amount,
        bidder=BOB.name,
        bidder_id=BOB.id,
        automatic=False,
        leading=True,
        minimum_bid=None,
        reserve_met=None,
        ends_at=None,
        maximum=amount,
    )


CASES: list[Event] = [
    AuctionAmended(
        at=after(3),
        name="Watch",
        description="Gold",
        starting_price=TWO,
        buy_now_price=TWO,
        soft_close=SoftClose(1, 1),
        starts_at=after(4),
        ends_at=after(5),
        minimum_bid=TWO,
        reserve_met=False,
        reserve_price=TWO,
        category="clocks",
    ),
    PhotosArranged(at=after(3), photos=(), category="clocks"),
    AuctionOpened(at=after(3)),
    bid(TWO, after(3)),
    MaximumRaised(at=after(3), maximum=TWO),
    ReserveMet(at=after(3), amount=TWO, bidder=BOB.name, minimum_bid=TWO),
    BidVoided(
        at=after(3),
        voided=2,
        bidder=BOB.name,
        amount=ONE,
        reason="A slip of the hand.",
        current_bid=TWO,
        current_bidder=CY.name,
        current_bid_at=after(2),
        minimum_bid=None,
        reserve_met=None,
        leader_id=CY.id,
        maximum=TWO,
    ),
    AuctionExtended(at=after(3), ends_at=after(9), reason=Reason.SOFT_CLOSE),
    AuctionPaused(at=after(3)),
    AuctionResumed(at=after(3), starts_at=after(4), ends_at=after(9), cap=after(10)),
    AuctionClosed(at=after(3), outcome=Outcome.SOLD, winner=BOB.name, price=ONE),
    AuctionCancelled(at=after(3)),
    AuctionCancelled(at=after(3), reason="The seller has withdrawn it."),
    AuctionHidden(at=after(3), hidden_for="It may be stolen."),
    AuctionShown(at=after(3)),
    AuctionCalled(at=after(3), minimum_bid=ONE),
    AskSet(at=after(3), minimum_bid=TWO),
    AuctionWarned(at=after(3), stage=Stage.FINAL_CALL),
    BidderNamed(at=after(3), named=2, amount=ONE, bidder=CY.name, bidder_id=CY.id),
    BidRetracted(at=after(3), retracted=2, bidder=BOB.name, amount=ONE, minimum_bid=ONE),
    AuctionSkipped(at=after(3)),
    ActUndone(
        at=after(3),
        undone=2,
        act="bid.placed",
        stage=Stage.CALLED,
        current_bid=TWO,
        current_bidder=CY.name,
        current_bid_at=after(2),
        minimum_bid=TWO,
        reserve_met=None,
        leader_id=CY.id,
        maximum=TWO,
    ),
    AuctionReopened(at=after(3), reason="The bidder in the hall was not seen."),
    AuctionDecided(at=after(3), outcome=Outcome.SOLD, winner=BOB.name, price=ONE),
]


@pytest.mark.parametrize("event", CASES, ids=lambda event: event.TYPE)
@pytest.mark.parametrize("bids", [0, 1])
def test_all_columns_that_an_event_changes_are_written(event: Event, bids: int) -> None:
    """No other column of the row differs, with a bid before the event and without."""
    auction = begin(7, CREATED)
    if bids:
        auction = auction.after(bid(ONE, after(1)))
    later, _ = enter(auction.after(event), event)
    before, row = row_of(auction), row_of(later)
    written = columns_after({type(event)})(later)
    assert written.items() <= row.items()
    assert {name for name in row if row[name] != before[name]} <= set(written)


def test_a_close_names_no_end() -> None:
    """Thousands of lots may close at once, and each column that is named takes time."""
    written = columns_after({AuctionClosed, AuctionOpened})(begin(7, CREATED))
    assert {"status", "outcome", "due_at", "ending_rank"} <= set(written)
    assert {"ends_at", "paused_at"}.isdisjoint(written)


def test_every_event_is_among_the_cases() -> None:
    """A new kind of event needs a case above."""
    assert set(EVENTS.values()) - {AuctionCreated} == {type(event) for event in CASES}
