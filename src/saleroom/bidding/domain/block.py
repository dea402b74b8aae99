"""The block: the state of the lot that the auctioneer sells now, and how the events of the block change it.

A bid does not write it, as its effect follows from the number of bids (docs/rules.md, "On the block").
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import Struct

from saleroom.bidding.domain.block_events import (
    AskSet,
    AuctionCalled,
    AuctionDecided,
    AuctionWarned,
    BidderNamed,
    BidRetracted,
    Stage,
)
from saleroom.bidding.domain.events import Event
from saleroom.kernel.parties import Party

FLOOR = "#floor"
"""The name of the bidder of a bid from the hall whose paddle is not known yet. No username and no paddle is like it."""


class Block(Struct, frozen=True):
    """The `stage` and the `ask` that the auctioneer has set when the lot had `bids` bids; a later bid takes both back.

    `ask` is None if the increments give it. After a bid the lot is `called`, and its ask follows the increments.
    """

    stage: Stage
    ask: Decimal | None
    bids: int


def block_changes(event: Event, ask: Decimal | None, bids: int) -> dict[str, Any]:
    """Return what `event` changes of an auction with this `ask` and number of `bids`, by name."""
    match event:
        case AuctionCalled():
            return {"block": Block(Stage.CALLED, None, bids)}
        case AskSet():
            return {"block": Block(Stage.CALLED, event.minimum_bid, bids)}
        case AuctionWarned():
            return {"block": Block(event.stage, ask, bids)}
        case BidderNamed():
            return {"leader": Party(event.bidder_id, event.bidder)}
        case BidRetracted():
            nobody = dict.fromkeys(("current_bid", "current_bid_at", "leader", "maximum"))
            return {**nobody, "block": Block(Stage.CALLED, event.amount, bids)}
    return {"outcome": event.outcome} if isinstance(event, AuctionDecided) else {"block": None}
