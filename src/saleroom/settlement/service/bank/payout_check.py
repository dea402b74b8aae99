"""Payouts checked: each file has its digest and says what its rows say, and the journal has what became of each payout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Row

from saleroom.settlement.domain.bank.payouts import (
    FIRST,
    UNDER_WAY,
    PayoutState,
    content_digest,
    file_number,
    of_end,
    of_payout,
)
from saleroom.settlement.domain.bank.status_reports import ACCEPTED, BOOKED, REJECTED, BankAnswer, digest_of_said
from saleroom.settlement.domain.documents.retention import is_early
from saleroom.settlement.domain.journal import Account, Book, EntryKind
from saleroom.settlement.service.bank import sepa
from saleroom.settlement.storage import journal, payout_reports, payouts
from saleroom.settlement.storage.journal import StoredEntry
from saleroom.storage.database import Transaction


def payout_faults(tx: Transaction) -> Iterator[str]:
    """Yield every fault of payment files, of their payouts, and of the entries of these."""
    last: dict[int, tuple[int, str]] = {}
    known = journal.stored(tx, EntryKind.PAYOUT)
    said, used = payout_reports.stored(tx), list[int]()
    for file in payouts.stored_files(tx):
        place, before = last.get(file.year, (0, FIRST))
        name = f"payment file {file_number(file.year, file.place)}"
        if file.place != place + 1:
            yield f"{name}: the file before it is missing"
        rows = payouts.stored_payouts(tx, file.id)
        if payouts.digest_of_rows(file, rows, before) != file.digest:
            yield f"{name}: it does not have its digest"
        yield from (f"{name}: {fault}" for fault in _content_faults(file, rows))
        for row in rows:
            faults = (*_entry_faults(row, known), *_said_faults(file, row, said.get(row.id, ())))
            yield from (f"{name}, transfer {row.place}: {fault}" for fault in faults)
            used += [one for one in (row.entry_id, row.end_entry_id, row.back_entry_id) if one is not None]
        last[file.year] = (file.place, file.digest)
    if last != payouts.series(tx):
        yield "payment files: the last one is not that of its year"
    if sorted(used) != sorted(known):
        yield "payment files: their payouts are not those of the journal"


def _content_faults(file: Row[Any], rows: Sequence[Row[Any]]) -> Iterator[str]:
    if file.forgotten_at is not None:
        if file.content:
            yield "it is forgotten, and still says something"
        if is_early(file.made_at, file.forgotten_at):
            yield "it was forgotten too early"
        return
    if content_digest(file.content) != file.content_digest:
        yield "what it says is not what was written"
        return
    said = [(known_by, amount, iban[:2], iban[-len(one.ending) :]) for (known_by, amount, iban), one in
            zip(sepa.transfers_in(file.content), rows, strict=False)]  # fmt: skip
    if said != [(one.end_to_end, one.amount, one.country, one.ending) for one in rows]:
        yield "its transfers are not those of its rows"


def _entry_faults(row: Row[Any], known: Mapping[int, StoredEntry]) -> Iterator[str]:
    """Yield what of a payout the journal does not have."""
    account, state = Account(Book.CONSIGNORS, row.consignor_id), row.state
    if state not in set(PayoutState):
        yield "its state is none"
        return
    expected = {row.entry_id: of_payout(account, row.amount)}
    came_back = row.back_entry_id is not None
    if row.end_entry_id is not None:
        first = PayoutState.BOOKED if came_back else PayoutState(state)
        expected[row.end_entry_id] = of_end(first, PayoutState.SENT, account, row.amount)
    if came_back:
        expected[row.back_entry_id] = of_end(PayoutState.FAILED, PayoutState.BOOKED, account, row.amount)
    ended = row.end_entry_id is not None
    if ended != (state in {PayoutState.BOOKED, PayoutState.FAILED}) or (came_back and state != PayoutState.FAILED):
        yield "its state is not that of its entries"
    for number, moves in expected.items():
        due = {(one.account.book.value, one.account.party): one.amount for one in moves}
        if known.get(number) != StoredEntry(row.sale_id, due):
            yield f"journal entry {number} is not the one of it"


def _said_faults(file: Row[Any], row: Row[Any], said: Sequence[Row[Any]]) -> Iterator[str]:
    """Yield what banks have said of a payout that was changed, or that its state does not follow."""
    for one in said:
        told = BankAnswer(one.status, one.code, one.said)
        is_whole = one.digest == digest_of_said(row.end_to_end, one.message, one.said_at, told)
        forgotten = file.forgotten_at is not None and not one.said
        if one.seal != payout_reports.seal_of_row(one) or not (is_whole or forgotten):
            yield "what a bank has said of it was changed"
        if one.doubt is None and one.status == REJECTED and row.state != PayoutState.FAILED:
            yield "a bank has rejected it, and it has not failed"
        if one.doubt is None and one.status == BOOKED and row.state in UNDER_WAY:
            yield "a statement has booked it, and it is still under way"
        if one.doubt is None and one.status in ACCEPTED and row.state == PayoutState.MADE:
            yield "a bank has accepted it, and it is not with the bank"
