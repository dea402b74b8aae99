"""The heartbeat: when the house was last seen serving, by any of its processes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain
from saleroom.storage.tables import heartbeats

_NAME = "house"


def last(tx: Transaction) -> datetime | None:
    """Return when the house was last seen serving; None in a new house."""
    found: datetime | None = tx.execute(select(heartbeats.c.at).where(heartbeats.c.name == _NAME)).scalar_one_or_none()
    return found


def record(tx: Transaction) -> tuple[datetime | None, datetime]:
    """Record that the house serves now; return the heartbeat before (None in a new house) and the instant of this one.

    The row stays locked until the transaction ends, so that only one process finds a gap. The clock is read once it is locked,
    so a heartbeat is earlier than the one before only if the clock was set back. It is kept all the same (decision 121).
    """
    mine = heartbeats.c.name == _NAME
    before: datetime | None = tx.execute(select(heartbeats.c.at).where(mine).with_for_update()).scalar_one_or_none()
    now = tx.now()
    if before is None:
        try:
            tx.execute(insert(heartbeats), {"name": _NAME, "at": now})
        except IntegrityError as error:
            raise TryAgain("another process made the first heartbeat") from error
    else:
        tx.execute(update(heartbeats).where(mine).values(at=now))
    return before, now
