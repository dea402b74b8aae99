"""Accepted requests by their Idempotency-Key, scoped to the user."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.storage.tables import idempotency
from saleroom.storage import bulk
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

KEPT = timedelta(hours=25)
"""The contract promises 24 hours; one more covers the sweep."""


class Kept(Struct, frozen=True):
    """An accepted request: a digest of what was asked, and the answer it got."""

    user_id: int
    key: str
    request: bytes
    answer: bytes


def find(tx: Transaction, keys: Iterable[tuple[int, str]]) -> dict[tuple[int, str], Kept]:
    """Return what was accepted under these (user, key) pairs."""
    wanted = set(keys)
    if not wanted:
        return {}
    kept = idempotency.c
    statement = select(kept.user_id, kept.key, kept.request, kept.answer).where(
        bulk.among_pairs(tx, (kept.user_id, kept.key), wanted)
    )
    return {
        (row.user_id, row.key): Kept(row.user_id, row.key, row.request, row.answer) for row in tx.execute(statement)
    }


def keep(tx: Transaction, kept: Iterable[Kept], now: datetime) -> None:
    """Remember accepted requests. Raises TryAgain where another transaction has just accepted one of the keys."""
    rows = [
        {"user_id": k.user_id, "key": k.key, "request": k.request, "answer": k.answer, "created_at": now} for k in kept
    ]
    try:
        bulk.insert(tx, idempotency, rows)
    except IntegrityError as error:
        raise TryAgain("an Idempotency-Key was accepted elsewhere meanwhile") from error


def sweep(tx: Transaction, now: datetime, limit: int) -> int:
    """Forget up to `limit` of what is older than `KEPT` and return how much it was."""
    old = select(idempotency.c.id).where(idempotency.c.created_at < now - KEPT).limit(limit)
    return tx.execute(delete(idempotency).where(idempotency.c.id.in_(old))).rowcount
