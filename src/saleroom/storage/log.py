"""The event log: appended in the transaction that decides, read by everything live (events.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from sqlalchemy import func, select, update

from saleroom.domain.auction import Auction
from saleroom.domain.events import Event
from saleroom.domain.views import cloud_event, event_from_parts, event_parts
from saleroom.storage import bulk
from saleroom.storage.auctions import ending_rank
from saleroom.storage.database import Transaction
from saleroom.storage.tables import auctions, events

_encode = msgspec.json.Encoder().encode


class OwedEvent(Struct, frozen=True):
    """A public event that no broker has acknowledged yet; `payload` is its wire form."""

    id: int
    auction_id: int
    gid: str
    version: int
    payload: bytes


def append(tx: Transaction, steps: Iterable[tuple[Auction, Event]]) -> None:
    """Log events, each with its auction as it was right after it."""
    rows = []
    for auction, event in steps:
        public, private = event_parts(event)
        rows.append(
            {
                "auction_id": auction.id,
                "position": auction.position,
                "version": auction.version if event.PUBLIC else None,
                "type": event.TYPE,
                "at": event.at,
                "payload": cloud_event(auction.gid, auction.version, event, public) if event.PUBLIC else None,
                "private": _encode(private),
                "price": auction.starting_price if auction.current_bid is None else auction.current_bid,
                "ending_rank": ending_rank(auction),
            }
        )
    bulk.insert(tx, events, rows, {"written_by": "pg_current_xact_id()"} if tx.dialect == "postgresql" else None)


def read(tx: Transaction, auction_id: int) -> list[Event]:
    """Return all events of an auction in order, the private parts too, as `domain.ledger.replay` takes them."""
    rows = tx.execute(select(events).where(events.c.auction_id == auction_id).order_by(events.c.position))
    log = []
    for row in rows:
        public = msgspec.json.decode(row.payload)["data"] if row.payload is not None else {}
        log.append(event_from_parts(row.type, row.at, public, msgspec.json.decode(row.private)))
    return log


def owed(tx: Transaction, limit: int) -> list[OwedEvent]:
    """Return up to `limit` events that are not yet delivered, in order; an auction's always in order of version."""
    statement = (
        select(events.c.id, events.c.auction_id, auctions.c.gid, events.c.version, events.c.payload)
        .join_from(events, auctions, events.c.auction_id == auctions.c.id)
        .where(events.c.delivered_at.is_(None), events.c.version.is_not(None))
        .order_by(events.c.id)
        .limit(limit)
    )
    return [OwedEvent(row.id, row.auction_id, row.gid, row.version, row.payload) for row in tx.execute(statement)]


def owed_count(tx: Transaction) -> int:
    """Return how many events are not yet delivered."""
    statement = select(func.count()).where(events.c.delivered_at.is_(None), events.c.version.is_not(None))
    return int(tx.execute(statement).scalar_one())


def mark_delivered(tx: Transaction, ids: Sequence[int]) -> None:
    """Note that the broker has acknowledged these events."""
    tx.execute(update(events).where(bulk.among(tx, events.c.id, ids)).values(delivered_at=tx.now()))
