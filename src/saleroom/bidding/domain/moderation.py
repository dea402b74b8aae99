"""Moderation: staff hide a lot, show it again, or cancel its sale (docs/rules.md, "Hidden or cancelled by the house")."""

from __future__ import annotations

from datetime import datetime

from saleroom.bidding.domain.auction import Auction, refuse_if_over
from saleroom.bidding.domain.closing import open_if_due
from saleroom.bidding.domain.errors import AlreadyHidden, NotHidden
from saleroom.bidding.domain.events import AuctionCancelled, AuctionHidden, AuctionShown, Event


def hide(auction: Auction, reason: str, now: datetime) -> list[Event]:
    """Return what happens when staff hide an auction that is not over. Raises AuctionOver or AlreadyHidden."""
    now = auction.not_before(now)
    refuse_if_over(auction, now)
    if auction.taken_down is not None:
        raise AlreadyHidden
    return [*open_if_due(auction, now), AuctionHidden(at=now, hidden_for=reason)]


def show(auction: Auction, now: datetime) -> list[Event]:
    """Return what happens when staff show a hidden auction again. Raises AuctionOver or NotHidden."""
    now = auction.not_before(now)
    refuse_if_over(auction, now)
    if auction.taken_down is None:
        raise NotHidden
    return [*open_if_due(auction, now), AuctionShown(at=now)]


def cancel(auction: Auction, reason: str, now: datetime) -> list[Event]:
    """Return what happens when staff cancel an auction that is not over, with bids or without. Raises AuctionOver."""
    now = auction.not_before(now)
    refuse_if_over(auction, now)
    return [*open_if_due(auction, now), AuctionCancelled(at=now, reason=reason)]
