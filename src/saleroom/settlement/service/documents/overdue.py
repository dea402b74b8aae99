"""Invoices that are overdue, summed from the journal each time; and the end of bans of those who have paid."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from decimal import Decimal

from msgspec import Struct

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.service import sanctions
from saleroom.accounts.storage import erasures
from saleroom.accounts.storage import sanctions as sanction_rows
from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.journal import Account, Book
from saleroom.settlement.domain.reminders.reminding import Calendar, Step, StepKind, days_overdue, due_on, next_step
from saleroom.settlement.service.document_money import progress_of
from saleroom.settlement.service.fitting import invoices_to_credit
from saleroom.settlement.storage import documents, reminders
from saleroom.settlement.storage.documents import StoredDocument
from saleroom.storage.database import Transaction

Pair = tuple[int, int]
"""A buyer of a sale, by the numbers of the sale and the user."""
ALL_PAID = "All is paid. (Alles ist bezahlt.)"
"""Why a ban for strikes is lifted; in both languages, as the reason of a sanction is one text."""


class Overdue(Struct, frozen=True, kw_only=True):
    """An invoice whose day has passed, with what is open of it, and what was done about it."""

    issued: StoredDocument
    user_id: int
    open: Decimal
    due: date
    done: tuple[date, ...]
    step: Step | None

    def is_due(self, today: date) -> bool:
        """Return whether the day of the next step has come."""
        return self.step is not None and self.step.on <= today


def overdue(tx: Transaction, pairs: Collection[Pair] | None, calendar: Calendar) -> list[Overdue]:
    """Return the open invoices whose day has passed of buyers of sales who owe something, the earliest day first.

    None stands for all buyers. Nobody owes the price of a lot any more that is open again or was given to another paddle,
    though its invoice is not credited yet: an invoice that does not fit is left out, and what was paid is for the others.
    """
    owed = reminders.debtors(tx, None if pairs is None else {sale_id for sale_id, _ in pairs})
    owing = [pair for pair in owed if pairs is None or pair in pairs]
    today = calendar.day(tx.now())
    issued = documents.of_parties(tx, owing, [])
    to_credit = invoices_to_credit(tx, issued)
    found = [one for one in _open(tx, owing, issued, calendar, to_credit) if days_overdue(one.due, today)]
    return sorted(found, key=lambda one: (one.due, one.issued.id))


def owed_of(tx: Transaction, one: StoredDocument) -> Decimal:
    """Return what a buyer still owes of an invoice, as `overdue` sums it: nothing of one that does not fit any more."""
    user_id = one.owner.user_id
    if user_id is None:
        return ZERO
    account = (one.owner.sale_id, Account(Book.BUYERS, user_id))
    to_credit = invoices_to_credit(tx, documents.of_parties(tx, [(one.owner.sale_id, user_id)], []))
    found = progress_of(tx, [account], to_credit)[account].get(one.id)
    return ZERO if found is None else found.open


def _open(
    tx: Transaction,
    pairs: Collection[Pair],
    issued: Collection[StoredDocument],
    calendar: Calendar,
    left_out: Collection[int],
) -> list[Overdue]:
    """Return those that are open of the documents issued to buyers of sales, without those of the numbers `left_out`."""
    invoices = [one for one in issued if one.document.kind is DocumentKind.INVOICE and one.id not in left_out]
    known = progress_of(tx, [(sale_id, Account(Book.BUYERS, user_id)) for sale_id, user_id in pairs], left_out)
    done = reminders.done(tx, [one.id for one in invoices])
    begun = [one for one in invoices if one.id in done]
    gone = erasures.erased_among(tx, {one.owner.user_id for one in begun if one.owner.user_id is not None})
    struck = sanction_rows.ever_struck(tx, [one.gid for one in begun])
    found = []
    for one in invoices:
        user_id = one.owner.user_id
        assert user_id is not None, "an invoice is for a user"
        left = known[one.owner.sale_id, Account(Book.BUYERS, user_id)][one.id].open
        due = due_on(one.document.due_on, one.document.issued_on, calendar)
        if left > ZERO:
            days = tuple(calendar.day(at) for at in done.get(one.id, []))
            step = next_step(due, days, calendar, is_struck=one.gid in struck)
            if step is not None and step.kind is StepKind.STRIKE and user_id in gone:
                step = None  # they cannot bid any more, and their strikes went with them
            found.append(Overdue(issued=one, user_id=user_id, open=left, due=due, done=days, step=step))
    return found


def lift_if_paid(tx: Transaction, user_id: int, by: Staff | None) -> None:
    """Lift the ban of a user for strikes once nothing of the invoices that they have strikes for is open.

    Nothing is open of an invoice that does not fit any more.
    """
    if not sanction_rows.is_barred_for(tx, user_id, sanctions.STRIKES):
        return
    struck = documents.find_all(tx, sanction_rows.struck(tx, user_id))
    pairs = [(one.owner.sale_id, user_id) for one in struck.values()]
    issued = documents.of_parties(tx, pairs, [])
    left = _open(tx, pairs, issued, Calendar(), invoices_to_credit(tx, issued))
    if not any(one.issued.gid in struck for one in left):
        sanctions.lift_for_strikes(tx, user_id, by, ALL_PAID)
