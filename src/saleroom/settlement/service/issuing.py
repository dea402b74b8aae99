"""Issuing: the invoice of a buyer and the statement of a consignor for what is on none yet, and their credit notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

import msgspec
from msgspec import Struct, structs

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain.auction import Auction
from saleroom.kernel.currency import decimals
from saleroom.kernel.errors import Contradiction
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.errors import UnknownConsignor, UnknownPaddle
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import lock_as
from saleroom.sales.storage import consignors, participants, sales
from saleroom.settlement.domain.documents.content import DocumentKind, Draft, Letterhead, Party, Payment
from saleroom.settlement.domain.documents.drafting import BilledLot, buyer_lines, consignor_lines
from saleroom.settlement.domain.documents.paying import before
from saleroom.settlement.domain.errors import LotOnDocument, NothingToIssue, UnknownDocument
from saleroom.settlement.domain.journal import Account, Book, Result
from saleroom.settlement.domain.reminders.reminding import due_on, refuse_due
from saleroom.settlement.service.buyers import find_buyer
from saleroom.settlement.service.desk import begin
from saleroom.settlement.service.document_money import paid_on, payments_on, progress_of, view_of
from saleroom.settlement.service.documents import crediting, register
from saleroom.settlement.service.journal import SaleBook, bring_up_to_date
from saleroom.settlement.service.pledging import to_invoice
from saleroom.settlement.storage import documents as rows
from saleroom.settlement.storage.documents import Owner, StoredDocument
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


class Order(Struct, frozen=True, kw_only=True):
    """For whom a document is: `paddle` or `username` for an invoice, `consignor` (a code) for a statement.

    `party` is how it names them; without a name the one that the house knows them by.
    """

    kind: DocumentKind
    language: str
    party: Party
    paddle: int | None = None
    username: str | None = None
    consignor: str | None = None
    due_on: date | None = None


class _For(Struct, frozen=True):
    """Whom a document is for, by which name and account, and which lots are theirs."""

    owner: Owner
    name: str
    account: str
    decided: Sequence[tuple[Lot, Auction]]


def issue(
    tx: Transaction, token: str, gid: str, order: Order, head: Letterhead, key: IdempotencyKey | None = None
) -> bytes:
    """Issue a document for all lots of a buyer or a consignor that ended and are on none yet; return its JSON.

    An invoice says what was paid before, as far as it is not for an invoice of before. The sale is locked, so that no payment
    comes between. Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, Contradiction, UnknownPaddle,
    UnknownParticipant, UnknownConsignor, NothingToIssue or LotOnDocument.
    """
    staff, sale = lock_as(tx, token, gid, Right.SETTLE)

    def do() -> bytes:
        book = bring_up_to_date(tx, sale, staff.id, head.places)
        return _encode(view_of(tx, issue_in(tx, staff, sale, book, order, head)))

    return once(tx, staff, key, do)


def issue_in(
    tx: Transaction, staff: Staff, sale: Sale, book: SaleBook, order: Order, head: Letterhead
) -> StoredDocument:
    """Issue a document within the transaction of the caller, who has locked the sale and brought its journal up to date.

    Raises Contradiction, UnknownPaddle, UnknownParticipant, UnknownConsignor, NothingToIssue or LotOnDocument.
    """
    _refuse_two(order)
    today = head.calendar.day(tx.now())
    refuse_due(order.due_on, today)
    known = _buyer(tx, sale, order, book) if order.kind is DocumentKind.INVOICE else _consignor(tx, sale, order, book)
    on_one = rows.on_documents(tx, order.kind, [lot.id for lot, _ in known.decided])
    left = [(lot, auction) for lot, auction in known.decided if lot.id not in on_one]
    bills = [
        BilledLot(gid=lot.gid, label=lot.label, name=auction.name, bill=book.posted[lot.id].settled.bill)
        for lot, auction in left
    ]
    if order.kind is DocumentKind.INVOICE and known.owner.user_id is not None:
        bills += to_invoice(tx, sale, known.owner.user_id, order.language)
    said = (
        buyer_lines(bills, order.language)
        if order.kind is DocumentKind.INVOICE
        else consignor_lines(bills, order.language)
    )
    if not said:
        account = Account(Book.BUYERS, known.owner.user_id)
        if known.owner.consignor_id is not None:
            account = Account(Book.CONSIGNORS, known.owner.consignor_id)
        raise LotOnDocument if crediting.to_credit(tx, sale, book, account) else NothingToIssue
    draft = Draft(
        kind=order.kind,
        language=order.language,
        currency=head.currency,
        house=head.house,
        party=order.party if order.party.name else structs.replace(order.party, name=known.name),
        sale=sale.terms.title,
        account=known.account,
        supplied_on=max((auction.changed_at for _, auction in left), default=tx.now()).date(),
        due_on=order.due_on if order.kind is DocumentKind.STATEMENT else due_on(order.due_on, today, head.calendar),
        bank=head.bank if order.kind is DocumentKind.INVOICE else None,
        lines=said,
    )
    if order.kind is DocumentKind.INVOICE:
        draft = structs.replace(draft, payments=_paid_before(tx, known.owner, draft))
    made = register.issue(tx, draft, known.owner, {lot.gid: lot.id for lot, _ in left})
    audit.note(tx, staff, Act.DOCUMENT_ISSUED, sale.gid, {}, {"number": made.document.number})
    return made


def credit(
    tx: Transaction, token: str, gid: str, places: Sequence[int], reason: str, key: IdempotencyKey | None = None
) -> bytes:
    """Issue the credit note for lines of a document by their places, for all that are left if none are named; return its JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownDocument, NotToCredit, CreditedAlready, NotOfHouse or
    LotChanged.
    """
    authenticate(tx, token, Right.SETTLE)
    found = rows.find(tx, gid)
    if found is None:
        raise UnknownDocument
    sale_gid = sales.by_id(tx, found.owner.sale_id).gid
    places_of_money = decimals(found.document.currency)
    staff, sale, book = begin(tx, token, sale_gid, places_of_money)

    def do() -> bytes:
        made = crediting.credit(tx, staff, sale, book, found, places)
        bring_up_to_date(
            tx, sale, staff.id, places_of_money
        )  # a lot that is on no document now has the rates that hold
        before = {"number": made.document.credits.number} if made.document.credits is not None else {}
        audit.note(tx, staff, Act.DOCUMENT_CREDITED, gid, before, {"number": made.document.number}, reason)
        return _encode(view_of(tx, made))

    return once(tx, staff, key, do)


def _paid_before(tx: Transaction, owner: Owner, draft: Draft) -> tuple[Payment, ...]:
    """Return what was paid for an invoice before it is issued: what is left of all payments after those of before."""
    account = Account(Book.BUYERS, owner.user_id)
    key = (owner.sale_id, account)
    earlier = sum((one.paid for one in progress_of(tx, [key])[key].values()), ZERO)
    left = min(paid_on(tx, owner.sale_id, account) - earlier, draft.total)
    return before(payments_on(tx, owner.sale_id, account, draft.language), left)


def _refuse_two(order: Order) -> None:
    """Raise Contradiction for an order that names two parties, as a document is for one."""
    sent = {"paddle": order.paddle, "username": order.username, "consignor": order.consignor}
    named = [name for name, party in sent.items() if party is not None]
    if len(named) > 1:
        raise Contradiction.one(named[1], "one_party", f"must not be with `{named[0]}`: a document is for one")


def _buyer(tx: Transaction, sale: Sale, order: Order, book: SaleBook) -> _For:
    if order.paddle is None and order.username is None:
        raise Contradiction.one("paddle", "required", "is required for an invoice, or the username")
    if order.paddle is not None and participants.with_paddle(tx, sale.id, order.paddle) is None:
        raise UnknownPaddle(paddle=order.paddle)
    found = find_buyer(tx, sale, str(order.paddle or order.username))
    owner = Owner(sale_id=sale.id, user_id=found.id)
    theirs = _posted(book, lambda result: result.buyer == found.id)
    return _For(owner, found.name, str(found.paddle or found.username), theirs)


def _consignor(tx: Transaction, sale: Sale, order: Order, book: SaleBook) -> _For:
    if order.consignor is None:
        raise Contradiction.one("consignor", "required", "is required for a statement")
    found = consignors.find(tx, order.consignor)
    if found is None:
        raise UnknownConsignor
    owner = Owner(sale_id=sale.id, user_id=found.user_id, consignor_id=found.id)
    return _For(owner, found.name, found.code, _posted(book, lambda result: result.consignor == found.id))


def _posted(book: SaleBook, wanted: Callable[[Result], bool]) -> list[tuple[Lot, Auction]]:
    """Return the lots that stand in the journal as somebody's."""
    return [
        (one.lot, one.auction)
        for one in book.offered
        if one.auction is not None
        and (posted := book.posted.get(one.lot.id)) is not None
        and wanted(posted.settled.result)
    ]
