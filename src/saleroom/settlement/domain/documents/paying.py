"""What is paid of documents: payments go to the oldest document first, and nothing of it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import Struct, structs

from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.documents.content import Payment


class Progress(Struct, frozen=True):
    """How far a document is paid: what is paid of it, and what is open. `open` is negative if the house owes."""

    paid: Decimal
    open: Decimal


def progress(totals: Sequence[Decimal], money: Decimal) -> list[Progress]:
    """Return how far each document of one account is paid, the oldest first.

    `totals` are those of the documents without what credit notes took back, `money` is all that was paid on the account.
    """
    left, found = max(money, ZERO), list[Progress]()
    for total in totals:
        paid = min(left, max(total, ZERO))
        left -= paid
        found.append(Progress(paid, total - paid))
    return found


def before(payments: Iterable[Payment], amount: Decimal) -> tuple[Payment, ...]:
    """Return the payments that make up `amount`, the latest ones: what a document says was paid before it was issued."""
    left, found = amount, list[Payment]()
    for one in reversed([*payments]):
        part = min(one.amount, left) if one.amount > ZERO else max(one.amount, ZERO)
        if part > ZERO:
            found.insert(0, structs.replace(one, amount=part))
            left -= part
    return tuple(found)
