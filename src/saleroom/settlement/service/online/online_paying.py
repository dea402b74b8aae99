"""Payments by card online: asked for by the buyer of an invoice, posted once the provider says that they are paid.

No transaction waits for the provider. `online_looking.py` asks it, and the answer is posted here: a callback only has the
house ask soon, so one that is doubled, out of order, old or about somebody else changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.kernel.errors import Contradiction
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import lock_one
from saleroom.sales.storage import mergers, sales
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.errors import NotPayableOnline, NotRefundableOnline, UnknownDocument
from saleroom.settlement.domain.journal import (
    Account,
    Book,
    EntryKind,
    HandPayment,
    Method,
    Posting,
    of_money,
    of_rounding,
)
from saleroom.settlement.domain.online.card_payments import (
    OPEN_FOR,
    RETRY,
    REUSED_FOR,
    UNCLEAR_AFTER,
    UNDER_WAY,
    Dispute,
    OnlineState,
    PaymentPage,
    ProviderPayment,
    RefundState,
    SeenRefund,
    booked,
    from_minor,
    next_look,
    to_charge,
    to_minor,
)
from saleroom.settlement.service.buyers import buyer_of, payer_of
from saleroom.settlement.service.documents import overdue, receipts
from saleroom.settlement.service.documents.receipts import Paper
from saleroom.settlement.service.online.card_provider import Callback, PageOrder
from saleroom.settlement.storage import documents, journal, online
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.settlement.storage.online import OnlinePayment, OnlineRefund
from saleroom.storage.database import Transaction

AT_ONCE = 20
"""The most payments that are looked at in one round."""
Papers = Callable[[str], Paper]
"""Returns how receipts are written in a language."""


def ask(tx: Transaction, token: str, gid: str, currency: str) -> PageOrder:
    """Note that the buyer of an invoice pays what is open of it by card, and return what to ask the provider for.

    Asking again while the amount is the same asks for the same page. Raises Unauthenticated, MissingRight, UnknownDocument or
    NotPayableOnline.
    """
    viewer = authenticate(tx, token, Right.ACCOUNT)
    invoice = own_document(tx, viewer.id, gid)
    lock_one(tx, sales.by_id(tx, invoice.owner.sale_id).gid)
    amount = payable(tx, invoice, currency)
    if amount is None:
        raise NotPayableOnline
    now = tx.now()
    known = next(iter(online.of_document(tx, invoice.id)), None)
    if known is None or not _can_be_shown_again(known, amount, now):
        known = online.add(tx, invoice, viewer.id, amount, now + OPEN_FOR)
    return PageOrder(
        payment=known.gid,
        amount=known.amount,
        currency=known.currency,
        title=invoice.document.number,
        path=f"/mine/documents/{gid}",
        expires_at=known.expires_at,
    )


def _can_be_shown_again(one: OnlinePayment, amount: Decimal, now: datetime) -> bool:
    """Return whether the page of a payment is open, asks for an amount, and stays open for a while."""
    is_open = one.state in (OnlineState.ASKED, OnlineState.OPEN)
    return is_open and one.amount == amount and one.expires_at - now > REUSED_FOR


def own_document(tx: Transaction, user_id: int, gid: str) -> StoredDocument:
    """Return one of a user's own documents. Raises UnknownDocument."""
    found = documents.find(tx, gid)
    if found is None or found.owner.user_id != user_id:
        raise UnknownDocument
    return found


def payable(tx: Transaction, invoice: StoredDocument, currency: str) -> Decimal | None:
    """Return what would be charged for what is open of a document; None if it cannot be paid by card online."""
    if invoice.document.kind is not DocumentKind.INVOICE or invoice.document.currency != currency:
        return None
    amount = to_charge(_open(tx, invoice), currency)
    return None if to_minor(amount, currency) is None else amount


def _open(tx: Transaction, invoice: StoredDocument) -> Decimal:
    assert invoice.owner.user_id is not None, "an invoice is for a user"
    return overdue.owed_of(tx, invoice)


def note_sheet(tx: Transaction, gid: str, session: str) -> None:
    """Note the provider's page of a payment, which is looked at from now on."""
    number = online.named(tx, gid=gid, session=None, intent=None)
    assert number is not None, "it was asked for"
    one = online.get(tx, number, locked=True)
    if one.session is None:
        first = next_look(OnlineState.OPEN, one.asked_at, tx.now(), under_way=False)
        online.change(tx, number, session=session, state=OnlineState.OPEN.value, look_at=first)


def hear(tx: Transaction, said: Callback) -> bool:
    """Have the payment looked at that a callback names; return whether there is one."""
    number = online.named(tx, gid=said.payment, session=said.session, intent=said.intent)
    if number is None:
        return False
    one = online.get(tx, number, locked=True)
    if one.session is None and said.session is not None:
        online.change(tx, number, session=said.session, state=OnlineState.OPEN.value)
    if one.session is not None or said.session is not None:
        online.look_soon(tx, number)
    return True


class Look(Struct, frozen=True):
    """A payment to ask the provider about: whether its page is to be closed, and the refunds to ask for."""

    payment: OnlinePayment
    closes: bool
    refunds: tuple[OnlineRefund, ...]


def claim(tx: Transaction, currency: str) -> list[Look]:
    """Return the payments to look at now. Each comes again after a while if what is seen of it is never posted.

    A page is closed if another one was asked for after it, or if what is open of its invoice has changed: it would take too
    much. One that the provider never answered about was never shown to anybody, and expires by itself.
    """
    found = online.due(tx, AT_ONCE)
    refunds = online.refunds(tx, [one.id for one in found])
    looks = []
    for one in found:
        if one.session is None:
            online.change(tx, one.id, state=OnlineState.EXPIRED.value, look_at=None, changed_at=tx.now())
            continue
        online.change(tx, one.id, look_at=tx.now() + RETRY)
        asked = tuple(refund for refund in refunds[one.id] if refund.state is RefundState.ASKED)
        looks.append(Look(one, one.state is OnlineState.OPEN and _is_stale(tx, one, currency), asked))
    return looks


def _is_stale(tx: Transaction, one: OnlinePayment, currency: str) -> bool:
    invoice = documents.find(tx, one.document)
    assert invoice is not None, "a document is never deleted"
    latest = online.of_document(tx, one.document_id)[0]
    return latest.id != one.id or payable(tx, invoice, currency) != one.amount


def post_seen(
    tx: Transaction, number: int, seen: ProviderPayment, refused: Mapping[str, str], papers: Papers, currency: str
) -> OnlineState:
    """Post what the provider says of a payment, as far as it is not posted; return what is known of it then.

    `refused` are the refunds that it did not take, by gid, with the reason.
    """
    sale = lock_one(tx, sales.by_id(tx, online.get(tx, number).sale_id).gid)
    one = online.get(tx, number, locked=True)
    book = _Posting(tx, sale, one, papers, currency)
    if one.entry_id is None:
        book.payment(seen)
    if book.is_paid:
        book.refunds(seen.refunds, refused)
        book.dispute(seen)
    return book.end()


class _Posting:
    """The posting of one payment, which is locked with its sale."""

    def __init__(self, tx: Transaction, sale: Sale, one: OnlinePayment, papers: Papers, currency: str) -> None:
        self._tx = tx
        self._sale = sale
        self._one = one
        self._currency = currency
        self._account = Account(Book.BUYERS, one.user_id)
        self._person = mergers.person(tx, sale.id, one.user_id)
        invoice = documents.find(tx, one.document)
        assert invoice is not None, "a document is never deleted"
        self._invoice = invoice
        self._paper = papers(invoice.document.language)
        self._state = one.state
        self._dispute = one.dispute
        self._changed = False

    @property
    def is_paid(self) -> bool:
        return self._state is OnlineState.PAID

    def payment(self, seen: ProviderPayment) -> None:
        """Post a payment that is paid, whatever was asked: what came is what is posted."""
        if seen.paid and seen.intent is not None:
            if seen.currency != self._one.currency or seen.currency != self._currency:
                self._is_now(OnlineState.UNCLEAR, intent=seen.intent, trouble=f"paid in {seen.currency}")
                return
            found = booked(seen, self._one.amount, _open(self._tx, self._invoice))
            if found.rounded:
                self._post(EntryKind.ROUNDING, of_rounding(self._account, found.rounded), self._one.user_id)
            entry = self._money(found.received, self._one.user_id)
            values = {"intent": seen.intent, "received": found.received, "entry_id": entry}
            self._is_now(OnlineState.PAID, **values)
            self._receipt(found.received)
        elif seen.sheet is PaymentPage.EXPIRED:
            self._is_now(OnlineState.EXPIRED)
        elif self._tx.now() > self._one.expires_at + UNCLEAR_AFTER:
            self._is_now(OnlineState.UNCLEAR, trouble="finished, and not paid")

    def refunds(self, seen: Sequence[SeenRefund], refused: Mapping[str, str]) -> None:
        """Post the refunds that are done, also those that were made at the provider; take back those that failed after that."""
        known = online.refunds(self._tx, [self._one.id])[self._one.id]
        by_own = {one.gid: one for one in known}
        by_name = {one.refund: one for one in known if one.refund is not None}
        for found in sorted(seen, key=lambda each: each.refund):
            row = by_name.get(found.refund) or by_own.get(found.own or "")
            if row is None:
                amount = from_minor(found.amount, self._one.currency)
                row = online.add_refund(self._tx, self._one.id, amount, None, found.refund)
            self._refund(row, found)
        for gid, reason in refused.items():
            row = by_own[gid]
            if row.state is RefundState.ASKED:
                online.change_refund(self._tx, row.id, state=RefundState.FAILED.value, reason=reason)
                self._changed = True

    def _refund(self, row: OnlineRefund, found: SeenRefund) -> None:
        if row.state is found.state and row.refund == found.refund and found.state is not RefundState.ASKED:
            return
        by = row.by_id or self._one.user_id
        values: dict[str, object] = {"state": found.state.value, "refund": found.refund}
        if found.state is RefundState.DONE and row.entry_id is None:
            values["entry_id"] = self._money(-row.amount, by)
            self._receipt(-row.amount)
        elif found.state is RefundState.FAILED:
            values["reason"] = found.reason
            if row.entry_id is not None and row.back_entry_id is None:
                values["back_entry_id"] = self._money(row.amount, by)
        online.change_refund(self._tx, row.id, **values)
        self._changed = True

    def dispute(self, seen: ProviderPayment) -> None:
        """Note a dispute. One that is lost takes the money back, so that the buyer owes it again."""
        if seen.dispute is None or seen.dispute.state is self._one.dispute:
            return
        self._dispute = seen.dispute.state
        amount = from_minor(seen.dispute.amount, self._one.currency)
        values: dict[str, object] = {"dispute": self._dispute.value, "disputed": amount}
        if self._dispute is Dispute.LOST and self._one.dispute_entry_id is None:
            values["dispute_entry_id"] = self._money(-amount, self._one.user_id)
        online.change(self._tx, self._one.id, **values)
        self._changed = True

    def end(self) -> OnlineState:
        """Note when to look again."""
        now = self._tx.now()
        refunds = online.refunds(self._tx, [self._one.id])[self._one.id]
        under_way = self._dispute is Dispute.OPEN or any(one.state in UNDER_WAY for one in refunds)
        changed_at = now if self._changed else self._one.changed_at
        look_at = next_look(self._state, changed_at, now, under_way=under_way)
        known = {} if self._state is OnlineState.UNCLEAR else {"trouble": None}
        online.change(self._tx, self._one.id, look_at=look_at, changed_at=changed_at, **known)
        return self._state

    def _is_now(self, state: OnlineState, **values: object) -> None:
        self._state, self._changed = state, True
        online.change(self._tx, self._one.id, state=state.value, **values)

    def _money(self, amount: Decimal, by_id: int) -> int:
        entry = self._post(EntryKind.PAYMENT, of_money(self._account, Method.ONLINE, amount), by_id)
        overdue.lift_if_paid(self._tx, self._person, None)
        return entry

    def _post(self, kind: EntryKind, postings: Sequence[Posting], by_id: int) -> int:
        return journal.add(self._tx, self._sale.id, kind, postings, by_id)

    def _receipt(self, amount: Decimal) -> None:
        buyer = buyer_of(self._tx, self._sale, self._person)
        receipts.issue(self._tx, self._sale, payer_of(buyer), [HandPayment(Method.ONLINE, amount)], self._paper)


def unknown(tx: Transaction, number: int, reason: str) -> None:
    """Note that the provider refuses to say anything of a payment. After some days a person looks at it."""
    one, now = online.get(tx, number, locked=True), tx.now()
    state = one.state
    if one.entry_id is None and now > one.changed_at + UNCLEAR_AFTER:
        state = OnlineState.UNCLEAR
    look_at = next_look(state, one.changed_at, now, under_way=False)
    online.change(tx, number, state=state.value, trouble=reason, look_at=look_at)


def pay_back(tx: Transaction, by_id: int, sale: Sale, user_id: int, amount: Decimal) -> None:
    """Have an amount paid back to the cards that a buyer paid with in a locked sale, from the latest payment on.

    It is posted once the provider has done it. Raises Contradiction for an amount that the provider cannot pay back, or
    NotRefundableOnline if they have paid less by card online.
    """
    parts, left = list[tuple[OnlinePayment, Decimal]](), amount
    for one, rest in refundable(tx, sale.id, user_id):
        part = min(left, rest)
        if part > ZERO:
            parts.append((one, part))
            left -= part
    if left > ZERO:
        raise NotRefundableOnline(most=amount - left)
    if any(to_minor(part, one.currency) is None for one, part in parts):
        raise Contradiction.one("amount", "provider_unit", "must be an amount that a card can be paid back")
    for one, part in parts:
        online.add_refund(tx, one.id, part, by_id)
        online.change(tx, one.id, changed_at=tx.now())
        online.look_soon(tx, one.id)


def refundable(tx: Transaction, sale_id: int, user_id: int) -> list[tuple[OnlinePayment, Decimal]]:
    """Return the payments of a buyer in a sale with what is left of each to pay back, the latest first."""
    paid = [one for one in online.of_buyer(tx, sale_id, user_id) if one.dispute in (None, Dispute.WON)]
    back = online.refunds(tx, [one.id for one in paid])
    return [
        (one, (one.received or ZERO) - sum((r.amount for r in back[one.id] if r.state is not RefundState.FAILED), ZERO))
        for one in paid
    ]
