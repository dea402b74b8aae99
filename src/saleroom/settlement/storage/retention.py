"""Names and addresses that are older than the house keeps them, as rows: found a few at a time, and taken away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, delete, exists, or_, select, update

from saleroom.bidding.storage.tables import auctions
from saleroom.sales.domain.sale import SaleStatus
from saleroom.sales.storage.tables import consignors, lots, participants, sales
from saleroom.settlement.storage import bank
from saleroom.settlement.storage.bank_tables import bank_payments
from saleroom.settlement.storage.document_tables import documents
from saleroom.settlement.storage.online_tables import online_payments
from saleroom.settlement.storage.payout_tables import payment_files, payout_accounts, payout_reports, payouts
from saleroom.settlement.storage.tables import journal_entries
from saleroom.storage import bulk
from saleroom.storage.database import Transaction

_OVER = (SaleStatus.CLOSED.value, SaleStatus.CANCELLED.value)


def old_documents(tx: Transaction, before: datetime, most: int) -> Sequence[Row[Any]]:
    """Return documents that were issued before an instant and still name whom they are for, as rows."""
    which = select(documents).where(documents.c.issued_at < before, documents.c.forgotten_at.is_(None))
    return tx.execute(which.order_by(documents.c.id).limit(most)).all()


def keep_without_party(tx: Transaction, document_id: int, content: str, digest: str, now: datetime) -> None:
    """Keep of a document what is left of it. `digest` is that of the rest; its own one stays, as the next rests on it."""
    which = (documents.c.id == document_id, documents.c.forgotten_at.is_(None))
    tx.execute(update(documents).where(*which).values(content=content, rest_digest=digest, forgotten_at=now))


def forget_payers(tx: Transaction, before: datetime, most: int) -> int:
    """Take from payments of the bank who paid and what they said; return from how many."""
    named = or_(bank_payments.c.payer != "", bank_payments.c.said != "")
    old = select(bank_payments.c.id).where(bank_payments.c.imported_at < before, named).limit(most)
    numbers = [*tx.execute(old).scalars()]
    tx.execute(update(bank_payments).where(bulk.among(tx, bank_payments.c.id, numbers)).values(payer="", said=""))
    bank.reseal(tx, numbers)
    return len(numbers)


def forget_unpaid(tx: Transaction, before: datetime, most: int) -> int:
    """Delete payments by card online that were begun and never paid; return how many."""
    which = (online_payments.c.asked_at < before, online_payments.c.entry_id.is_(None))
    old = select(online_payments.c.id).where(*which, online_payments.c.look_at.is_(None)).limit(most)
    return tx.execute(delete(online_payments).where(online_payments.c.id.in_(old))).rowcount


def forget_participants(tx: Transaction, before: datetime, most: int) -> int:
    """Take name, contact and reason from those who were registered for old sales; return from how many."""
    said = (participants.c.name, participants.c.contact, participants.c.reason)
    which = or_(*[one != "" for one in said]), participants.c.sale_id.in_(_old_sales(before))
    old = select(participants.c.id).where(*which).limit(most)
    nothing = {one.name: "" for one in said}
    return tx.execute(update(participants).where(participants.c.id.in_(old)).values(nothing)).rowcount


def forget_consignors(tx: Transaction, before: datetime, most: int) -> int:
    """Leave of consignors the code alone if all their sales are old; return of how many."""
    named = or_(consignors.c.name != consignors.c.code, consignors.c.contact != "")
    old = _old_consignors(before).where(named).limit(most)
    nobody = {"name": consignors.c.code, "contact": ""}
    return tx.execute(update(consignors).where(consignors.c.id.in_(old)).values(nobody)).rowcount


def forget_accounts(tx: Transaction, before: datetime, most: int) -> int:
    """Delete the bank accounts of consignors all of whose sales are old; return how many."""
    theirs = payout_accounts.c.consignor_id.in_(_old_consignors(before))
    old = select(payout_accounts.c.consignor_id).where(payout_accounts.c.changed_at < before, theirs).limit(most)
    return tx.execute(delete(payout_accounts).where(payout_accounts.c.consignor_id.in_(old))).rowcount


def forget_payment_files(tx: Transaction, before: datetime, most: int) -> int:
    """Delete what old payment files say, which names holders and accounts; return of how many. Amounts and digests stay.

    The words of banks about their payouts go too.
    """
    which = (payment_files.c.made_at < before, payment_files.c.forgotten_at.is_(None))
    old = select(payment_files.c.id).where(*which).limit(most)
    numbers = [*tx.execute(old).scalars()]
    theirs = select(payouts.c.id).where(bulk.among(tx, payouts.c.file_id, numbers))
    tx.execute(update(payout_reports).where(payout_reports.c.payout_id.in_(theirs)).values(said=""))
    gone = {"content": "", "forgotten_at": tx.now()}
    return tx.execute(update(payment_files).where(bulk.among(tx, payment_files.c.id, numbers)).values(gone)).rowcount


def _old_consignors(before: datetime) -> Select[tuple[int]]:
    """Return the consignors all of whose sales and statements are older than an instant."""
    theirs = lots.c.consignor_id == consignors.c.id
    recent = exists().where(theirs, lots.c.sale_id.not_in(_old_sales(before)))
    stated = exists().where(documents.c.consignor_id == consignors.c.id, documents.c.issued_at >= before)
    return select(consignors.c.id).where(consignors.c.created_at < before, ~recent, ~stated)


def _old_sales(before: datetime) -> Select[tuple[int]]:
    """Return the sales that are over and in which nothing has happened since an instant."""

    def none(*which: ColumnElement[bool]) -> ColumnElement[bool]:
        return ~exists().where(*which)

    return select(sales.c.id).where(
        sales.c.status.in_(_OVER),
        sales.c.created_at < before,
        none(auctions.c.sale_id == sales.c.id, auctions.c.ends_at >= before),
        none(participants.c.sale_id == sales.c.id, participants.c.registered_at >= before),
        none(journal_entries.c.sale_id == sales.c.id, journal_entries.c.at >= before),
        none(documents.c.sale_id == sales.c.id, documents.c.issued_at >= before),
    )
