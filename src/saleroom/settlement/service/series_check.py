"""Rows checked that are never deleted: rates, payments of the bank, what banks said, reminders, pick-ups and offers."""

from __future__ import annotations

from collections.abc import Iterator

from saleroom.settlement.storage import bank, series
from saleroom.storage.database import Transaction


def row_faults(tx: Transaction) -> Iterator[str]:
    """Yield the tables of which a row was changed, added or deleted, and payments of the bank with another outcome."""
    for name in series.broken(tx):
        yield f"table {name}: a row was changed, added or deleted"
    yield from (f"payment of the bank {number}: what became of it was changed" for number in bank.changed(tx))
