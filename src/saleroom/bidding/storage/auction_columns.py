"""The columns of auctions: which of them each kind of event changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.block_events import (
    BLOCK_EVENTS,
    ActUndone,
    AuctionDecided,
    AuctionReopened,
    BidderNamed,
    BidRetracted,
)
from saleroom.bidding.domain.event_types import EVENTS
from saleroom.bidding.domain.events import (
    AuctionAmended,
    AuctionCancelled,
    AuctionClosed,
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
    PhotosArranged,
    ReserveMet,
)

NO_END_RANK = 1 << 61
OVER_RANK = 1 << 62
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Columns = Callable[[Auction], dict[str, Any]]
"""From an auction to some of its columns, by name."""

_encode = msgspec.json.Encoder().encode


def ending_rank(auction: Auction) -> int:
    """Return where `auction` stands in a list by end: soonest first, then those without an end, then those that are over."""
    if auction.over:
        return OVER_RANK - ((auction.ends_at or auction.created_at) - _EPOCH) // _MICROSECOND
    return NO_END_RANK if auction.ends_at is None else (auction.ends_at - _EPOCH) // _MICROSECOND


def row_of(auction: Auction) -> dict[str, Any]:
    """Return every column of an auction that its ledger covers, but its number, by name."""
    return {
        **_after_any(auction),
        "gid": auction.gid,
        "author_id": auction.author.id,
        "increment": _encode(auction.ladder.tiers).decode(),
        "created_at": auction.created_at,
        "seed": auction.chain.seed,
    }


def columns_after(events: Iterable[type[Event]]) -> Columns:
    """Return what gives the columns of an auction that events of the kinds `events` may have changed, by name."""
    parts = [part for part, kinds in _PARTS if not kinds.isdisjoint(events)]

    def columns(auction: Auction) -> dict[str, Any]:
        changed = {
            "version": auction.version,
            "position": auction.position,
            "head": auction.chain.head,
            "hidden": auction.chain.hidden,
        }
        for part in parts:
            changed |= part(auction)
        return changed

    return columns


def _price(auction: Auction) -> dict[str, Any]:
    """Return the columns that bids change, by name."""
    return {
        "current_bid": auction.current_bid,
        "current_bidder_id": None if auction.leader is None else auction.leader.id,
        "current_bid_at": auction.current_bid_at,
        "maximum": auction.maximum,
        "bid_count": auction.bid_count,
        "price": auction.starting_price if auction.current_bid is None else auction.current_bid,
    }


def _ends(auction: Auction) -> dict[str, Any]:
    """Return the columns that a new end, or a clock that stops or goes on, changes by name."""
    return {"ends_at": auction.ends_at, "paused_at": auction.paused_at}


def _status(auction: Auction) -> dict[str, Any]:
    """Return the columns that the clock changes, and a new end too, by name."""
    return {
        "due_at": auction.due_at,
        "status": auction.status.value,
        "outcome": None if auction.outcome is None else auction.outcome.value,
        "ending_rank": ending_rank(auction),
    }


def _block(auction: Auction) -> dict[str, Any]:
    """Return the column that the clerk of a live sale changes, by name."""
    return {"block": None if auction.block is None else _encode(auction.block).decode()}


def _moderated(auction: Auction) -> dict[str, Any]:
    """Return the columns that staff change, by name."""
    return {"taken_down": auction.taken_down, "cancelled_for": auction.cancelled_for}


def _terms(auction: Auction) -> dict[str, Any]:
    """Return the columns that only the author changes, by name."""
    rule = auction.soft_close
    return {
        "name": auction.name,
        "description": auction.description,
        "starting_price": auction.starting_price,
        "reserve_price": auction.reserve_price,
        "buy_now_price": auction.buy_now_price,
        "soft_close": None if rule is None else _encode(rule).decode(),
        "starts_at": auction.starts_at,
        "terms_version": auction.terms_version,
        "category": auction.category,
    }


_MOVES_ENDS: frozenset[type[Event]] = frozenset(
    {
        AuctionExtended,
        AuctionPaused,
        AuctionResumed,
        AuctionCancelled,
        AuctionAmended,
        ActUndone,
        AuctionReopened,
        AuctionDecided,
    }
)
_PARTS: Sequence[tuple[Columns, frozenset[type[Event]]]] = (
    (
        _price,
        frozenset(
            {BidPlaced, BidVoided, MaximumRaised, ReserveMet, AuctionAmended, BidderNamed, BidRetracted, ActUndone}
        ),
    ),
    (_block, frozenset({*BLOCK_EVENTS, AuctionClosed, AuctionCancelled, BidVoided})),
    (_ends, _MOVES_ENDS),
    (_status, frozenset({*_MOVES_ENDS, AuctionOpened, AuctionClosed})),
    (_terms, frozenset({AuctionAmended, AuctionResumed, PhotosArranged})),
    (_moderated, frozenset({AuctionHidden, AuctionShown, AuctionCancelled})),
)
"""The columns of an auction by the kinds of events that change them. All events change its version, position and chain."""

_after_any = columns_after(EVENTS.values())
