"""The cashier's desk: what a buyer owes, payments by hand with change, what consignors get, and what is paid out.

Each use case locks the sale and brings its journal up to date first: two cashiers at one paddle come one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import msgspec

from saleroom.accounts.domain import audit as audit_words
from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.kernel.currency import decimals
from saleroom.kernel.errors import Contradiction
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.money import ZERO
from saleroom.sales.domain.consignors import subject_of
from saleroom.sales.domain.errors import UnknownConsignor
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_one, lock_as
from saleroom.sales.storage import consignors, mergers, sales
from saleroom.sales.storage.consignors import Consignor
from saleroom.settlement.domain.desk_acts import BuyerPayments, BuyerRefund, ConsignorPayout
from saleroom.settlement.domain.desk_views import (
    DeskView,
    MoneyView,
    OwnLotsView,
    SettledLotView,
    StatementView,
    money_view,
    settled_lot,
)
from saleroom.settlement.domain.documents.content import DocumentKind, finer_fault
from saleroom.settlement.domain.errors import NothingToNet, NotOwedByHouse, Overpaid, PayoutNotSure
from saleroom.settlement.domain.journal import (
    Account,
    Book,
    EntryKind,
    HandPayment,
    Method,
    Result,
    by_method,
    in_cash,
    of_money,
    of_netting,
    of_rounding,
    rounding,
    split,
    way,
)
from saleroom.settlement.service import document_money, members, pledging
from saleroom.settlement.service.buyers import Buyer, find_buyer, payer_of
from saleroom.settlement.service.documents import crediting, overdue, receipts
from saleroom.settlement.service.documents.receipts import Paper, ReceiptHolder
from saleroom.settlement.service.journal import SaleBook, bring_up_to_date
from saleroom.settlement.service.online import online_paying, online_showing
from saleroom.settlement.storage import documents, journal, online, payout_reports
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.storage.database import Transaction

SALES_SHOWN = 50
_encode = msgspec.json.Encoder().encode


def sales_to_settle(tx: Transaction, token: str | None) -> list[Sale]:
    """Return the latest public sales, for the desk. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.SETTLE)
    return sales.newest(tx, public_only=True, limit=SALES_SHOWN)


def sale_to_settle(tx: Transaction, token: str | None, gid: str) -> Sale:
    """Return a sale, for the pages that settle it. Raises Unauthenticated, MissingRight or UnknownSale."""
    authenticate(tx, token, Right.SETTLE)
    return get_one(tx, gid, staff=True)


def begin(tx: Transaction, token: str | None, gid: str, places: int) -> tuple[Staff, Sale, SaleBook]:
    """Lock a sale for somebody who settles it, and bring its journal up to date.

    Raises Unauthenticated, MissingRight or UnknownSale.
    """
    staff, sale = lock_as(tx, token, gid, Right.SETTLE)
    return staff, sale, bring_up_to_date(tx, sale, staff.id, places)


def shown(tx: Transaction, token: str, gid: str, who: str, currency: str) -> DeskView:
    """Return what a buyer owes; `who` is the paddle or the username.

    Raises Unauthenticated, MissingRight, UnknownSale or UnknownParticipant.
    """
    _, sale, book = begin(tx, token, gid, decimals(currency))
    return desk_view(tx, sale, find_buyer(tx, sale, who), book, currency)


def pay(
    tx: Transaction, token: str, gid: str, given: BuyerPayments, paper: Paper, key: IdempotencyKey | None = None
) -> bytes:
    """Take payments of a buyer, several at once, and return the JSON of the desk with the change in cash and the receipt.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, Contradiction, UnknownParticipant or Overpaid.
    """
    staff, sale, book = begin(tx, token, gid, paper.places)
    return once(tx, staff, key, lambda: _encode(take(tx, staff, sale, book, given, paper)))


def take(tx: Transaction, staff: Staff, sale: Sale, book: SaleBook, given: BuyerPayments, paper: Paper) -> DeskView:
    """Take payments of a buyer within the transaction of the caller, who has begun with the sale.

    Raises Contradiction, UnknownParticipant or Overpaid.
    """
    _refuse_finer("payments", given.payments, paper.places)
    buyer = find_buyer(tx, sale, given.who)
    account = Account(Book.BUYERS, buyer.id)
    owed = balance(tx, sale, account)
    more = rounding(owed, given.payments, paper.currency)
    if more:
        journal.add(tx, sale.id, EntryKind.ROUNDING, of_rounding(account, more), staff.id)
    kept = split(owed + more, given.payments)
    if kept is None:
        raise Overpaid(owed=max(owed, ZERO))
    paid, change = kept
    for one in paid:
        journal.add(tx, sale.id, EntryKind.PAYMENT, of_money(account, one.method, one.amount), staff.id)
    receipt = receipts.issue(tx, sale, payer_of(buyer), paid, paper)
    overdue.lift_if_paid(tx, buyer.id, staff)
    facts = {method.value: str(amount) for method, amount in by_method(paid).items()}
    audit.note(tx, staff, audit_words.Act.MONEY_TAKEN, buyer.id, {}, {"sale": sale.gid, **facts})
    return desk_view(tx, sale, buyer, book, paper.currency, change, receipt)


def refund(
    tx: Transaction, token: str, gid: str, given: BuyerRefund, paper: Paper, key: IdempotencyKey | None = None
) -> bytes:
    """Pay a buyer back what the house owes them, and return the JSON of the desk.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, Contradiction, UnknownParticipant or NotOwedByHouse.
    """
    staff, sale, book = begin(tx, token, gid, paper.places)

    def do() -> bytes:
        _refuse_finer("amount", [given.back], paper.places)
        buyer = find_buyer(tx, sale, given.who)
        receipt = pay_back(tx, staff, sale, buyer, given.back, paper)
        return _encode(desk_view(tx, sale, buyer, book, paper.currency, receipt=receipt))

    return once(tx, staff, key, do)


def statement(tx: Transaction, token: str, gid: str, code: str, places: int) -> StatementView:
    """Return what a consignor gets in a sale. Raises Unauthenticated, MissingRight, UnknownSale or UnknownConsignor."""
    _, sale, book = begin(tx, token, gid, places)
    return _statement(tx, sale, _consignor(tx, code), book)


def pay_out(
    tx: Transaction, token: str, gid: str, given: ConsignorPayout, paper: Paper, key: IdempotencyKey | None = None
) -> bytes:
    """Pay a consignor what the house owes them, or a part of it, and return the JSON of their statement.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, Contradiction, UnknownConsignor, NotOwedByHouse, or
    PayoutNotSure if a payout to them in this sale is in doubt, unless somebody is sure.
    """
    staff, sale, book = begin(tx, token, gid, paper.places)

    def do() -> bytes:
        out = given.out
        _refuse_finer("amount", [out], paper.places)
        consignor = _consignor(tx, given.code)
        account, in_doubt = Account(Book.CONSIGNORS, consignor.id), _is_in_doubt(tx, sale, consignor)
        if in_doubt and not given.is_sure:
            raise PayoutNotSure
        _pay_out(tx, sale, account, out, staff.id, paper.currency)
        payer = ReceiptHolder(account, consignor.name, consignor.code, consignor.user_id)
        receipt = receipts.issue(tx, sale, payer, [HandPayment(out.method, -out.amount)], paper)
        sure = {"sure": True} if in_doubt else {}
        facts: audit_words.Facts = {"sale": gid, out.method.value: str(out.amount), **sure}
        audit.note(tx, staff, audit_words.Act.MONEY_PAID_OUT, subject_of(given.code), {}, facts)
        return _encode(_statement(tx, sale, consignor, book, receipt))

    return once(tx, staff, key, do)


def pay_back(
    tx: Transaction, staff: Staff, sale: Sale, buyer: Buyer, back: HandPayment, paper: Paper
) -> StoredDocument | None:
    """Pay a buyer back within the transaction of the caller, and return the receipt.

    What goes back to a card that was used online is posted, with its receipt, once the provider has paid it. Raises
    NotOwedByHouse, or as `online_paying.pay_back` does.
    """
    account = Account(Book.BUYERS, buyer.id)
    if back.method is Method.ONLINE:
        _refuse_more(back, owed_by_house(tx, sale, account))
        online_paying.pay_back(tx, staff.id, sale, buyer.id, back.amount)
    else:
        _pay_out(tx, sale, account, back, staff.id, paper.currency)
    facts = {"sale": sale.gid, back.method.value: str(back.amount)}
    audit.note(tx, staff, audit_words.Act.MONEY_PAID_OUT, buyer.id, {}, facts)
    if back.method is Method.ONLINE:
        return None
    return receipts.issue(tx, sale, payer_of(buyer), [HandPayment(back.method, -back.amount)], paper)


def net(tx: Transaction, token: str, gid: str, who: str, paper: Paper, key: IdempotencyKey | None = None) -> bytes:
    """Set off what a buyer owes against what the house owes them for their own lots, and return the JSON of the desk.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownParticipant or NothingToNet.
    """
    staff, sale, book = begin(tx, token, gid, paper.places)
    return once(tx, staff, key, lambda: _encode(set_off(tx, staff, sale, book, who, paper)))


def set_off(tx: Transaction, staff: Staff, sale: Sale, book: SaleBook, who: str, paper: Paper) -> DeskView:
    """Set off what a buyer owes within the transaction of the caller, who has begun with the sale.

    Raises UnknownParticipant or NothingToNet.
    """
    buyer = find_buyer(tx, sale, who)
    account, netted = Account(Book.BUYERS, buyer.id), ZERO
    for consignor in _as_consignor(tx, sale, buyer):
        theirs = Account(Book.CONSIGNORS, consignor.id)
        amount = min(balance(tx, sale, account), -balance(tx, sale, theirs))
        if amount > ZERO:
            journal.add(tx, sale.id, EntryKind.NETTING, of_netting(account, theirs, amount), staff.id)
            netted += amount
    if not netted:
        raise NothingToNet
    overdue.lift_if_paid(tx, buyer.id, staff)
    audit.note(tx, staff, audit_words.Act.MONEY_NETTED, buyer.id, {}, {"sale": sale.gid, "amount": str(netted)})
    return desk_view(tx, sale, buyer, book, paper.currency)


def _as_consignor(tx: Transaction, sale: Sale, buyer: Buyer) -> list[Consignor]:
    """Return the consignors whose user a buyer is, or was before a merger."""
    same = [buyer.id, *(source for _, source in mergers.into(tx, [(sale.id, buyer.id)]))]
    return [one for user_id in same for one in consignors.of_user(tx, user_id)]


def _own_lots(tx: Transaction, sale: Sale, buyer: Buyer) -> OwnLotsView | None:
    found = _as_consignor(tx, sale, buyer)
    if not found:
        return None
    owed = sum((-balance(tx, sale, Account(Book.CONSIGNORS, one.id)) for one in found), ZERO)
    return OwnLotsView(consignor=found[0].code, to_pay_out=f"{owed:.3f}")


def _pay_out(tx: Transaction, sale: Sale, account: Account, out: HandPayment, by_id: int, currency: str) -> None:
    owed = owed_by_house(tx, sale, account)
    if out.method is Method.CASH and out.amount == in_cash(owed, currency) != owed:
        journal.add(tx, sale.id, EntryKind.ROUNDING, of_rounding(account, owed - out.amount), by_id)
        owed = out.amount
    _refuse_more(out, owed)
    journal.add(tx, sale.id, EntryKind.PAYMENT, of_money(account, out.method, -out.amount), by_id)


def _refuse_more(out: HandPayment, owed: Decimal) -> None:
    if out.amount > owed:
        raise NotOwedByHouse(owed=max(owed, ZERO))


def owed_by_house(tx: Transaction, sale: Sale, account: Account) -> Decimal:
    """Return what the house has to pay out on an account, without what is on its way back to cards."""
    owed = -balance(tx, sale, account)
    if account.book is not Book.BUYERS or account.party is None:
        return owed
    return owed - online.under_way(tx, sale.id, account.party)


def _refuse_finer(field: str, paid: Sequence[HandPayment], places: int) -> None:
    """Raise Contradiction for amounts that the currency of the house cannot pay."""
    fault = finer_fault((one.amount for one in paid), places)
    if fault is not None:
        raise Contradiction({field: [fault]})


def balance(tx: Transaction, sale: Sale, account: Account) -> Decimal:
    """Return the balance of an account in a sale: what is positive is owed to the house."""
    return sum((one.posting.amount for one in journal.moved(tx, sale.id, account)), ZERO)


def _consignor(tx: Transaction, code: str) -> Consignor:
    found = consignors.find(tx, code)
    if found is None:
        raise UnknownConsignor
    return found


def desk_view(
    tx: Transaction,
    sale: Sale,
    buyer: Buyer,
    book: SaleBook,
    currency: str,
    change: Decimal = ZERO,
    receipt: StoredDocument | None = None,
) -> DeskView:
    """Return the desk of a buyer as JSON has it, after money moved with the change and the receipt."""
    account = Account(Book.BUYERS, buyer.id)
    owed = balance(tx, sale, account)
    return DeskView(
        sale=sale.gid,
        paddle=buyer.paddle,
        username=buyer.username,
        person_name=buyer.name,
        settled_lots=[
            *_lots(book, lambda result: result.buyer == buyer.id),
            *(settled_lot(one.label, one.name, one.bill) for one in pledging.given(tx, sale, buyer.id)),
        ],
        money=_money(tx, sale, account),
        owed=f"{owed:.3f}",
        owed_in_cash=f"{in_cash(max(owed, ZERO), currency):.3f}",
        own_lots=_own_lots(tx, sale, buyer),
        too_large_lots=[*book.too_large],
        lots_to_credit=crediting.to_credit(tx, sale, book, account),
        change=f"{change:.3f}",
        payment_receipt=None if receipt is None else receipt.gid,
        to_invoice=_is_to_invoice(tx, sale, buyer, book),
        documents=document_money.of_account(tx, sale.id, account),
        to_pay_back=f"{max(owed_by_house(tx, sale, account), ZERO):.3f}",
        online_payments=online_showing.views(tx, online.of_buyer(tx, sale.id, buyer.id)),
        membership=members.of_buyer(tx, sale, buyer.id),
    )


def _is_to_invoice(tx: Transaction, sale: Sale, buyer: Buyer, book: SaleBook) -> bool:
    """Return whether lots or pledges of a buyer are on no invoice yet."""
    theirs = {number for number, one in book.posted.items() if one.settled.result.buyer == buyer.id}
    if theirs - documents.on_documents(tx, DocumentKind.INVOICE, [*theirs]):
        return True
    return bool(pledging.to_invoice(tx, sale, buyer.id, "en"))


def _statement(
    tx: Transaction, sale: Sale, consignor: Consignor, book: SaleBook, receipt: StoredDocument | None = None
) -> StatementView:
    account = Account(Book.CONSIGNORS, consignor.id)
    return StatementView(
        sale=sale.gid,
        consignor=consignor.code,
        person_name=consignor.name,
        settled_lots=_lots(book, lambda result: result.consignor == consignor.id),
        money=_money(tx, sale, account),
        to_pay_out=f"{-balance(tx, sale, account):.3f}",
        too_large_lots=[*book.too_large],
        lots_to_credit=crediting.to_credit(tx, sale, book, account),
        payment_receipt=None if receipt is None else receipt.gid,
        documents=document_money.of_account(tx, sale.id, account),
        is_in_doubt=_is_in_doubt(tx, sale, consignor),
    )


def _is_in_doubt(tx: Transaction, sale: Sale, consignor: Consignor) -> bool:
    """Return whether what a bank has said of a payout to a consignor in a sale waits for a person."""
    return (sale.id, consignor.id) in payout_reports.in_doubt(tx)


def _lots(book: SaleBook, wanted: Callable[[Result], bool]) -> list[SettledLotView]:
    return [
        settled_lot(one.lot.label, "" if one.auction is None else one.auction.name, posted.settled.bill)
        for one in book.offered
        if (posted := book.posted.get(one.lot.id)) is not None and wanted(posted.settled.result)
    ]


def _money(tx: Transaction, sale: Sale, account: Account) -> list[MoneyView]:
    moved = journal.money(tx, sale.id, account)
    return [money_view(one.at, way(one.posting.account.book), one.posting.amount) for one in moved]
