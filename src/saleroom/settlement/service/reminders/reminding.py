"""Reminders: the steps of the calendar about invoices that are overdue: reminders, and in the end a strike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit, sanctions
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.accounts.storage import mail_addresses
from saleroom.accounts.storage import sanctions as sanction_rows
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.kernel.money import ZERO
from saleroom.outbox.kinds import MailKind, Sign
from saleroom.outbox.message import Word, number_of
from saleroom.sales.storage import sales
from saleroom.settlement.domain.documents.content import DocumentKind
from saleroom.settlement.domain.errors import NoStrike, NotOverdue, ReminderNotDue, UnknownDocument
from saleroom.settlement.domain.reminders.reminder_views import (
    OverdueInvoicesView,
    OverdueInvoiceView,
    RemindedView,
    ReminderStepView,
)
from saleroom.settlement.domain.reminders.reminding import Calendar, Step, StepKind, days_overdue
from saleroom.settlement.service import money_mails
from saleroom.settlement.service.buyers import buyers_of
from saleroom.settlement.service.desk import begin
from saleroom.settlement.service.documents.overdue import Overdue, Pair, lift_if_paid, overdue, owed_of
from saleroom.settlement.storage import documents, reminders
from saleroom.storage.database import Transaction

_NOT_PAID = "Not paid (nicht bezahlt): {}"
_encode = msgspec.json.Encoder().encode


def listed(tx: Transaction, token: str | None, calendar: Calendar) -> OverdueInvoicesView:
    """Return all invoices that are overdue. Raises Unauthenticated or MissingRight."""
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    found = overdue(tx, None, calendar)
    of_sales = sales.by_ids(tx, {one.issued.owner.sale_id for one in found})
    struck = sanction_rows.struck_all(tx, {one.user_id for one in found})
    buyers = buyers_of(tx, {(one.issued.owner.sale_id, one.user_id) for one in found})
    reached = mail_addresses.verified(tx, {one.user_id for one in found})
    today = calendar.day(tx.now())
    views = []
    for one in found:
        sale = of_sales[one.issued.owner.sale_id]
        buyer, document = buyers[sale.id, one.user_id], one.issued.document
        step, subjects = one.step, struck.get(one.user_id, [])
        views.append(
            OverdueInvoiceView(
                document=one.issued.gid,
                document_number=document.number,
                sale=sale.gid,
                sale_title=sale.terms.title,
                buyer=str(buyer.paddle or buyer.username),
                person_name=document.party.name,
                total=f"{document.total:.3f}",
                still_open=f"{one.open:.3f}",
                due_on=one.due.isoformat(),
                days_overdue=days_overdue(one.due, today),
                reminded_on=[day.isoformat() for day in one.done],
                next_step=None
                if step is None
                else ReminderStepView(
                    step_kind=step.kind.value,
                    step_number=step.level,
                    step_on=step.on.isoformat(),
                    is_due=one.is_due(today),
                ),
                has_strike=one.issued.gid in subjects,
                strikes=len(subjects),
                has_mail=one.user_id in reached,
            )
        )
    return OverdueInvoicesView(
        overdue_invoices=views,
        due_steps=sum(one.is_due(today) for one in found),
        open_total=f"{sum((one.open for one in found), ZERO):.3f}",
    )


def remind(
    tx: Transaction, token: str, gid: str, calendar: Calendar, places: int, key: IdempotencyKey | None = None
) -> bytes:
    """Do the next step about an invoice that is overdue, and return the JSON of what was done.

    A strike needs the right to sanction people. Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownDocument,
    NotOverdue or ReminderNotDue.
    """
    sale_gid = _sale_of(tx, token, gid)
    staff, sale, _ = begin(tx, token, sale_gid, places)

    def do() -> bytes:
        found = documents.find(tx, gid)
        pair = (sale.id, found.owner.user_id or 0) if found is not None else (sale.id, 0)
        one = next((one for one in overdue(tx, [pair], calendar) if one.issued.gid == gid), None)
        if one is None or found is None or found.document.kind is not DocumentKind.INVOICE:
            raise NotOverdue
        if one.step is None or not one.is_due(calendar.day(tx.now())):
            raise ReminderNotDue(on=None if one.step is None else one.step.on.isoformat())
        if one.step.kind is StepKind.STRIKE:
            staff.refuse_without(Right.SANCTION_PEOPLE)
        return _encode(_done([do_step(tx, one, one.step, calendar, staff)]))

    return once(tx, staff, key, do)


def remind_all(
    tx: Transaction, token: str, calendar: Calendar, places: int, key: IdempotencyKey | None = None
) -> bytes:
    """Do each step whose day has come, about all invoices, and return the JSON of what was done.

    Strikes are left for those with the right to sanction people. Raises Unauthenticated, MissingRight or IdempotencyMismatch.
    """
    staff = authenticate(tx, token, Right.SETTLE)

    def do() -> bytes:
        strikes = Right.SANCTION_PEOPLE in staff.rights
        by_sale: dict[int, list[Pair]] = {}
        for pair in reminders.debtors(tx):
            by_sale.setdefault(pair[0], []).append(pair)
        made = []
        for sale_id in sorted(by_sale):
            begin(tx, token, sales.by_id(tx, sale_id).gid, places)
            for one in overdue(tx, by_sale[sale_id], calendar):
                step = one.step
                if (
                    step is not None
                    and one.is_due(calendar.day(tx.now()))
                    and (strikes or step.kind is StepKind.REMINDER)
                ):
                    made.append(do_step(tx, one, step, calendar, staff))
        for user_id in sanction_rows.barred_for(tx, sanctions.STRIKES):
            lift_if_paid(tx, user_id, staff)
        return _encode(_done(made))

    return once(tx, staff, key, do)


def forgive(
    tx: Transaction, token: str, gid: str, reason: str, places: int, key: IdempotencyKey | None = None
) -> bytes:
    """Forgive the strike for an invoice, and return the JSON of what was done; a ban that rested on it ends.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownDocument or NoStrike.
    """
    sale_gid = _sale_of(tx, token, gid)
    staff, _, _ = begin(tx, token, sale_gid, places)
    staff.refuse_without(Right.SANCTION_PEOPLE)

    def do() -> bytes:
        found = documents.find(tx, gid)
        user_id = None if found is None else found.owner.user_id
        if user_id is None or not sanctions.forgive(tx, staff, user_id, gid, reason):
            raise NoStrike
        lift_if_paid(tx, user_id, staff)
        return _encode(_done([]))

    return once(tx, staff, key, do)


def _sale_of(tx: Transaction, token: str, gid: str) -> str:
    authenticate(tx, token, Right.READ).refuse_without(Right.SETTLE)
    found = documents.find(tx, gid)
    if found is None:
        raise UnknownDocument
    return sales.by_id(tx, found.owner.sale_id).gid


class StepResult(Struct, frozen=True):
    """A step that was done, and whether it banned somebody."""

    kind: StepKind
    banned: bool = False


def do_step(tx: Transaction, one: Overdue, step: Step, calendar: Calendar, staff: Staff | None) -> StepResult:
    """Do a step in the transaction of the caller: it is stored, noted, and told to the buyer. `staff` is None for the house."""
    by_id, number = None if staff is None else staff.id, one.issued.document.number
    reminders.add(tx, one.issued.id, step.level, by_id)
    facts = {"document": one.issued.gid, "level": step.level, "strike": step.kind is StepKind.STRIKE}
    money_mails.post(tx, "overdue", f"{one.issued.gid}:{step.level}", one.user_id, facts)
    if step.kind is StepKind.STRIKE:
        reason = _NOT_PAID.format(number)
        return StepResult(
            step.kind, sanctions.strike(tx, one.user_id, one.issued.gid, reason, calendar.strikes_max, staff)
        )
    audit.note(tx, staff, Act.REMINDER_SENT, one.user_id, {}, {"number": number, "level": step.level})
    return StepResult(step.kind)


def _done(made: Collection[StepResult]) -> RemindedView:
    struck = [one for one in made if one.kind is StepKind.STRIKE]
    return RemindedView(reminded=len(made) - len(struck), struck=len(struck), banned=sum(one.banned for one in struck))


def _said(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    """Return what a reminder says; None if the invoice was paid meanwhile, or does not fit any more."""
    found, level = money_mails.document_of(tx, word), number_of(word.facts, "level")
    if found is None or level is None:
        return None
    left = owed_of(tx, found)
    if left <= ZERO:
        return None
    said, still_open = money_mails.said_of(tx, found), f"{left:.3f}"
    on, strike = found.issued_at.date().isoformat(), word.facts.get("strike") is True
    kind = StepKind.STRIKE if strike else StepKind.REMINDER
    data = {**said["data"], "stillOpen": still_open, "stepNumber": level, "stepKind": kind.value}
    return {**said, "open": still_open, "level": level, "strike": strike, "issued_on": on, "data": data}


MAILS: tuple[MailKind, ...] = (money_mails.kind("overdue", _said),)
