"""Places in logs: how far a reader has come that must read each event exactly once, kept by the transaction that uses it."""

from __future__ import annotations

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from saleroom.outbox.tables import log_places
from saleroom.storage.database import Transaction


def find(tx: Transaction, name: str) -> int | None:
    """Return the number of the last event that the reader `name` has used; None if it has never read."""
    found: int | None = tx.execute(select(log_places.c.number).where(log_places.c.name == name)).scalar_one_or_none()
    return found


def begin(tx: Transaction, name: str, number: int) -> None:
    """Store the place from which a new reader begins, unless another process has done so."""
    try:
        with tx.connection.begin_nested():
            tx.execute(insert(log_places), {"name": name, "number": number})
    except IntegrityError:
        if find(tx, name) is None:
            raise


def move(tx: Transaction, name: str, before: int, after: int) -> bool:
    """Move a reader on from one place to another; False if it is elsewhere, because another process has moved it.

    Whatever follows from the events between the two is written by the same transaction, so that it is written once.
    """
    mine = update(log_places).where(log_places.c.name == name, log_places.c.number == before)
    return tx.execute(mine.values(number=after)).rowcount == 1
