"""Leases: only one process at a time does a task, and another one takes over when the holder stops renewing.

A row with an expiry works on both databases and through a connection pooler; a session's advisory lock does not.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from saleroom.storage.database import Transaction
from saleroom.storage.tables import leases


def hold(tx: Transaction, name: str, holder: str, seconds: int) -> bool:
    """Take or renew the lease `name` for `seconds`; False while another holder has it."""
    now = tx.now()
    until = {"holder": holder, "expires_at": now + timedelta(seconds=seconds)}
    free = or_(leases.c.holder == holder, leases.c.expires_at <= now)
    if tx.execute(update(leases).where(leases.c.name == name, free).values(until)).rowcount:
        return True
    if tx.execute(select(leases.c.name).where(leases.c.name == name)).first() is not None:
        return False
    try:
        with tx.connection.begin_nested():
            tx.execute(insert(leases), {"name": name, **until})
    except IntegrityError:
        return False
    return True


def release(tx: Transaction, name: str, holder: str) -> None:
    """Give the lease back, if `holder` has it."""
    tx.execute(delete(leases).where(leases.c.name == name, leases.c.holder == holder))
