"""Payouts by payment files: what is due, one file for many, what became of each, and what the bank says of them.

The file and its entries are one transaction under the locks of its sales. From then on the consignors are paid, and the money
is in transit until the bank has booked it or it comes back.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.kernel.errors import Contradiction, Fault
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.instants import instant
from saleroom.kernel.money import ZERO
from saleroom.kernel.page import Page, page_of
from saleroom.sales.domain.errors import UnknownConsignor, UnknownSale
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import lock_one
from saleroom.sales.storage import consignors, sales
from saleroom.settlement.domain.bank import payouts as rules
from saleroom.settlement.domain.bank.payout_views import BankAnswerView, DuePayoutView, PaymentFileView, PayoutView
from saleroom.settlement.domain.bank.payouts import (
    BEFORE,
    PayingHouse,
    PayoutMark,
    PayoutState,
    end_to_end,
    file_number,
    of_end,
    of_payout,
)
from saleroom.settlement.domain.bank.transfers import AMOUNT_MAX, CURRENCY, BankAccount, Transfer, masked
from saleroom.settlement.domain.documents.content import DocumentKind, finer_fault
from saleroom.settlement.domain.errors import (
    FileForgotten,
    NoHouseAccount,
    NoPayoutAccount,
    NotOwedByHouse,
    OnlyEuros,
    PayoutDecided,
    PayoutInDoubt,
    PayoutUnderWay,
    UnknownPaymentFile,
)
from saleroom.settlement.domain.journal import Account, Book, EntryKind
from saleroom.settlement.service import money_mails
from saleroom.settlement.service.bank import sepa
from saleroom.settlement.service.desk import balance, begin
from saleroom.settlement.storage import documents, journal, payout_accounts, payout_reports, payouts
from saleroom.settlement.storage.payout_reports import BankReport
from saleroom.settlement.storage.payouts import NewPaymentFile, PaymentFile, Payout
from saleroom.storage.database import Transaction

Barred = Mapping[tuple[int, int], type[PayoutUnderWay | PayoutInDoubt]]
_encode = msgspec.json.Encoder().encode


class Chosen(Struct, frozen=True, kw_only=True):
    """What is to be paid out to a consignor in a sale: all that the house owes them, or a part of it."""

    sale: str
    consignor: str
    amount: Decimal


class DuePage(Struct, frozen=True):
    """What the house owes consignors: a page of it by sales, and the sum over all sales."""

    payouts: Page[DuePayoutView, int]
    total: str


def due(tx: Transaction, token: str | None, limit: int, before: int | None) -> DuePage:
    """Return what the house owes consignors, as far as it is posted: a page of up to `limit` sales, the latest first.

    The next page begins before the number of a sale. Raises Unauthenticated or MissingRight.
    """
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    every, open_ones, doubts = payouts.due(tx), payouts.under_way(tx), payout_reports.in_doubt(tx)
    later = [number for number in dict.fromkeys(one.sale_id for one in every) if before is None or number < before]
    page = page_of(later, limit, lambda number: number)
    found = [one for one in every if one.sale_id in set(page.rows)]
    of_sales = sales.by_ids(tx, {one.sale_id for one in found})
    people = consignors.by_ids(tx, {one.consignor_id for one in found})
    accounts = payout_accounts.of_consignors(tx, {one.consignor_id for one in found})
    rows = []
    for one in found:
        sale, person, kept = of_sales[one.sale_id], people[one.consignor_id], accounts.get(one.consignor_id)
        rows.append(
            DuePayoutView(
                sale=sale.gid,
                sale_title=sale.terms.title,
                consignor=person.code,
                person_name=person.name,
                to_pay_out=f"{one.owed:.3f}",
                masked_iban=None if kept is None else kept.account.masked,
                is_under_way=(one.sale_id, one.consignor_id) in open_ones,
                is_in_doubt=(one.sale_id, one.consignor_id) in doubts,
            )
        )
    total = sum((one.owed for one in every), ZERO)
    return DuePage(page.with_rows(rows), f"{total:.3f}")


def make(
    tx: Transaction,
    token: str,
    chosen: Sequence[Chosen],
    payer: PayingHouse,
    house: BankAccount | None,
    key: IdempotencyKey | None = None,
) -> bytes:
    """Make the payment file of some payouts, post them, and return its JSON. `house` is the account that they come from.

    All of it is done, or nothing. Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownConsignor,
    OnlyEuros, NoHouseAccount, NoPayoutAccount, PayoutUnderWay, PayoutInDoubt, NotOwedByHouse, or Contradiction for an amount
    that no transfer can have.
    """
    staff = authenticate(tx, token, Right.SETTLE)
    begun: dict[str, Sale] = {}
    for sale in sorted(_sales(tx, chosen), key=lambda one: one.id):  # in one order, so that two files wait, not lock up
        staff, begun[sale.gid], _ = begin(tx, token, sale.gid, payer.places)

    def do() -> bytes:
        if payer.currency != CURRENCY:
            raise OnlyEuros
        if house is None:
            raise NoHouseAccount
        _refuse_amounts(chosen, payer.places)
        now = tx.now()
        place = payouts.take_place(tx, now.year)
        number = file_number(place.year, place.place)
        message = rules.message_id(number, secrets.token_hex(3))
        barred: dict[tuple[int, int], type[PayoutUnderWay | PayoutInDoubt]] = {}
        barred |= dict.fromkeys(payout_reports.in_doubt(tx), PayoutInDoubt)
        barred |= dict.fromkeys(payouts.under_way(tx), PayoutUnderWay)
        transfers, rows = list[Transfer](), list[dict[str, Any]]()
        for turn, one in enumerate(chosen, 1):
            transfer, row = _pay(tx, staff, begun[one.sale], one, end_to_end(message, turn), payer, barred)
            barred[row["sale_id"], row["consignor_id"]] = PayoutUnderWay
            transfers.append(transfer)
            rows.append({**row, "place": turn})
        content = sepa.payment_file(message, now, house, transfers)
        made = payouts.add(tx, place, NewPaymentFile(message, now, staff.id, content), rows)
        total = sum((one.amount for one in chosen), ZERO)
        facts: Facts = {"payouts": len(chosen), "total": str(total)}
        audit.note(tx, staff, Act.PAYMENT_FILE_MADE, number, {}, facts)
        return _encode(view_of(tx, made))

    return once(tx, staff, key, do)


def _sales(tx: Transaction, chosen: Sequence[Chosen]) -> list[Sale]:
    found = {gid: sales.get(tx, gid) for gid in {one.sale for one in chosen}}
    known = [sale for sale in found.values() if sale is not None]
    if len(known) < len(found):
        raise UnknownSale
    return known


def _refuse_amounts(chosen: Sequence[Chosen], places: int) -> None:
    fault = finer_fault((one.amount for one in chosen), places)
    if fault is None and any(one.amount > AMOUNT_MAX for one in chosen):
        fault = Fault("transfer_amount", f"must be at most {AMOUNT_MAX:.2f} in one transfer")
    if fault is not None:
        raise Contradiction({"payouts": [fault]})


def _pay(
    tx: Transaction, staff: Staff, sale: Sale, one: Chosen, known_by: str, payer: PayingHouse, barred: Barred
) -> tuple[Transfer, dict[str, Any]]:
    """Post a payout, and return its transfer and its row; `barred` says who gets none in which sale, and why."""
    person = consignors.find(tx, one.consignor)
    if person is None:
        raise UnknownConsignor
    account, kept = Account(Book.CONSIGNORS, person.id), payout_accounts.of_consignors(tx, [person.id]).get(person.id)
    if kept is None:
        raise NoPayoutAccount(consignor=one.consignor)
    refused = barred.get((sale.id, person.id))
    if refused is not None:
        raise refused(consignor=one.consignor)
    owed = -balance(tx, sale, account)
    if one.amount > owed:
        raise NotOwedByHouse(owed=max(owed, ZERO))
    entry = journal.add(tx, sale.id, EntryKind.PAYOUT, of_payout(account, one.amount), staff.id)
    text = _text(tx, sale, person.id, payer)
    transfer = Transfer(end_to_end=known_by, to=kept.account, amount=one.amount, text=text)
    row = {
        "sale_id": sale.id, "consignor_id": person.id, "amount": one.amount, "country": kept.account.iban[:2],
        "ending": kept.account.ending, "end_to_end": known_by, "entry_id": entry,
    }  # fmt: skip
    return transfer, row


def _text(tx: Transaction, sale: Sale, consignor_id: int, payer: PayingHouse) -> str:
    """Return the text of a transfer: the numbers of the statements that it pays, or the sale if there is none."""
    found = documents.of_parties(tx, [], [(sale.id, consignor_id)])
    numbers = [one.document.number for one in found if one.document.kind is DocumentKind.STATEMENT]
    return ", ".join([*numbers[-3:], sale.terms.title, payer.name])


def listed(tx: Transaction, token: str | None, limit: int, before: int | None) -> Page[PaymentFileView, int]:
    """Return a page of payment files, the newest first. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    page = page_of(payouts.newest(tx, limit + 1, before), limit, lambda one: one.id)
    of_files = payouts.of_files(tx, [one.id for one in page.rows])
    said = payout_reports.of_payouts(tx, [row.id for rows in of_files.values() for row in rows])
    return page.with_rows([_view(one, of_files[one.id], said) for one in page.rows])


def shown(tx: Transaction, token: str | None, gid: str) -> PaymentFileView:
    """Return a payment file. Raises Unauthenticated, MissingRight or UnknownPaymentFile."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    return view_of(tx, known(tx, gid))


def content(tx: Transaction, token: str, gid: str) -> tuple[str, str]:
    """Return the number of a payment file and its XML, the same each time.

    Raises Unauthenticated, MissingRight, UnknownPaymentFile or FileForgotten.
    """
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    found = known(tx, gid)
    if found.is_forgotten:
        raise FileForgotten
    return file_number(found.year, found.place), found.content


def mark(tx: Transaction, token: str, gid: str, new: PayoutMark, key: IdempotencyKey | None = None) -> bytes:
    """Mark payouts of a file, and return the JSON of the file.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownPaymentFile, or PayoutDecided for one that cannot have it.
    """
    authenticate(tx, token, Right.SETTLE)
    found = known(tx, gid)
    rows = payouts.of_files(tx, [found.id])[found.id]
    for _, sale in sorted({(one.sale_id, one.sale) for one in rows}):
        lock_one(tx, sale)
    staff = authenticate(tx, token, Right.SETTLE)  # they may have lost it while others held the locks

    def do() -> bytes:
        rows = payouts.of_files(tx, [found.id])[found.id]
        by_place = dict(enumerate(rows, 1))
        can = [place for place, one in by_place.items() if one.state in BEFORE[new.state]]
        chosen = sorted(set(new.places)) or can
        unable = [place for place in chosen if place not in can]
        if unable or not chosen:
            decided = [by_place[place].state.value for place in unable if place in by_place]
            raise PayoutDecided(state=next(iter(decided), None))
        for place in chosen:
            follow(tx, staff, by_place[place], new.state, new.reason)
        return _encode(view_of(tx, found))

    return once(tx, staff, key, do)


def follow(tx: Transaction, staff: Staff, one: Payout, state: PayoutState, reason: str | None) -> int | None:
    """Give a payout, whose sale is locked, another state; return the entry that posts it, None if nothing moves."""
    account = Account(Book.CONSIGNORS, one.consignor_id)
    moves = of_end(state, one.state, account, one.amount)
    entry = journal.add(tx, one.sale_id, EntryKind.PAYOUT, moves, staff.id) if moves else None
    payouts.mark(tx, one, state, entry, reason if state is PayoutState.FAILED else None)
    if state is not PayoutState.SENT:
        payout_reports.check(tx, one.id, staff.id)  # what was in doubt about it is known by that
    facts = {"state": state.value, "amount": str(one.amount)}
    audit.note(tx, staff, Act.PAYOUT_MARKED, one.end_to_end, {"state": one.state.value}, facts, reason or "")
    if state is not PayoutState.FAILED:
        money_mails.tell_of_payout(tx, one)
    elif one.state in rules.TOLD:
        money_mails.tell_of_failed_payout(tx, one)
    return entry


def known(tx: Transaction, gid: str) -> PaymentFile:
    """Return a payment file. Raises UnknownPaymentFile."""
    found = payouts.find(tx, gid)
    if found is None:
        raise UnknownPaymentFile
    return found


def view_of(tx: Transaction, one: PaymentFile) -> PaymentFileView:
    """Return a payment file as JSON has it, with what has become of its payouts."""
    rows = payouts.of_files(tx, [one.id])[one.id]
    return _view(one, rows, payout_reports.of_payouts(tx, [row.id for row in rows]))


def _view(one: PaymentFile, rows: Sequence[Payout], said: Mapping[int, Sequence[BankReport]]) -> PaymentFileView:
    return PaymentFileView(
        payment_file=one.gid,
        file_number=file_number(one.year, one.place),
        made_at=instant(one.made_at),
        file_total=f"{sum((row.amount for row in rows), ZERO):.3f}",
        is_forgotten=one.is_forgotten,
        payouts=[_payout_view(place, row, said[row.id]) for place, row in enumerate(rows, 1)],
    )


def _payout_view(place: int, one: Payout, said: Sequence[BankReport]) -> PayoutView:
    return PayoutView(
        transfer_number=place,
        sale=one.sale,
        sale_title=one.sale_title,
        consignor=one.consignor,
        person_name=one.person_name,
        transferred=f"{one.amount:.3f}",
        masked_iban=masked(one.country, one.ending),
        end_to_end_id=one.end_to_end,
        payout_state=one.state.value,
        reason=one.reason,
        is_in_doubt=any(each.waits for each in said),
        bank_said=[_said_view(each) for each in said],
    )


def _said_view(one: BankReport) -> BankAnswerView:
    return BankAnswerView(
        said_at=one.said_at,
        bank_status=one.said.status,
        bank_reason=one.said.code or None,
        bank_text=one.said.text or None,
        doubt=None if one.doubt is None else one.doubt.value,
        is_checked=one.checked_at is not None,
    )
