"""What is paid of documents, summed from the journal each time."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from saleroom.kernel.currency import decimals
from saleroom.kernel.instants import instant
from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.document_views import DocumentRowView, DocumentView, document_view, row_view
from saleroom.settlement.domain.document_words import method_words
from saleroom.settlement.domain.documents import CREDITABLE, Kind, Payment
from saleroom.settlement.domain.journal import Account, Book
from saleroom.settlement.domain.paying import Progress, progress
from saleroom.settlement.storage import documents, journal
from saleroom.settlement.storage.documents import Issued
from saleroom.storage.database import Transaction


def view_of(tx: Transaction, one: Issued) -> DocumentView:
    """Return a document as JSON has it, with what is paid of it by now."""
    [(_, paid)] = _with_progress(tx, [one])
    places = decimals(one.document.currency)
    return document_view(one.gid, one.document, instant(one.issued_at), one.digest, places, paid)


def rows_of(tx: Transaction, some: Iterable[Issued]) -> list[DocumentRowView]:
    """Return documents as lists have them, with what is paid of them by now."""
    return [row_view(one.gid, one.document, paid) for one, paid in _with_progress(tx, some)]


def account_of(one: Issued) -> Account | None:
    """Return the account of the journal that a document is about; None of nobody's."""
    owner = one.owner
    if owner.consignor_id is not None:
        return Account(Book.CONSIGNORS, owner.consignor_id)
    return None if owner.user_id is None else Account(Book.BUYERS, owner.user_id)


def paid_on(tx: Transaction, sale_id: int, account: Account) -> Decimal:
    """Return what was paid on an account in a sale: by a buyer, or to a consignor."""
    moved = sum((one.posting.amount for one in journal.money_on(tx, sale_id, account)), ZERO)
    return moved if account.book is Book.CONSIGNORS else -moved


def payments_on(tx: Transaction, sale_id: int, account: Account, language: str) -> list[Payment]:
    """Return the payments of a buyer as documents say them, the oldest first."""
    return [
        Payment(on=one.at.date(), amount=one.posting.amount, method=method_words(one.posting.account.book, language))
        for one in journal.money(tx, sale_id, account)
    ]


def invoiced(tx: Transaction, sale_id: int, account: Account) -> dict[int, Decimal]:
    """Return the totals of the invoices or statements of an account, the oldest first, without what was taken back."""
    found = _all(tx, sale_id, account)
    totals = {one.id: one.document.total for one in found if one.document.kind in CREDITABLE}
    for one in found:
        if one.document.kind is Kind.CREDIT_NOTE and one.credits_id in totals:
            totals[one.credits_id] -= one.document.total
    return totals


def of_account(tx: Transaction, sale_id: int, account: Account) -> list[DocumentRowView]:
    """Return the documents of a buyer or a consignor in a sale, the latest first."""
    return rows_of(tx, reversed(_all(tx, sale_id, account)))


def _with_progress(tx: Transaction, some: Iterable[Issued]) -> list[tuple[Issued, Progress | None]]:
    known: dict[tuple[int, Account], dict[int, Progress]] = {}
    found: list[tuple[Issued, Progress | None]] = []
    for one in some:
        account = account_of(one)
        if one.document.kind not in CREDITABLE or account is None:
            found.append((one, None))
            continue
        key = (one.owner.sale_id, account)
        if key not in known:
            totals = invoiced(tx, *key)
            known[key] = dict(zip(totals, progress([*totals.values()], paid_on(tx, *key)), strict=True))
        found.append((one, known[key].get(one.id)))
    return found


def _all(tx: Transaction, sale_id: int, account: Account) -> list[Issued]:
    is_consignor = account.book is Book.CONSIGNORS
    party = account.party
    return documents.of_account(tx, sale_id, **{"consignor" if is_consignor else "buyer": party})
