"""Payments by card online and their refunds, as rows: each of the provider's once."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, Select, insert, or_, select, update

from saleroom.kernel.identifiers import GID_BYTES
from saleroom.kernel.money import ZERO
from saleroom.sales.storage import mergers
from saleroom.settlement.domain.journal import Account, Book, Method, Posting, of_money
from saleroom.settlement.domain.online.card_payments import UNDER_WAY, Dispute, OnlineState, RefundState
from saleroom.settlement.storage import series
from saleroom.settlement.storage.document_tables import documents
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.settlement.storage.online_tables import online_payments, online_refunds
from saleroom.storage import bulk
from saleroom.storage.database import Note, Transaction

DUE: Note[int] = Note()
"""Payments that are to be looked at soon, by number."""


class OnlinePayment(Struct, frozen=True, kw_only=True):
    """A payment as the store keeps it, with the document that it is for and its sale."""

    id: int
    gid: str
    document_id: int
    document: str
    sale_id: int
    user_id: int
    amount: Decimal
    currency: str
    state: OnlineState
    asked_at: datetime
    expires_at: datetime
    changed_at: datetime
    look_at: datetime | None
    session: str | None
    intent: str | None
    received: Decimal | None
    entry_id: int | None
    dispute: Dispute | None
    dispute_entry_id: int | None
    trouble: str | None


class OnlineRefund(Struct, frozen=True, kw_only=True):
    """A refund as the store keeps it."""

    id: int
    gid: str
    payment_id: int
    amount: Decimal
    state: RefundState
    asked_at: datetime
    by_id: int | None
    refund: str | None
    entry_id: int | None
    back_entry_id: int | None
    reason: str | None


def add(tx: Transaction, invoice: StoredDocument, user_id: int, amount: Decimal, expires_at: datetime) -> OnlinePayment:
    """Store a payment that the provider is asked for next, and return it."""
    now = tx.now()
    row = {
        "gid": secrets.token_urlsafe(GID_BYTES), "document_id": invoice.id, "user_id": user_id, "amount": amount,
        "currency": invoice.document.currency, "state": OnlineState.ASKED.value, "asked_at": now, "changed_at": now,
        "expires_at": expires_at, "look_at": expires_at,
    }  # fmt: skip
    number = tx.execute(insert(online_payments).returning(online_payments.c.id), row).scalar_one()
    return get(tx, int(number))


def get(tx: Transaction, number: int, *, locked: bool = False) -> OnlinePayment:
    """Return a payment by its number, perhaps locked until the transaction ends."""
    found = _ROWS.where(online_payments.c.id == number)
    return _payment(tx.execute(found.with_for_update(of=online_payments) if locked else found).one())


def of_document(tx: Transaction, document_id: int) -> list[OnlinePayment]:
    """Return the payments for a document, the latest first."""
    return _payments(
        tx, _ROWS.where(online_payments.c.document_id == document_id).order_by(online_payments.c.id.desc())
    )


def of_buyer(tx: Transaction, sale_id: int, user_id: int) -> list[OnlinePayment]:
    """Return the payments of a buyer in a sale that were posted, the latest first."""
    which = (
        documents.c.sale_id == sale_id,
        mergers.is_theirs(user_id, online_payments.c.user_id, documents.c.sale_id),
        online_payments.c.entry_id.is_not(None),
    )
    return _payments(tx, _ROWS.where(*which).order_by(online_payments.c.id.desc()))


def newest(tx: Transaction, limit: int, before: int | None = None) -> list[OnlinePayment]:
    """Return payments, the newest first, before this number."""
    found = _ROWS if before is None else _ROWS.where(online_payments.c.id < before)
    return _payments(tx, found.order_by(online_payments.c.id.desc()).limit(limit))


def named(tx: Transaction, *, gid: str | None, session: str | None, intent: str | None) -> int | None:
    """Return the number of the payment that a callback names."""
    names = ((online_payments.c.gid, gid), (online_payments.c.session, session), (online_payments.c.intent, intent))
    given = [column == name for column, name in names if name]
    if not given:
        return None
    found = select(online_payments.c.id).where(or_(*given)).order_by(online_payments.c.id)
    return tx.execute(found.limit(1)).scalar()


def due(tx: Transaction, limit: int) -> list[OnlinePayment]:
    """Return the payments that are to be looked at now, locked, those first that have waited longest."""
    found = _ROWS.where(online_payments.c.look_at <= tx.now()).order_by(online_payments.c.look_at)
    # Those that somebody changes just now come in the next round: waiting for them could lock up.
    return _payments(tx, found.limit(limit).with_for_update(of=online_payments, skip_locked=True))


def is_due(tx: Transaction) -> bool:
    """Return whether a payment is to be looked at now."""
    found = select(online_payments.c.id).where(online_payments.c.look_at <= tx.now())
    return tx.execute(found.limit(1)).first() is not None


def change(tx: Transaction, number: int, **values: Any) -> None:
    """Change columns of a payment."""
    tx.execute(update(online_payments).where(online_payments.c.id == number).values(values))


def look_soon(tx: Transaction, number: int) -> None:
    """Have a payment looked at as soon as can be."""
    change(tx, number, look_at=tx.now())
    tx.note(DUE, (number,))


def refunds(tx: Transaction, numbers: Collection[int]) -> dict[int, list[OnlineRefund]]:
    """Return the refunds of payments by the numbers of these, the oldest first."""
    found: dict[int, list[OnlineRefund]] = {number: [] for number in numbers}
    if numbers:
        which = bulk.among(tx, online_refunds.c.payment_id, numbers)
        for row in tx.execute(select(online_refunds).where(which).order_by(online_refunds.c.id)):
            found[row.payment_id].append(_refund(row))
    return found


def add_refund(
    tx: Transaction, payment_id: int, amount: Decimal, by_id: int | None, refund: str | None = None
) -> OnlineRefund:
    """Store a refund, and return it."""
    row = {
        "gid": secrets.token_urlsafe(GID_BYTES), "payment_id": payment_id, "amount": amount,
        "state": RefundState.ASKED.value, "asked_at": tx.now(), "by_id": by_id, "refund": refund,
    }  # fmt: skip
    number = series.add(tx, online_refunds, row)
    return _refund(tx.execute(select(online_refunds).where(online_refunds.c.id == number)).one())


def change_refund(tx: Transaction, number: int, **values: Any) -> None:
    """Change columns of a refund."""
    tx.execute(update(online_refunds).where(online_refunds.c.id == number).values(values))


def under_way(tx: Transaction, sale_id: int, user_id: int) -> Decimal:
    """Return how much of a buyer's payments in a sale is being paid back, and not posted yet."""
    found = (
        select(online_refunds.c.amount)
        .join_from(online_refunds, online_payments, online_payments.c.id == online_refunds.c.payment_id)
        .join(documents, documents.c.id == online_payments.c.document_id)
        .where(
            documents.c.sale_id == sale_id,
            mergers.is_theirs(user_id, online_payments.c.user_id, documents.c.sale_id),
            online_refunds.c.state.in_([one.value for one in UNDER_WAY]),
        )
    )
    return sum(tx.execute(found).scalars(), ZERO)  # SQLite keeps amounts as text, and cannot add them


def posted(tx: Transaction) -> Iterator[tuple[int, tuple[Posting, ...]]]:
    """Yield the entries that were posted of payments, refunds and lost disputes, by number, with what each must move.

    A row that lacks an amount, which the house never writes, moves nothing.
    """
    for row in tx.execute(select(online_payments).where(online_payments.c.entry_id.is_not(None))):
        yield row.entry_id, _moves(row.user_id, row.received or ZERO)
        if row.dispute_entry_id is not None:
            yield row.dispute_entry_id, _moves(row.user_id, -(row.disputed or ZERO))
    back = select(online_refunds, online_payments.c.user_id).join_from(
        online_refunds, online_payments, online_payments.c.id == online_refunds.c.payment_id
    )
    for row in tx.execute(back):
        if row.entry_id is not None:
            yield row.entry_id, _moves(row.user_id, -row.amount)
        if row.back_entry_id is not None:
            yield row.back_entry_id, _moves(row.user_id, row.amount)


def _moves(user_id: int, amount: Decimal) -> tuple[Posting, ...]:
    return of_money(Account(Book.BUYERS, user_id), Method.ONLINE, amount)


_ROWS: Select[Any] = select(
    online_payments, documents.c.gid.label("document"), documents.c.sale_id.label("sale_id")
).join_from(online_payments, documents, documents.c.id == online_payments.c.document_id)
_PLAIN = ("id", "gid", "document_id", "document", "sale_id", "user_id", "amount", "currency", "asked_at", "expires_at")
_MORE = ("changed_at", "look_at", "session", "intent", "received", "entry_id", "dispute_entry_id", "trouble")


def _payments(tx: Transaction, found: Select[Any]) -> list[OnlinePayment]:
    return [_payment(row) for row in tx.execute(found)]


def _payment(row: Row[Any]) -> OnlinePayment:
    values = {name: getattr(row, name) for name in (*_PLAIN, *_MORE)}
    dispute = None if row.dispute is None else Dispute(row.dispute)
    return OnlinePayment(state=OnlineState(row.state), dispute=dispute, **values)


def _refund(row: Row[Any]) -> OnlineRefund:
    return OnlineRefund(
        id=row.id,
        gid=row.gid,
        payment_id=row.payment_id,
        amount=row.amount,
        state=RefundState(row.state),
        asked_at=row.asked_at,
        by_id=row.by_id,
        refund=row.refund,
        entry_id=row.entry_id,
        back_entry_id=row.back_entry_id,
        reason=row.reason,
    )
