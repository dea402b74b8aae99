"""Every event of the log of auctions by its type."""

from __future__ import annotations

from saleroom.bidding.domain import events
from saleroom.bidding.domain.block_events import BLOCK_EVENTS
from saleroom.bidding.domain.events import Event

_KINDS: tuple[type[Event], ...] = (
    events.AuctionCreated,
    events.AuctionAmended,
    events.PhotosArranged,
    events.AuctionOpened,
    events.BidPlaced,
    events.MaximumRaised,
    events.ReserveMet,
    events.BidVoided,
    events.AuctionExtended,
    events.AuctionPaused,
    events.AuctionResumed,
    events.AuctionHidden,
    events.AuctionShown,
    events.AuctionClosed,
    events.AuctionCancelled,
    *BLOCK_EVENTS,
)
EVENTS: dict[str, type[Event]] = {kind.TYPE: kind for kind in _KINDS}
"""Every event of the log by its type."""
