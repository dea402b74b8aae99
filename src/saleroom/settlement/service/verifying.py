"""`saleroom verify --database` for the journal: every entry balances, and agrees with what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from saleroom.settlement.domain.journal import (
    Account,
    Book,
    EntryKind,
    Posting,
    balances,
    is_balanced,
    of_credit,
    of_lot,
    reversed_,
)
from saleroom.settlement.storage import journal, online
from saleroom.settlement.storage.journal import Entry
from saleroom.storage.database import Transaction


def faults(tx: Transaction) -> Iterator[str]:
    """Yield the faults of the journal: an entry that was changed, does not balance, does not say what it should, or is gone.

    What an entry that was changed says is not read: nothing may be left of its form.
    """
    changed = frozenset(journal.changed(tx))
    yield from (f"journal entry {number}: it does not have its digest" for number in sorted(changed))
    yield from (f"journal of sale {number}: its last entry is not there" for number in journal.without_end(tx))
    stored = {one.id: one for one in journal.entries(tx, changed)}
    for one in stored.values():
        if one.reverses in changed:
            continue
        if not is_balanced(one.postings):
            yield f"journal entry {one.id}: it does not balance"
        expected = _expected(one, stored.get(one.reverses) if one.reverses is not None else None)
        if expected is not None and _moves(one.postings) != _moves(expected):
            yield f"journal entry {one.id}: it does not move what it rests on"
    yield from _online_faults(tx, stored, changed)


def _online_faults(tx: Transaction, stored: Mapping[int, Entry], changed: frozenset[int]) -> Iterator[str]:
    """Yield the payments by card online that are not posted as their rows say, and entries that no row has posted."""
    named = {number: expected for number, expected in online.posted(tx) if number not in changed}
    for number, expected in named.items():
        one = stored.get(number)
        if one is None or one.kind is not EntryKind.PAYMENT or _moves(one.postings) != _moves(expected):
            yield f"journal entry {number}: it is not the payment by card online, or the refund, that names it"
    for one in stored.values():
        if one.id not in named and any(each.account.book is Book.ONLINE for each in one.postings):
            yield f"journal entry {one.id}: no payment by card online and no refund names it"


def _expected(one: Entry, taken_back: Entry | None) -> Sequence[Posting] | None:
    """Return what an entry of a lot, a credit or a reversal must move; None for money, which rests on nothing else."""
    if one.kind is EntryKind.LOT:
        return () if one.settled is None else of_lot(one.settled)
    if one.kind is EntryKind.CREDIT:
        return () if one.settled is None else of_credit(one.settled)
    if one.kind is EntryKind.REVERSAL:
        return () if taken_back is None or taken_back.lot_id != one.lot_id else reversed_(taken_back.postings)
    return None


def _moves(postings: Sequence[Posting]) -> dict[Account, object]:
    return {account: amount for account, amount in balances(postings).items() if amount}
