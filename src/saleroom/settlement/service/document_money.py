"""What is paid of documents, summed from the journal each time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal

from saleroom.kernel.currency import decimals
from saleroom.kernel.instants import instant
from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.documents.content import CREDITABLE, DocumentKind, Payment
from saleroom.settlement.domain.documents.document_views import DocumentRowView, DocumentView, document_view, row_view
from saleroom.settlement.domain.documents.document_words import method_words
from saleroom.settlement.domain.documents.paying import Progress, progress
from saleroom.settlement.domain.journal import Account, Book
from saleroom.settlement.service.fitting import invoices_to_credit
from saleroom.settlement.storage import documents, journal
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.storage.database import Transaction

Key = tuple[int, Account]
"""An account in a sale, which is named by its number."""


def view_of(tx: Transaction, one: StoredDocument) -> DocumentView:
    """Return a document as JSON has it, with what is paid of it by now."""
    return views_of(tx, [one])[0]


def views_of(tx: Transaction, some: Sequence[StoredDocument]) -> list[DocumentView]:
    """Return documents as JSON has them, with what is paid of them by now."""
    return [
        document_view(one.gid, one.document, instant(one.issued_at), one.digest, decimals(one.document.currency), paid)
        for one, paid in _with_progress(tx, some)
    ]


def rows_of(tx: Transaction, some: Sequence[StoredDocument]) -> list[DocumentRowView]:
    """Return documents as lists have them, with what is paid of them by now."""
    return [row_view(one.gid, one.document, paid) for one, paid in _with_progress(tx, some)]


def row_of(tx: Transaction, one: StoredDocument) -> DocumentRowView:
    """Return a document as lists have it, with what is paid of it by now."""
    return rows_of(tx, [one])[0]


def account_of(one: StoredDocument) -> Account | None:
    """Return the account of the journal that a document is about; None of nobody's."""
    owner = one.owner
    if owner.consignor_id is not None:
        return Account(Book.CONSIGNORS, owner.consignor_id)
    return None if owner.user_id is None else Account(Book.BUYERS, owner.user_id)


def paid_on(tx: Transaction, sale_id: int, account: Account) -> Decimal:
    """Return what was paid on an account in a sale: by a buyer, or to a consignor."""
    return _paid(account, journal.money_on(tx, [(sale_id, account)])[sale_id, account])


def payments_on(tx: Transaction, sale_id: int, account: Account, language: str) -> list[Payment]:
    """Return the payments of a buyer as documents say them, the oldest first."""
    return [
        Payment(on=one.at.date(), amount=one.posting.amount, method=method_words(one.posting.account.book, language))
        for one in journal.money(tx, sale_id, account)
    ]


def progress_of(
    tx: Transaction, accounts: Collection[Key], left_out: Collection[int] = ()
) -> dict[Key, dict[int, Progress]]:
    """Return how far the invoices or statements of accounts are paid, by the number of each, the oldest first.

    The documents with the numbers `left_out` do not count: what was paid is for the others.
    """
    totals: dict[Key, dict[int, Decimal]] = {key: {} for key in accounts}
    for one in _all(tx, accounts):
        key = _key(one)
        if key is None or one.id in left_out:
            continue
        if one.document.kind in CREDITABLE:
            totals[key][one.id] = one.document.total
        elif one.document.kind is DocumentKind.CREDIT_NOTE and one.credits_id in totals[key]:
            totals[key][one.credits_id] -= one.document.total  # what was taken back is no longer owed
    moved = journal.money_on(tx, accounts)
    return {
        key: dict(zip(own, progress([*own.values()], _paid(key[1], moved[key])), strict=True))
        for key, own in totals.items()
    }


def of_account(tx: Transaction, sale_id: int, account: Account) -> list[DocumentRowView]:
    """Return the documents of a buyer or a consignor in a sale, the latest first."""
    return rows_of(tx, _all(tx, [(sale_id, account)])[::-1])


def _with_progress(tx: Transaction, some: Sequence[StoredDocument]) -> list[tuple[StoredDocument, Progress | None]]:
    keys = [_key(one) for one in some if one.document.kind in CREDITABLE]
    accounts = {key for key in keys if key is not None}
    to_credit = invoices_to_credit(tx, _all(tx, accounts))
    known = dict.fromkeys(to_credit, Progress(ZERO, ZERO))
    for own in progress_of(tx, accounts, to_credit).values():
        known |= own
    return [(one, known.get(one.id)) for one in some]


def _all(tx: Transaction, accounts: Collection[Key]) -> list[StoredDocument]:
    parties = {
        book: [(sale_id, account.party) for sale_id, account in accounts if account.book is book and account.party]
        for book in (Book.BUYERS, Book.CONSIGNORS)
    }
    return documents.of_parties(tx, parties[Book.BUYERS], parties[Book.CONSIGNORS])


def _key(one: StoredDocument) -> Key | None:
    account = account_of(one)
    return None if account is None else (one.owner.sale_id, account)


def _paid(account: Account, moved: Decimal) -> Decimal:
    """Return what was paid, as money: a payment is a credit on the account of a buyer, and a debit on that of a consignor."""
    return moved if account.book is Book.CONSIGNORS else -moved
