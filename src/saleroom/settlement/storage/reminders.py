"""Reminders as rows, and who owes something."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from decimal import Decimal

from sqlalchemy import func, select

from saleroom.kernel.money import ZERO
from saleroom.sales.storage import mergers
from saleroom.sales.storage.tables import mergers as merger_rows
from saleroom.settlement.domain.journal import Book
from saleroom.settlement.storage import series
from saleroom.settlement.storage.reminder_tables import reminders
from saleroom.settlement.storage.tables import journal_entries, journal_postings
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


def debtors(tx: Transaction, sale_ids: Collection[int] | None = None) -> dict[tuple[int, int], Decimal]:
    """Return what buyers owe by the journal, by the numbers of the sale and the user; those who owe nothing are left out.

    Of some sales, or of all.
    """
    who = mergers.whose(journal_postings.c.user_id)
    which = (journal_entries.c.sale_id, journal_postings.c.amount, journal_postings.c.debit)
    found = (
        select(*which, who, func.count().label("times"))
        .join_from(journal_postings, journal_entries, journal_entries.c.id == journal_postings.c.entry_id)
        .outerjoin(merger_rows, mergers.joined(journal_postings.c.user_id, journal_entries.c.sale_id))
        .where(journal_postings.c.book == Book.BUYERS.value)
        .group_by(*which, who)
    )
    if sale_ids is not None:
        found = found.where(bulk.among(tx, journal_entries.c.sale_id, sale_ids))
    owed: dict[tuple[int, int], Decimal] = {}
    for row in tx.execute(found):  # not summed by the database: SQLite has no exact decimals
        moved = row.amount * row.times
        pair = (row.sale_id, row.party_id)
        owed[pair] = owed.get(pair, ZERO) + (moved if row.debit else -moved)
    return {pair: amount for pair, amount in owed.items() if amount > ZERO}


def done(tx: Transaction, document_ids: Collection[int]) -> dict[int, list[datetime]]:
    """Return when the steps about invoices were done, the first one first, by the number of the invoice."""
    found: dict[int, list[datetime]] = {}
    which = select(reminders).where(bulk.among(tx, reminders.c.document_id, document_ids))
    for row in tx.execute(which.order_by(reminders.c.document_id, reminders.c.level)):
        found.setdefault(row.document_id, []).append(row.at)
    return found


def add(tx: Transaction, document_id: int, level: int, by_id: int | None) -> None:
    """Store that a step was done. Raises IntegrityError if it was done before."""
    row = {"document_id": document_id, "level": level, "at": tx.now(), "by_id": by_id}
    series.add(tx, reminders, row)
