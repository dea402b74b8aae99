"""Money from the bank: statements imported, sure payments taken for their invoices, doubtful ones decided by a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.accounts.storage import accounts as users
from saleroom.kernel.errors import Contradiction, Invalid
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.money import ZERO
from saleroom.kernel.page import Page, page_of
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import participants, sales
from saleroom.settlement.domain.bank.bank_views import BankPaymentView, ImportedStatementView, ProposalView
from saleroom.settlement.domain.bank.banking import (
    Assignment,
    BankPayment,
    BankStatement,
    Certainty,
    Open,
    account_fault,
    digests,
    future_fault,
    numbers_in,
    verdict,
)
from saleroom.settlement.domain.documents.content import Letterhead, finer_fault
from saleroom.settlement.domain.errors import BankPaymentDecided, OtherCurrency, UnknownBankPayment
from saleroom.settlement.domain.journal import Account, Book, EntryKind, Method, of_money
from saleroom.settlement.service import money_mails
from saleroom.settlement.service.bank import payout_booking
from saleroom.settlement.service.buyers import find_buyer
from saleroom.settlement.service.desk import begin
from saleroom.settlement.service.documents.overdue import lift_if_paid
from saleroom.settlement.service.fitting import invoices_to_credit
from saleroom.settlement.storage import bank, documents, journal
from saleroom.settlement.storage.bank import StoredPayment
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.storage.database import Transaction

PROPOSALS_MAX = 3
INVOICES_SEARCHED_MAX = 1_000
"""How many of the last invoices are searched for the amount of a payment that names none."""
_encode = msgspec.json.Encoder().encode


def refuse(tx: Transaction, token: str) -> None:
    """Raise Unauthenticated or MissingRight unless somebody may import a statement, before it is read."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)


def import_statement(tx: Transaction, token: str, statement: BankStatement, head: Letterhead) -> ImportedStatementView:
    """Keep the payments of a statement that are new, and take those that are surely for an invoice.

    A payment that came in a file before is not taken again. Raises Unauthenticated, MissingRight, or Invalid for a statement of
    another account or with a day in the future.
    """
    staff = authenticate(tx, token, Right.SETTLE)
    fault = account_fault(statement, None if head.bank is None else head.bank.iban)
    fault = fault or future_fault(statement, head.calendar.day(tx.now()))
    if fault is not None:
        raise Invalid({"statement": [fault]})
    known_by = digests(statement.payments)
    made = bank.add(tx, list(zip(known_by, statement.payments, strict=True)), staff.id)
    new = [(digest, one) for digest, one in zip(known_by, statement.payments, strict=True) if digest in made]
    numbered = [(made[digest][0], one) for digest, one in new]
    by_sale = _by_sale(tx, numbered)
    begun = _begin_all(tx, token, {*by_sale, *_sales_of_payouts(tx, statement)}, head.places)
    booked = payout_booking.book(tx, staff, statement.debits)
    returned = _take_back(tx, staff, numbered)
    taken = _take_sure(tx, begun, by_sale)
    gone_out = {one.end_to_end for one in statement.debits}
    found = ImportedStatementView(
        new_payments=len(new),
        known_payments=len(statement.payments) - len(new),
        taken_payments=taken,
        doubtful_payments=len(new) - taken - returned,
        other_entries=statement.others,
        booked_payouts=booked,
        returned_payouts=returned,
        doubtful_debits=[one for one in payout_booking.in_doubt(tx) if one.end_to_end_id in gone_out],
    )
    if new or booked:
        facts = {"new": len(new), "taken": taken, "payouts": booked}
        audit.note(tx, staff, Act.BANK_STATEMENT_IMPORTED, "bank", {}, facts)
    return found


class _InvoicePayment(Struct, frozen=True):
    """A payment, by its number, that names one invoice."""

    number: int
    payment: BankPayment
    invoice: StoredDocument


def _sales_of_payouts(tx: Transaction, statement: BankStatement) -> set[int]:
    """Return the sales of the payouts that a statement names."""
    said = [one.end_to_end for one in statement.debits] + [text for one in statement.payments for text in one.texts]
    return {one.sale_id for one in payout_booking.numbers_of(tx, said).values()}


def _begin_all(tx: Transaction, token: str, numbers: Collection[int], places: int) -> dict[int, tuple[Staff, Sale]]:
    """Lock these sales in one order, so that two imports wait, not lock up; return them with who settles them."""
    of_sales = sales.by_ids(tx, numbers)
    return {number: begin(tx, token, of_sales[number].gid, places)[:2] for number in sorted(numbers)}


def _take_back(tx: Transaction, staff: Staff, new: Sequence[tuple[int, BankPayment]]) -> int:
    """Take payments that are payouts which have come back, and return how many."""
    returned = 0
    for number, one in new:
        entry = payout_booking.take_back(tx, staff, one.texts, one.amount, one.currency)
        if entry is not None:
            bank.settle(tx, number, entry_id=entry)
            returned += 1
    return returned


def _by_sale(tx: Transaction, new: Sequence[tuple[int, BankPayment]]) -> dict[int, list[_InvoicePayment]]:
    """Return the payments that name one invoice, with it, by the number of its sale."""
    named = {number: numbers_in(one.texts) for number, one in new}
    invoices = bank.invoices(tx, {one for numbers in named.values() for one in numbers})
    by_sale: dict[int, list[_InvoicePayment]] = {}
    for number, one in new:
        known = [invoices[name] for name in named[number] if name in invoices]
        if len(known) == 1:
            by_sale.setdefault(known[0].owner.sale_id, []).append(_InvoicePayment(number, one, known[0]))
    return by_sale


def _take_sure(
    tx: Transaction, begun: Mapping[int, tuple[Staff, Sale]], by_sale: Mapping[int, Sequence[_InvoicePayment]]
) -> int:
    """Take the payments that are surely for an invoice, and return how many."""
    taken, due = 0, _due(tx, {one.invoice.id: one.invoice for some in by_sale.values() for one in some})
    owed = journal.balances(tx, {_debt(one.invoice) for some in by_sale.values() for one in some})
    for sale_id in sorted(by_sale):
        staff, sale = begun[sale_id]
        for one in by_sale[sale_id]:
            (_, buyer), amount, debt = _owner(one.invoice), one.payment.amount, _debt(one.invoice)
            document = one.invoice.document
            named = Open(number=document.number, currency=document.currency, due=due[one.invoice.id], owed=owed[debt])
            if verdict(one.payment, [named]) is Certainty.SURE:
                entry = _post(tx, sale, buyer, amount, staff)
                owed[debt] -= amount
                bank.settle(tx, one.number, entry_id=entry)
                audit.note(tx, staff, Act.MONEY_TAKEN, buyer, {}, {"sale": sale.gid, "bank": str(amount)})
                taken += 1
    return taken


def _due(tx: Transaction, invoices: Mapping[int, StoredDocument]) -> dict[int, Decimal]:
    """Return what is due of invoices, by their numbers: without the lines that credit notes have taken back.

    Nothing is due of one that does not fit any more, so a person decides what a payment for it is.
    """
    credited, unfit = documents.credited_of(tx, invoices), invoices_to_credit(tx, invoices.values())
    found = dict.fromkeys(invoices, ZERO)
    for number in invoices.keys() - unfit:
        document = invoices[number].document
        gone = sum((line.total for place, line in enumerate(document.lines) if place in credited[number]), ZERO)
        found[number] = document.due - gone
    return found


def _post(tx: Transaction, sale: Sale, buyer: int, amount: Decimal, by: Staff) -> int:
    postings = of_money(Account(Book.BUYERS, buyer), Method.BANK, amount)
    entry = journal.add(tx, sale.id, EntryKind.PAYMENT, postings, by.id)
    lift_if_paid(tx, buyer, by)
    money_mails.tell_of_payment(tx, sale, buyer, entry, str(amount))
    return entry


def listed(
    tx: Transaction, token: str | None, *, waiting: bool, before: int | None, limit: int
) -> Page[BankPaymentView, int]:
    """Return a page of payments, the newest first. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    found = bank.newest(tx, waiting=waiting, before=before, limit=limit + 1)
    page = page_of(found, limit, lambda one: one.id)
    proposed = _proposals(tx, [one for one in page.rows if one.waits])
    return page.with_rows([_view(one, proposed.get(one.id, [])) for one in page.rows])


def take(
    tx: Transaction, token: str, gid: str, to: Assignment, head: Letterhead, key: IdempotencyKey | None = None
) -> bytes:
    """Take a payment for a buyer of a sale, also more than is owed, and return its JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownParticipant, UnknownBankPayment,
    BankPaymentDecided, OtherCurrency, or Contradiction for an amount that the currency cannot pay.
    """
    staff, sale, _ = begin(tx, token, to.sale, head.places)

    def do() -> bytes:
        buyer, found = find_buyer(tx, sale, to.who), _waiting(tx, gid)
        if found.currency != head.currency:
            raise OtherCurrency
        if finer_fault([found.amount], head.places) is not None:
            raise Contradiction.one(
                "sale", "set_aside", f"cannot get more than {head.places} decimals: set the payment aside"
            )
        entry = _post(tx, sale, buyer.id, found.amount, staff)
        bank.settle(tx, found.id, entry_id=entry)
        audit.note(tx, staff, Act.MONEY_TAKEN, buyer.id, {}, {"sale": to.sale, "bank": str(found.amount)})
        return _encode(_view(msgspec.structs.replace(found, entry_id=entry, sale=to.sale), []))

    return once(tx, staff, key, do)


def set_aside(tx: Transaction, token: str, gid: str, reason: str, key: IdempotencyKey | None = None) -> bytes:
    """Note that a payment is for no buyer, with a reason, and return its JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownBankPayment or BankPaymentDecided.
    """
    staff = authenticate(tx, token, Right.SETTLE)

    def do() -> bytes:
        found = _waiting(tx, gid)
        bank.settle(tx, found.id, reason=reason)
        audit.note(tx, staff, Act.BANK_PAYMENT_SET_ASIDE, gid, {}, {"amount": str(found.amount)}, reason)
        return _encode(_view(msgspec.structs.replace(found, reason=reason), []))

    return once(tx, staff, key, do)


def _waiting(tx: Transaction, gid: str) -> StoredPayment:
    found = bank.find(tx, gid, locked=True)
    if found is None:
        raise UnknownBankPayment
    if not found.waits:
        raise BankPaymentDecided
    return found


class _Buyer(Struct, frozen=True):
    """A buyer as proposals show them, by paddle or username."""

    who: str
    name: str
    left: Decimal


def _proposals(tx: Transaction, waiting: Sequence[StoredPayment]) -> dict[int, list[ProposalView]]:
    """Return for each payment the invoices that it names, otherwise those of its amount that fit."""
    named = {one.id: numbers_in([one.said]) for one in waiting}
    invoices = bank.invoices(tx, {number for numbers in named.values() for number in numbers})
    chosen = {one.id: [invoices[name] for name in named[one.id] if name in invoices] for one in waiting}
    if not all(chosen.values()):
        by_amount: dict[tuple[Decimal, str], list[StoredDocument]] = {}
        for issued in bank.newest_invoices(tx, INVOICES_SEARCHED_MAX):
            by_amount.setdefault((issued.document.due, issued.document.currency), []).append(issued)
        likely = {one.id: by_amount.get((one.amount, one.currency), []) for one in waiting if not chosen[one.id]}
        unfit = invoices_to_credit(tx, [one for some in likely.values() for one in some])
        chosen |= {number: [one for one in some if one.id not in unfit] for number, some in likely.items()}
    short = {number: some[:PROPOSALS_MAX] for number, some in chosen.items()}
    of_sales = sales.by_ids(tx, {one.owner.sale_id for some in short.values() for one in some})
    buyers = _buyers(tx, {_owner(one) for some in short.values() for one in some})
    return {number: [_proposal(one, of_sales, buyers) for one in some] for number, some in short.items()}


def _buyers(tx: Transaction, pairs: Collection[tuple[int, int]]) -> dict[tuple[int, int], _Buyer]:
    known = participants.of_pairs(tx, list(pairs), locked=False)
    names = users.names_of(tx, [user for _, user in pairs])
    left = journal.balances(tx, [(sale_id, Account(Book.BUYERS, user)) for sale_id, user in pairs])
    found = {}
    for pair in pairs:
        sale_id, user = pair
        one, name = known.get(pair), names.get(user, "")
        who = str(one.paddle) if one is not None and one.paddle is not None else name
        found[pair] = _Buyer(who, name if one is None else one.name or name, left[sale_id, Account(Book.BUYERS, user)])
    return found


def _debt(invoice: StoredDocument) -> tuple[int, Account]:
    """Return the account of the buyer of an invoice, with the number of the sale."""
    sale_id, buyer = _owner(invoice)
    return sale_id, Account(Book.BUYERS, buyer)


def _owner(invoice: StoredDocument) -> tuple[int, int]:
    assert invoice.owner.user_id is not None, "an invoice is for a user"
    return invoice.owner.sale_id, invoice.owner.user_id


def _proposal(
    invoice: StoredDocument, of_sales: Mapping[int, Sale], buyers: Mapping[tuple[int, int], _Buyer]
) -> ProposalView:
    sale, buyer = of_sales[invoice.owner.sale_id], buyers[_owner(invoice)]
    return ProposalView(
        document_number=invoice.document.number,
        sale=sale.gid,
        sale_title=sale.terms.title,
        buyer=buyer.who,
        person_name=buyer.name,
        amount_due=f"{invoice.document.due:.3f}",
        left_to_pay=f"{buyer.left:.3f}",
    )


def _view(one: StoredPayment, proposals: list[ProposalView]) -> BankPaymentView:
    return BankPaymentView(
        bank_payment=one.gid,
        booked_on=one.on,
        received=f"{one.amount:.3f}",
        currency=one.currency,
        payer=one.payer,
        payer_text=one.said,
        waits=one.waits,
        sale=one.sale,
        reason=one.reason,
        proposals=proposals,
    )
