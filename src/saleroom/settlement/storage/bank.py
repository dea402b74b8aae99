"""Money from the bank as rows: each payment once, whatever file it comes in."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, select, update
from sqlalchemy.dialects import postgresql, sqlite

from saleroom.kernel.identifiers import GID_BYTES
from saleroom.sales.storage.tables import sales
from saleroom.settlement.domain.bank.banking import BankPayment
from saleroom.settlement.domain.bank.status_reports import seal_of
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.storage import series
from saleroom.settlement.storage.bank_tables import bank_payments
from saleroom.settlement.storage.document_tables import documents
from saleroom.settlement.storage.documents import ROWS, StoredDocument, issued_of
from saleroom.settlement.storage.tables import journal_entries
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


class StoredPayment(Struct, frozen=True, kw_only=True):
    """A payment as the store keeps it. `sale` is the gid of the sale that it was taken for."""

    id: int
    gid: str
    on: date
    amount: Decimal
    currency: str
    payer: str
    said: str
    entry_id: int | None
    reason: str | None
    sale: str | None = None

    @property
    def waits(self) -> bool:
        """Whether nobody has decided about it."""
        return self.entry_id is None and self.reason is None


def add(tx: Transaction, payments: Sequence[tuple[str, BankPayment]], by_id: int) -> dict[str, tuple[int, str]]:
    """Store those payments that are new, by their digests; return the number and the gid of each."""
    own = (postgresql if tx.dialect == "postgresql" else sqlite).insert(bank_payments)
    once = own.on_conflict_do_nothing(index_elements=["digest"])
    found = dict[str, tuple[int, str]]()
    series.begin(tx, bank_payments)
    for digest, one in payments:
        row = {
            "gid": secrets.token_urlsafe(GID_BYTES), "digest": digest, "booked_on": one.on.isoformat(), "amount": one.amount,
            "currency": one.currency, "payer": one.payer, "said": one.text, "imported_at": tx.now(), "by_id": by_id,
            "seal": "",
        }  # fmt: skip
        made = tx.execute(once.returning(bank_payments.c.id, bank_payments.c.gid), row).first()
        if made is not None:
            found[digest] = (int(made.id), str(made.gid))
    numbers = [number for number, _ in found.values()]
    series.follow(tx, bank_payments, numbers)
    reseal(tx, numbers)
    return found


def find(tx: Transaction, gid: str, *, locked: bool = False) -> StoredPayment | None:
    """Return a payment, perhaps locked until the transaction ends."""
    found = _ROWS.where(bank_payments.c.gid == gid)
    row = tx.execute(found.with_for_update(of=bank_payments) if locked else found).first()
    return None if row is None else _received(row)


def newest(tx: Transaction, *, waiting: bool, before: int | None, limit: int) -> list[StoredPayment]:
    """Return payments, the newest first, before this number; only those that wait for a person, or only the others."""
    waits = bank_payments.c.entry_id.is_(None) & bank_payments.c.reason.is_(None)
    found = _ROWS.where(waits if waiting else ~waits)
    found = found if before is None else found.where(bank_payments.c.id < before)
    return [_received(row) for row in tx.execute(found.order_by(bank_payments.c.id.desc()).limit(limit))]


def settle(tx: Transaction, number: int, *, entry_id: int | None = None, reason: str | None = None) -> None:
    """Note what became of a payment."""
    tx.execute(update(bank_payments).where(bank_payments.c.id == number).values(entry_id=entry_id, reason=reason))
    reseal(tx, [number])


def reseal(tx: Transaction, numbers: Collection[int]) -> None:
    """Give payments that were changed the digest of what they say now."""
    if not numbers:
        return
    for row in tx.execute(select(bank_payments).where(bulk.among(tx, bank_payments.c.id, numbers))).all():
        tx.execute(update(bank_payments).where(bank_payments.c.id == row.id).values(seal=_seal_of(row)))


def changed(tx: Transaction) -> list[int]:
    """Return the numbers of payments that do not have their digest: what became of them, or who paid, was changed."""
    rows = tx.execute(select(bank_payments).order_by(bank_payments.c.id))
    return [row.id for row in rows if row.seal != _seal_of(row)]


def _seal_of(row: Row[Any]) -> str:
    """Return the digest of what may change in a payment. The migration 0071 writes it as well."""
    return seal_of(row.digest, [str(one) for one in (row.id, row.payer, row.said, row.entry_id, row.reason)])


def invoices(tx: Transaction, numbers: Collection[str]) -> dict[str, StoredDocument]:
    """Return the invoices with these numbers, such as INV-2026-00012."""
    places = [(int(year), int(place)) for _, year, place in (one.split("-") for one in numbers)]
    if not places:
        return {}
    which = (
        documents.c.kind == DocumentKind.INVOICE.value,
        bulk.among_pairs(tx, (documents.c.year, documents.c.place), places),
    )
    return {(one := issued_of(row)).document.number: one for row in tx.execute(ROWS.where(*which))}


def newest_invoices(tx: Transaction, limit: int) -> list[StoredDocument]:
    """Return the invoices that were issued last, the newest first."""
    found = ROWS.where(documents.c.kind == DocumentKind.INVOICE.value).order_by(documents.c.id.desc())
    return [issued_of(row) for row in tx.execute(found.limit(limit))]


_ROWS = (
    select(bank_payments, sales.c.gid.label("sale"))
    .outerjoin_from(bank_payments, journal_entries, journal_entries.c.id == bank_payments.c.entry_id)
    .outerjoin(sales, sales.c.id == journal_entries.c.sale_id)
)


def _received(row: Row[Any]) -> StoredPayment:
    return StoredPayment(
        id=row.id,
        gid=row.gid,
        on=date.fromisoformat(row.booked_on),
        amount=row.amount,
        currency=row.currency,
        payer=row.payer,
        said=row.said,
        entry_id=row.entry_id,
        reason=row.reason,
        sale=row.sale,
    )
