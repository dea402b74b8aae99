"""The states of aggregates that are over, which the broker retains for a while: their aggregates and times.

The time counts from the acknowledgement of the last event. Only the relay writes it, so no state is passed over, however
late an auction was closed or however long no broker could be reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, literal, select, tuple_, update

from saleroom.log.store import Log
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


class EndedState(Struct, frozen=True):
    """The state of an aggregate that is over; `id` is the number of its last event, `aggregate` its own."""

    id: int
    aggregate: int
    gid: str
    delivered_at: datetime


def overdue(tx: Transaction, log: Log, kept: timedelta, limit: int) -> list[EndedState]:
    """Return up to `limit` states that the broker has had for longer than `kept`, the oldest first."""
    return _states(tx, log, log.table.c.delivered_at <= tx.now() - kept, limit)


def fresh(tx: Transaction, log: Log, kept: timedelta, after: EndedState | None, limit: int) -> list[EndedState]:
    """Return up to `limit` states that the broker is to have, after `after`, the oldest first."""
    since, delivered_at = tx.now() - kept, log.table.c.delivered_at
    if after is None or after.delivered_at <= since:
        return _states(tx, log, delivered_at > since, limit)
    later = tuple_(delivered_at, log.table.c.id) > tuple_(
        literal(after.delivered_at, delivered_at.type), literal(after.id)
    )
    return _states(tx, log, and_(delivered_at >= after.delivered_at, later), limit)


def mark_cleared(tx: Transaction, log: Log, ids: Sequence[int]) -> None:
    """Note that the broker no longer retains these states."""
    tx.execute(update(log.table).where(bulk.among(tx, log.table.c.id, ids)).values(cleared_at=tx.now()))


def _states(tx: Transaction, log: Log, which: ColumnElement[bool], limit: int) -> list[EndedState]:
    c = log.table.c
    statement = (
        select(c.id, log.aggregate.label("aggregate"), log.gid, c.delivered_at)
        .select_from(log.source)
        .where(log.state_kept, which)
        .order_by(c.delivered_at, c.id)
        .limit(limit)
    )
    return [EndedState(row.id, row.aggregate, row.gid, row.delivered_at) for row in tx.execute(statement)]
