"""The series of rows: tables of which no row is ever deleted, each with the digest of all that never changes in its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

from sqlalchemy import Boolean, Column, Table, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from saleroom.kernel.instants import instant
from saleroom.settlement.storage.bank_tables import bank_payments
from saleroom.settlement.storage.offer_tables import offers
from saleroom.settlement.storage.online_tables import online_refunds
from saleroom.settlement.storage.payout_tables import payout_reports
from saleroom.settlement.storage.pickup_tables import pickups
from saleroom.settlement.storage.reminder_tables import reminders
from saleroom.settlement.storage.series_tables import row_series
from saleroom.settlement.storage.tables import rate_card_versions, rate_cards, rate_choices
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction

CHANGING: Mapping[Table, frozenset[str]] = {
    rate_cards: frozenset(),
    rate_card_versions: frozenset(),
    rate_choices: frozenset(),
    bank_payments: frozenset({"payer", "said", "entry_id", "reason", "seal"}),
    payout_reports: frozenset({"said", "checked_at", "checked_by_id", "seal"}),
    reminders: frozenset(),
    pickups: frozenset({"undone_at", "undone_by_id"}),
    offers: frozenset({"user_id", "settled", "settled_at"}),
    online_refunds: frozenset({"state", "refund", "entry_id", "back_entry_id", "reason"}),
}
"""The tables in a series, each with its columns that may change later. The migration 0071 writes the first series."""


def add(tx: Transaction, table: Table, row: dict[str, Any]) -> int:
    """Store a row of a table in its series, and return its number. Raises IntegrityError as the table does."""
    begin(tx, table)
    number = int(tx.execute(insert(table).returning(table.c.id), row).scalar_one())
    follow(tx, table, [number])
    return number


def begin(tx: Transaction, table: Table) -> None:
    """Lock the series of a table, before rows are added to it."""
    own = (postgresql if tx.dialect == "postgresql" else sqlite).insert(row_series)
    first = own.values(of=table.name, rows=0, digest="").on_conflict_do_nothing(index_elements=["of"])
    tx.execute(first)
    tx.execute(select(row_series.c.of).where(row_series.c.of == table.name).with_for_update())


def follow(tx: Transaction, table: Table, numbers: Collection[int]) -> None:
    """Have the series of a table, which is locked, go on to these rows that were added."""
    if not numbers:
        return
    last = tx.execute(select(row_series).where(row_series.c.of == table.name)).one()
    digest, columns = last.digest, _columns(table)
    for row in tx.execute(select(*columns).where(among(tx, table.c.id, numbers)).order_by(table.c.id)):
        digest = _digest(digest, _facts(row, columns))
    noted = {"rows": last.rows + len(numbers), "digest": digest}
    tx.execute(update(row_series).where(row_series.c.of == table.name).values(noted))


def broken(tx: Transaction) -> Iterator[str]:
    """Yield the names of the tables whose rows are not those of their series: one was changed, added or deleted."""
    noted = {row.of: (row.rows, row.digest) for row in tx.execute(select(row_series))}
    for table in CHANGING:
        columns, count, digest = _columns(table), 0, ""
        for row in tx.execute(select(*columns).order_by(table.c.id)):
            count, digest = count + 1, _digest(digest, _facts(row, columns))
        if noted.pop(table.name, (0, "")) != (count, digest):
            yield table.name
    yield from noted


def _columns(table: Table) -> list[Column[Any]]:
    return [column for column in table.c if column.name not in CHANGING[table]]


def _facts(row: Sequence[Any], columns: Sequence[Column[Any]]) -> str:
    """Return what these columns of a row say, on both databases the same."""
    return "\x1f".join(map(_fact, row, columns))


def _fact(value: Any, column: Column[Any]) -> str:
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, Decimal):
        return f"{value:.3f}"
    return str(bool(value)) if isinstance(column.type, Boolean) else str(value)


def _digest(before: str, facts: str) -> str:
    """Return the digest of a series up to a row."""
    return sha256(f"{before}\n{facts}".encode("utf-8", "surrogatepass")).hexdigest()
