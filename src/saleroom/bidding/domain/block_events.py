"""The events of a lot on the block of a live sale: acts of the clerk or the auctioneer (docs/rules.md, "On the block").

A bid that the clerk takes is a `BidPlaced` with its channel, and the hammer an `AuctionClosed`, as everywhere.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

from saleroom.bidding.domain.events import Event, Outcome


class Stage(StrEnum):
    """How far a lot on the block is from the hammer."""

    CALLED = "called"
    FAIR_WARNING = "fair_warning"
    FINAL_CALL = "final_call"


class AuctionCalled(Event, frozen=True, kw_only=True):
    """The lot was put on the block; `minimum_bid` is the ask."""

    TYPE: ClassVar[str] = "auction.called"

    minimum_bid: Decimal | None


class AskSet(Event, frozen=True, kw_only=True):
    """The auctioneer asks for another price: the next bid is at `minimum_bid`, and later asks follow the increments."""

    TYPE: ClassVar[str] = "ask.set"

    minimum_bid: Decimal


class AuctionWarned(Event, frozen=True, kw_only=True):
    """The auctioneer warned that the hammer is about to fall; an accepted bid takes that back."""

    TYPE: ClassVar[str] = "auction.warned"

    stage: Stage


class BidderNamed(Event, frozen=True, kw_only=True):
    """The bid of the floor of `amount` at version `named`, which leads, is that of `bidder`."""

    TYPE: ClassVar[str] = "bidder.named"
    PRIVATE: ClassVar[frozenset[str]] = frozenset({"bidder_id"})

    named: int
    amount: Decimal
    bidder: str
    bidder_id: int


class BidRetracted(Event, frozen=True, kw_only=True):
    """The leader took the bid of `amount` at version `retracted` back: no bid stands, and its price is the ask again."""

    TYPE: ClassVar[str] = "bid.retracted"

    retracted: int
    bidder: str
    amount: Decimal
    minimum_bid: Decimal


class AuctionSkipped(Event, frozen=True, kw_only=True):
    """The lot left the block, and will be called later; its bids stand."""

    TYPE: ClassVar[str] = "auction.skipped"


class ActUndone(Event, frozen=True, kw_only=True):
    """The act at version `undone`, an event of the type `act`, was undone: what stood before it stands again.

    `stage` is None if the lot is not on the block afterwards. The other members are the standing afterwards, as those of
    `BidVoided`. An undone hammer opens the auction again.
    """

    TYPE: ClassVar[str] = "act.undone"
    PRIVATE: ClassVar[frozenset[str]] = frozenset({"leader_id", "maximum"})
    SEALED: ClassVar[frozenset[str]] = frozenset({"maximum"})

    undone: int
    act: str
    stage: Stage | None
    current_bid: Decimal | None
    current_bidder: str | None
    current_bid_at: datetime | None
    minimum_bid: Decimal | None
    reserve_met: bool | None
    leader_id: int | None
    maximum: Decimal | None


class AuctionReopened(Event, frozen=True, kw_only=True):
    """The hammer was taken back for this `reason` after another lot had been called: the lot can be called again."""

    TYPE: ClassVar[str] = "auction.reopened"

    reason: str


class AuctionDecided(Event, frozen=True, kw_only=True):
    """The seller decided on a bid below the reserve: `sold` to `winner` at `price`, or `reserve_not_met`."""

    TYPE: ClassVar[str] = "auction.decided"

    outcome: Outcome
    winner: str | None
    price: Decimal | None


BLOCK_EVENTS: tuple[type[Event], ...] = (
    AuctionCalled,
    AskSet,
    AuctionWarned,
    BidderNamed,
    BidRetracted,
    AuctionSkipped,
    ActUndone,
    AuctionReopened,
    AuctionDecided,
)
"""The events of this module."""
