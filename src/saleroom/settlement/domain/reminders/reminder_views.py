"""The JSON of invoices that are overdue, and of reminders."""

from __future__ import annotations

from msgspec import Struct


class ReminderStepView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The next step about an invoice by the calendar of the house; `is_due` once its day has come."""

    step_kind: str
    step_number: int
    step_on: str
    is_due: bool


class OverdueInvoiceView(Struct, frozen=True, kw_only=True, rename="camel"):
    """An invoice that is overdue. `reminded_on` are the days of its reminders, `next_step` is null after the last one.

    `has_mail` says whether its buyer has a verified mail address, so that a reminder reaches them.
    """

    document: str
    document_number: str
    sale: str
    sale_title: str
    buyer: str
    person_name: str
    total: str
    still_open: str
    due_on: str
    days_overdue: int
    reminded_on: list[str]
    next_step: ReminderStepView | None
    has_strike: bool
    strikes: int
    has_mail: bool


class OverdueInvoicesView(Struct, frozen=True, kw_only=True, rename="camel"):
    """All invoices that are overdue, the one that has been for longest first. `due_steps` are those whose day has come."""

    overdue_invoices: list[OverdueInvoiceView]
    due_steps: int
    open_total: str


class RemindedView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was done at once: how many reminders were sent, how many strikes given, and how many users were banned for those."""

    reminded: int
    struck: int
    banned: int
