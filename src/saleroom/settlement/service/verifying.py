"""`saleroom verify --database` for the journal: every entry balances, and agrees with what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from saleroom.settlement.domain.journal import (
    Account,
    Kind,
    Posting,
    balances,
    is_balanced,
    of_credit,
    of_lot,
    reversed_,
)
from saleroom.settlement.storage import journal
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


def _expected(one: Entry, taken_back: Entry | None) -> Sequence[Posting] | None:
    """Return what an entry of a lot, a credit or a reversal must move; None for money, which rests on nothing else."""
    if one.kind is Kind.LOT:
        return () if one.settled is None else of_lot(one.settled)
    if one.kind is Kind.CREDIT:
        return () if one.settled is None else of_credit(one.settled)
    if one.kind is Kind.REVERSAL:
        return () if taken_back is None or taken_back.lot_id != one.lot_id else reversed_(taken_back.postings)
    return None


def _moves(postings: Sequence[Posting]) -> dict[Account, object]:
    return {account: amount for account, amount in balances(postings).items() if amount}
