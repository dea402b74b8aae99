"""Receipts: a payment at the desk issues one, with a number of its own, in the transaction that takes the money."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from saleroom.kernel.money import ZERO
from saleroom.sales.domain.sale import Sale
from saleroom.settlement.domain.documents.content import DocumentKind, Draft, Letterhead, Party, Payment
from saleroom.settlement.domain.documents.document_words import method_words
from saleroom.settlement.domain.journal import Account, Book, HandPayment
from saleroom.settlement.service.documents import register
from saleroom.settlement.storage.documents import Owner, StoredDocument
from saleroom.storage.database import Transaction


class Paper(Struct, frozen=True, kw_only=True):
    """How the desk writes receipts: the letterhead and the language."""

    head: Letterhead
    language: str = "en"

    @property
    def currency(self) -> str:
        """The currency of the house."""
        return self.head.currency

    @property
    def places(self) -> int:
        """The decimals of its minor unit."""
        return self.head.places


class ReceiptHolder(Struct, frozen=True):
    """Whose receipt it is: their account in the journal, their name, their paddle or code, and their number if they have an
    account in the house.
    """

    account: Account
    name: str
    said: str
    user_id: int | None


def issue(
    tx: Transaction, sale: Sale, payer: ReceiptHolder, paid: Sequence[HandPayment], paper: Paper
) -> StoredDocument | None:
    """Issue the receipt for money that moved at once, negative if the house paid it; None if nothing moved."""
    now, language = tx.now().date(), paper.language
    if not any(one.amount != ZERO for one in paid):
        return None
    draft = Draft(
        kind=DocumentKind.RECEIPT,
        language=language,
        currency=paper.head.currency,
        house=paper.head.house,
        party=Party(name=payer.name),
        sale=sale.terms.title,
        account=payer.said,
        payments=tuple(Payment(on=now, amount=one.amount, method=method_words(one.method, language)) for one in paid),
    )
    consignor_id = payer.account.party if payer.account.book is Book.CONSIGNORS else None
    owner = Owner(sale_id=sale.id, user_id=payer.user_id, consignor_id=consignor_id)
    return register.issue(tx, draft, owner, {})
