"""The states of auctions that are over, which an MQTT broker retains for a while: whose they are, and since when.

The time counts from the acknowledgement of the event that ended the auction. Only the relay writes it, so that none is
passed over, however late an auction was closed or however long no broker could be reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, literal, select, tuple_, update

from saleroom.bidding.storage.tables import auctions
from saleroom.log.tables import STATE_KEPT, events
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


class EndedState(Struct, frozen=True):
    """The state of an auction that is over; `id` is the number of the event that ended it."""

    id: int
    auction_id: int
    gid: str
    delivered_at: datetime


def overdue(tx: Transaction, kept: timedelta, limit: int) -> list[EndedState]:
    """Return up to `limit` states that the broker has had for longer than `kept`, the oldest first."""
    return _states(tx, events.c.delivered_at <= tx.now() - kept, limit)


def fresh(tx: Transaction, kept: timedelta, after: EndedState | None, limit: int) -> list[EndedState]:
    """Return up to `limit` states that the broker is to have, after `after`, the oldest first."""
    since = tx.now() - kept
    if after is None or after.delivered_at <= since:
        return _states(tx, events.c.delivered_at > since, limit)
    later = tuple_(events.c.delivered_at, events.c.id) > tuple_(
        literal(after.delivered_at, events.c.delivered_at.type), literal(after.id)
    )
    return _states(tx, and_(events.c.delivered_at >= after.delivered_at, later), limit)


def mark_cleared(tx: Transaction, ids: Sequence[int]) -> None:
    """Note that the broker has taken these states away."""
    tx.execute(update(events).where(bulk.among(tx, events.c.id, ids)).values(cleared_at=tx.now()))


def _states(tx: Transaction, which: ColumnElement[bool], limit: int) -> list[EndedState]:
    statement = (
        select(events.c.id, events.c.auction_id, auctions.c.gid, events.c.delivered_at)
        .join_from(events, auctions, events.c.auction_id == auctions.c.id)
        .where(STATE_KEPT, which)
        .order_by(events.c.delivered_at, events.c.id)
        .limit(limit)
    )
    return [EndedState(row.id, row.auction_id, row.gid, row.delivered_at) for row in tx.execute(statement)]
