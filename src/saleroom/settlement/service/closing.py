"""Closing a buyer at the desk: the payment, or what is set off, and the invoice for it in one transaction."""

from __future__ import annotations

from decimal import Decimal

import msgspec
from msgspec import structs

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.service.idempotency import once
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.sale import Sale
from saleroom.settlement.domain.desk_acts import BuyerPayments
from saleroom.settlement.domain.desk_views import DeskView
from saleroom.settlement.domain.documents.content import DocumentKind, Party
from saleroom.settlement.domain.errors import NothingToIssue
from saleroom.settlement.service import desk, issuing
from saleroom.settlement.service.buyers import find_buyer
from saleroom.settlement.service.documents.receipts import Paper
from saleroom.settlement.service.issuing import Order
from saleroom.settlement.service.journal import SaleBook
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


def pay(
    tx: Transaction, token: str, gid: str, given: BuyerPayments, paper: Paper, key: IdempotencyKey | None = None
) -> bytes:
    """Take payments of a buyer and issue the invoice for what is on none yet; return the JSON of the desk.

    Without anything to put on an invoice none is issued. Raises as `desk.pay` and `issuing.issue` do.
    """
    staff, sale, book = desk.begin(tx, token, gid, paper.places)

    def do() -> bytes:
        paid = desk.take(tx, staff, sale, book, given, paper)
        return _encode(_with_invoice(tx, staff, sale, book, paid, paper))

    return once(tx, staff, key, do)


def net(tx: Transaction, token: str, gid: str, who: str, paper: Paper, key: IdempotencyKey | None = None) -> bytes:
    """Set off what a buyer owes, and issue the invoice if that pays all of it; return the JSON of the desk.

    Raises as `desk.net` and `issuing.issue` do.
    """
    staff, sale, book = desk.begin(tx, token, gid, paper.places)

    def do() -> bytes:
        left = desk.set_off(tx, staff, sale, book, who, paper)
        if Decimal(left.owed) <= ZERO:
            left = _with_invoice(tx, staff, sale, book, left, paper)
        return _encode(left)

    return once(tx, staff, key, do)


def _with_invoice(
    tx: Transaction, staff: Staff, sale: Sale, book: SaleBook, closed: DeskView, paper: Paper
) -> DeskView:
    """Issue the invoice of a buyer, and return their desk with it; without anything to put on one, the desk as it is."""
    order = Order(
        kind=DocumentKind.INVOICE,
        language=paper.language,
        party=Party(name=""),
        paddle=closed.paddle,
        username=closed.username if closed.paddle is None else None,
    )
    try:
        made = issuing.issue_in(tx, staff, sale, book, order, paper.head)
    except NothingToIssue:
        return closed
    buyer = find_buyer(tx, sale, str(closed.paddle or closed.username))
    seen = desk.desk_view(tx, sale, buyer, book, paper.currency)
    return structs.replace(seen, change=closed.change, payment_receipt=closed.payment_receipt, issued_invoice=made.gid)
