"""The outage whose effect on the auctions is being put right, some of them in each transaction."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import delete, insert, select, update

from saleroom.storage.database import Transaction
from saleroom.storage.tables import outages

_NAME = "house"
_FIRST = datetime(1, 1, 1, tzinfo=UTC)


class Outage(Struct, frozen=True):
    """An outage from `began` to `noticed`; the auctions that are due up to (`reached`, `reached_id`) are done."""

    began: datetime
    noticed: datetime
    reached: datetime = _FIRST
    reached_id: int = 0


def begin(tx: Transaction, began: datetime, noticed: datetime) -> Outage:
    """Record an outage, which takes in one that is still under way. Call it under the lock of the heartbeat."""
    before = under_way(tx)
    outage = Outage(began if before is None else min(began, before.began), noticed)
    end(tx)
    tx.execute(insert(outages), {"name": _NAME, **asdict(outage)})
    return outage


def under_way(tx: Transaction) -> Outage | None:
    """Return the outage that is not put right yet; None if there is none."""
    row = tx.execute(select(outages)).first()
    return None if row is None else Outage(row.began, row.noticed, row.reached, row.reached_id)


def reach(tx: Transaction, outage: Outage) -> None:
    """Record how far the work has come."""
    tx.execute(update(outages).values(asdict(outage)))


def end(tx: Transaction) -> None:
    """Record that all is put right."""
    tx.execute(delete(outages))
