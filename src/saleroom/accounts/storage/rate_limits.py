"""Counts of what an address may do only so often, as rows, which all processes of a house share.

A key is a digest: no row says who failed to log in, or from where.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from datetime import datetime

from msgspec import Struct
from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from saleroom.accounts.storage.tables import rate_limits
from saleroom.storage.database import Transaction, ranked
from saleroom.storage.turns import Rank

ROWS_MAX = 500_000
"""More rows than a house needs: beyond it those that end first are deleted, so that strangers cannot fill the disk."""
_KEY_CHARACTERS = 32


class Count(Struct, frozen=True):
    """A count, and an instant that belongs to it."""

    count: int
    at: datetime


def digest(*parts: str) -> str:
    """Return the key for these parts, however long they are."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_CHARACTERS]


def find(tx: Transaction, keys: Collection[str]) -> dict[str, Count]:
    """Return the counts of these keys, as far as there are any."""
    columns = rate_limits.c
    found = select(columns.key, columns.count.label("number"), columns.at).where(columns.key.in_(keys))
    return {row.key: Count(row.number, row.at) for row in tx.execute(found)}


def lock(tx: Transaction, key: str, now: datetime | None = None) -> None:
    """Lock a count until the transaction ends. If there is none and `now` is given, it begins at 0."""
    if now is not None:
        row = {"key": key, "count": 0, "at": now, "kept_until": now}
        insert = sqlite_insert if tx.dialect == "sqlite" else postgresql_insert
        tx.execute(insert(rate_limits).on_conflict_do_nothing(index_elements=["key"]), row)
    tx.execute(select(rate_limits.c.key).where(rate_limits.c.key == key).with_for_update())


def put(tx: Transaction, key: str, count: Count, *, until: datetime) -> None:
    """Store a count, which is of no use after `until`."""
    row = {"key": key, "count": count.count, "at": count.at, "kept_until": until}
    insert = sqlite_insert if tx.dialect == "sqlite" else postgresql_insert
    tx.execute(insert(rate_limits).on_conflict_do_update(index_elements=["key"], set_=row), row)


def forget(tx: Transaction, key: str) -> None:
    """Delete a count."""
    tx.execute(delete(rate_limits).where(rate_limits.c.key == key))


@ranked(Rank.COSTLY)
def overflow(tx: Transaction) -> datetime | None:
    """Return up to when counts must go so that `ROWS_MAX` are left; None if there are not more."""
    last = select(rate_limits.c.kept_until).order_by(rate_limits.c.kept_until.desc()).offset(ROWS_MAX).limit(1)
    found: datetime | None = tx.execute(last).scalar_one_or_none()
    return found


def sweep(tx: Transaction, until: datetime, limit: int) -> int:
    """Delete up to `limit` counts that are kept until `until` or less, and return their number."""
    old = select(rate_limits.c.key).where(rate_limits.c.kept_until <= until).limit(limit)
    return tx.execute(delete(rate_limits).where(rate_limits.c.key.in_(old))).rowcount
