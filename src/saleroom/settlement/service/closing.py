"""Closing a buyer at the desk: the payment, or what is set off, and the invoice for it in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import msgspec
from msgspec import structs

from saleroom.accounts.service.idempotency import once
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.desk_views import DeskView
from saleroom.settlement.domain.documents import Kind, Party
from saleroom.settlement.domain.errors import NothingToIssue
from saleroom.settlement.domain.journal import HandPayment
from saleroom.settlement.service import desk, issuing
from saleroom.settlement.service.issuing import Order
from saleroom.settlement.service.receipts import Paper
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(DeskView).decode


def pay(
    tx: Transaction,
    token: str,
    gid: str,
    who: str,
    payments: Sequence[HandPayment],
    paper: Paper,
    key: IdempotencyKey | None = None,
) -> bytes:
    """Take payments of a buyer and issue the invoice for what is on none yet; return the JSON of the desk.

    Without anything to put on an invoice none is issued. Raises as `desk.pay` and `issuing.issue` do.
    """

    def act() -> DeskView:
        return _with_invoice(tx, token, gid, _decode(desk.pay(tx, token, gid, who, payments, paper)), paper)

    return _once(tx, token, gid, paper, key, act)


def net(tx: Transaction, token: str, gid: str, who: str, paper: Paper, key: IdempotencyKey | None = None) -> bytes:
    """Set off what a buyer owes, and issue the invoice if that pays all of it; return the JSON of the desk.

    Raises as `desk.net` and `issuing.issue` do.
    """

    def act() -> DeskView:
        left = _decode(desk.net(tx, token, gid, who, paper))
        return left if Decimal(left.owed) > ZERO else _with_invoice(tx, token, gid, left, paper)

    return _once(tx, token, gid, paper, key, act)


def _once(
    tx: Transaction, token: str, gid: str, paper: Paper, key: IdempotencyKey | None, act: Callable[[], DeskView]
) -> bytes:
    """Let `act` run once by its key, while the sale is locked; what it does notes itself."""
    staff, _, _ = desk.begin(tx, token, gid, paper.places)
    return once(tx, staff, key, lambda: _encode(act()))


def _with_invoice(tx: Transaction, token: str, gid: str, closed: DeskView, paper: Paper) -> DeskView:
    """Issue the invoice of a buyer, and return their desk with it."""
    order = Order(
        kind=Kind.INVOICE,
        language=paper.language,
        party=Party(name=""),
        paddle=closed.paddle,
        username=closed.username if closed.paddle is None else None,
    )
    try:
        made = msgspec.json.decode(issuing.issue(tx, token, gid, order, paper.head))
    except NothingToIssue:
        return closed
    seen = desk.shown(tx, token, gid, str(closed.paddle or closed.username), paper.places, paper.currency)
    return structs.replace(
        seen, change=closed.change, payment_receipt=closed.payment_receipt, issued_invoice=made["document"]
    )
