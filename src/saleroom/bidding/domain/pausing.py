"""Pausing: the clock of an auction stands still, and goes on with the time that was left (docs/rules.md, "Paused")."""

from __future__ import annotations

from datetime import datetime

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.closing import open_if_due
from saleroom.bidding.domain.errors import Paused
from saleroom.bidding.domain.events import AuctionPaused, AuctionResumed, Event


def refuse_if_paused(auction: Auction) -> None:
    """Raise Paused while the auction's clock stands still."""
    if auction.paused_at is not None:
        raise Paused(paused_at=auction.paused_at)


def pause(auction: Auction, now: datetime) -> list[Event]:
    """Return what happens when the clock stops: nothing if it stands still already, or if the auction has come to its end."""
    now = auction.not_before(now)
    if auction.over or auction.paused_at is not None or (auction.ends_at is not None and now >= auction.ends_at):
        return []
    return [*open_if_due(auction, now), AuctionPaused(at=now)]


def resume(auction: Auction, now: datetime) -> list[Event]:
    """Return what happens when the clock goes on: nothing if it goes already, or if the auction is over.

    Start, end and cap that were ahead when it stopped move by the time that it stood still.
    """
    now = auction.not_before(now)
    stood_at = auction.paused_at
    if auction.over or stood_at is None:
        return []

    def moved(instant: datetime | None) -> datetime | None:
        return instant if instant is None or instant <= stood_at else instant + (now - stood_at)

    cap = None if auction.soft_close is None else moved(auction.soft_close.cap)
    return [AuctionResumed(at=now, starts_at=moved(auction.starts_at), ends_at=moved(auction.ends_at), cap=cap)]
