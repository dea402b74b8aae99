"""The words of the API's document that are about reminders."""

from __future__ import annotations

from typing import Any

from saleroom.http.schemas import COUNT, MONEY, Schema
from saleroom.settlement.domain.errors import ReminderNotDue
from saleroom.settlement.domain.reminders.reminding import StepKind

MEMBERS: dict[str, tuple[Schema, str]] = {
    "overdueInvoices": ({}, "The invoices, the one that has been overdue for longest first."),
    "dueSteps": (COUNT, "How many steps are due."),
    "openTotal": (MONEY, "What is open of all of them."),
    "daysOverdue": (COUNT, "For how many days it is overdue."),
    "remindedOn": ({}, "The days of its reminders, and of the strike."),
    "nextStep": ({}, "What the calendar of the house has next for it; null after the last step."),
    "hasStrike": ({}, "Whether its buyer has a strike for it."),
    "hasMail": ({}, "Whether its buyer has a verified mail address, so that a reminder reaches them."),
    "stepKind": ({"enum": list(StepKind)}, "What the step is."),
    "stepOn": ({"format": "date"}, "The day from which on the step is due."),
    "stepNumber": ({"minimum": 1}, "The number of the step; the first reminder is 1."),
    "isDue": ({}, "Whether the day of the step has come."),
    "reminded": (COUNT, "How many reminders were sent."),
    "struck": (COUNT, "How many strikes were given."),
    "banned": (COUNT, "How many users were banned for their strikes."),
}
FACTS: dict[Any, dict[str, Schema]] = {
    ReminderNotDue: {
        "on": {
            "type": ["string", "null"],
            "format": "date",
            "description": "The day of the next step; null after the last.",
        }
    },
}
