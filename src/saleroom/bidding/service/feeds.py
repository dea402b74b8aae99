"""Feeds: lots with the instant of the last thing that happened to them in public, for readers of feeds and calendars."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.service.lookup import get_one, refuse_unless_seen
from saleroom.bidding.storage import event_log, listing
from saleroom.bidding.storage.listing import Filter, Sort
from saleroom.storage.database import Transaction


class FeedEntry(Struct, frozen=True):
    """A lot, and when something last happened to it that anybody may know."""

    lot: Auction
    updated: datetime


def newest(tx: Transaction, which: Filter, limit: int) -> list[FeedEntry]:
    """Return the newest lots of a list. Lots that the house hides are in none."""
    return entries_of(tx, listing.page(tx, which, Sort.NEWEST, limit, None).rows)


def dated(tx: Transaction, which: Filter, limit: int) -> list[FeedEntry]:
    """Return the lots of a list that end next, and if it is about no state, those that open next or ended last too."""
    if which.status is not None or which.over is not None:
        return entries_of(tx, listing.page(tx, which, Sort.ENDING, limit, None).rows)
    terms: dict[str, Any] = {"author": which.author, "category": which.category, "text": which.text}
    states: tuple[Filter, ...] = (
        Filter(status=Status.OPEN, **terms),
        Filter(status=Status.SCHEDULED, **terms),
        Filter(over=True, **terms),
    )
    return entries_of(tx, [one for state in states for one in listing.page(tx, state, Sort.ENDING, limit, None).rows])


def one(tx: Transaction, gid: str) -> list[FeedEntry]:
    """Return one lot, as anybody may see it. Raises UnknownAuction or TakenDown."""
    found = get_one(tx, gid)
    refuse_unless_seen(found, None)
    return entries_of(tx, [found])


def entries_of(tx: Transaction, lots: Sequence[Auction]) -> list[FeedEntry]:
    """Return lots with the instant of the last thing that happened to each."""
    changed = event_log.changed_at(tx, [lot.id for lot in lots])
    return [FeedEntry(lot, changed.get(lot.id, lot.created_at)) for lot in lots]
