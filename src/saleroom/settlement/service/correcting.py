"""A sold lot corrected at the desk, also after its payment: it goes to the right paddle, or it is taken back and refunded.

It is one transaction: the result in the log of the lot, the entries of the journal, the credit notes, and the money.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.service import audit
from saleroom.accounts.service.idempotency import once
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.errors import UnknownPaddle
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service import results
from saleroom.sales.service.access import get_lot
from saleroom.sales.service.results import Handover
from saleroom.sales.storage import mergers, participants
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.errors import LotNotSold, SameBuyer
from saleroom.settlement.domain.journal import Account, Book, HandPayment, Method, in_cash
from saleroom.settlement.service.buyers import Buyer, buyer_of
from saleroom.settlement.service.desk import begin, desk_view, owed_by_house, pay_back
from saleroom.settlement.service.documents import crediting
from saleroom.settlement.service.documents.receipts import Paper
from saleroom.settlement.service.journal import SaleBook, bring_up_to_date
from saleroom.settlement.storage import documents as rows
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


class Correction(Struct, frozen=True, kw_only=True):
    """Whose a sold lot is instead: that of another paddle, or nobody's with None. `back` pays the first buyer back at once."""

    label: str
    paddle: int | None
    reason: str
    back: Method | None = None


def correct(
    tx: Transaction, token: str, gid: str, change: Correction, paper: Paper, key: IdempotencyKey | None = None
) -> bytes:
    """Correct the sale of a lot, and return the JSON of the desk of its first buyer, with the receipt of what is paid back.

    The lines of the lot are taken back from the invoice that they are on; without another buyer also from the statement.
    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot, UnknownPaddle, LotNotSold, SameBuyer,
    and as `results.hand_over` does.
    """
    staff, sale, book = begin(tx, token, gid, paper.places)

    def do() -> bytes:
        lot = get_lot(tx, sale, change.label)
        was = book.posted.get(lot.id)
        if was is None or was.settled.result.buyer is None:
            raise LotNotSold
        first = was.settled.result.buyer
        _refuse_same(tx, sale, change.paddle, first)
        _credit(tx, staff, sale, book, lot, DocumentKind.INVOICE)
        if change.paddle is None:
            _credit(tx, staff, sale, book, lot, DocumentKind.STATEMENT)
        results.hand_over(tx, staff, sale, Handover(change.label, change.paddle, change.reason))
        after = bring_up_to_date(tx, sale, staff.id, paper.places)
        buyer = buyer_of(tx, sale, first)
        most = None if change.back is None else HandPayment(change.back, was.settled.bill.due)
        receipt = None if most is None else _paid_back(tx, staff, sale, buyer, most, paper)
        said = {"lot": change.label, "paddle": change.paddle, "back": None if receipt is None else change.back}
        audit.note(tx, staff, Act.SALE_CORRECTED, gid, {"user": first}, said, change.reason)
        return _encode(desk_view(tx, sale, buyer, after, paper.currency, receipt=receipt))

    return once(tx, staff, key, do)


def _refuse_same(tx: Transaction, sale: Sale, paddle: int | None, first: int) -> None:
    if paddle is None:
        return
    other = participants.with_paddle(tx, sale.id, paddle)
    if other is None:
        raise UnknownPaddle(paddle=paddle)
    if mergers.person(tx, sale.id, other.user.id) == first:
        raise SameBuyer


def _credit(tx: Transaction, staff: Staff, sale: Sale, book: SaleBook, lot: Lot, kind: DocumentKind) -> None:
    """Take the lines of a lot back from the document of a kind that they are on, if they are on one."""
    found = rows.with_lot(tx, kind, lot.id)
    if found is None:
        return
    done = rows.credited(tx, found.id)
    lines = enumerate(found.document.lines)
    left = [place for place, one in lines if one.lot == lot.gid and place not in done]
    crediting.credit(tx, staff, sale, book, found, left)


def _paid_back(
    tx: Transaction, staff: Staff, sale: Sale, buyer: Buyer, most: HandPayment, paper: Paper
) -> rows.StoredDocument | None:
    """Pay a buyer back at most what the lot cost, as far as the house owes it to them; return the receipt."""
    owed = owed_by_house(tx, sale, Account(Book.BUYERS, buyer.id))
    amount = min(most.amount, owed)
    if most.method is Method.CASH and amount == owed:
        amount = in_cash(amount, paper.currency)
    if amount <= ZERO:
        return None
    return pay_back(tx, staff, sale, buyer, HandPayment(most.method, amount), paper)
