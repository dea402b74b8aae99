"""Accepted requests by user and Idempotency-Key."""

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

RETENTION = timedelta(hours=25)
"""The API promises 24 hours; the sweep may come an hour late."""


class AcceptedRequest(Struct, frozen=True):
    """An accepted request: its digest and its answer, by user and key."""

    user_id: int
    key: str
    request: bytes
    answer: bytes


def find(tx: Transaction, keys: Iterable[tuple[int, str]]) -> dict[tuple[int, str], AcceptedRequest]:
    """Return the requests accepted under these pairs of user and key.

    PostgreSQL also shows what a standby still lacks, and a failover takes away. A lock makes this transaction one that writes,
    so its commit waits until the standby has what was found here.
    """
    wanted = set(keys)
    if not wanted:
        return {}
    columns = idempotency.c
    statement = select(columns.user_id, columns.key, columns.request, columns.answer).where(
        bulk.among_pairs(tx, (columns.user_id, columns.key), wanted)
    )
    return {
        (row.user_id, row.key): AcceptedRequest(row.user_id, row.key, row.request, row.answer)
        for row in tx.execute(statement.with_for_update(read=True, key_share=True))
    }


def add(tx: Transaction, accepted: Iterable[AcceptedRequest], now: datetime) -> None:
    """Store accepted requests. Raises TryAgain if another transaction has just accepted one of the keys."""
    rows = [
        {"user_id": one.user_id, "key": one.key, "request": one.request, "answer": one.answer, "created_at": now}
        for one in accepted
    ]
    try:
        bulk.insert(tx, idempotency, rows)
    except IntegrityError as error:
        raise TryAgain("another transaction has just accepted an Idempotency-Key") from error


def sweep(tx: Transaction, now: datetime, limit: int) -> int:
    """Delete up to `limit` requests older than `RETENTION` and return their number."""
    old = select(idempotency.c.id).where(idempotency.c.created_at < now - RETENTION).limit(limit)
    return tx.execute(delete(idempotency).where(idempotency.c.id.in_(old))).rowcount
