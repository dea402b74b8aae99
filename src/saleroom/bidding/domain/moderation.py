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
    if auction.is_hidden:
        raise AlreadyHidden
    return [*open_if_due(auction, now), AuctionHidden(at=now, hidden_for=reason)]


def show(auction: Auction, now: datetime) -> list[Event]:
    """Return what happens when staff show a hidden auction again. Raises AuctionOver or NotHidden."""
    now = auction.not_before(now)
    refuse_if_over(auction, now)
    if not auction.is_hidden:
        raise NotHidden
    return [*open_if_due(auction, now), AuctionShown(at=now)]


def refuse_to_withhold(auction: Auction) -> None:
    """Raise AlreadyHidden unless staff may hide this auction, which is over."""
    if auction.is_hidden:
        raise AlreadyHidden


def refuse_to_restore(auction: Auction) -> None:
    """Raise NotHidden unless staff may show this auction again, which is over.

    Raises AuctionOver for one that was hidden while it ran: its end was cancelled for that, which its ledger says.
    """
    if not auction.is_hidden:
        raise NotHidden
    if not auction.withheld:
        refuse_if_over(auction, auction.changed_at)


def cancel(auction: Auction, reason: str, now: datetime) -> list[Event]:
    """Return what happens when staff cancel an auction that is not over, with bids or without. Raises AuctionOver."""
    now = auction.not_before(now)
    refuse_if_over(auction, now)
    return [*open_if_due(auction, now), AuctionCancelled(at=now, reason=reason)]
