"""Reminders: list the invoices that are overdue, do what the calendar says about one or about all, and forgive a strike."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Form
from saleroom.http.responses import json_response
from saleroom.sales.api.fields import reason
from saleroom.settlement.api.documents import DOCUMENT
from saleroom.settlement.domain.errors import NoStrike, NotOverdue, ReminderNotDue, UnknownDocument
from saleroom.settlement.domain.reminders.reminder_views import OverdueInvoicesView, RemindedView
from saleroom.settlement.service.reminders import reminding
from saleroom.settlement.services import SettlementServices

FORGIVE = Form(
    name="Forgiveness",
    example={"reason": "The bank was late."},
    fields=(reason("Why; the audit log notes it, and the user reads it."),),
)


async def overdue(call: Call[SettlementServices]) -> Response:
    """GET /overdue-invoices."""
    read, calendar = call.services.database.read, call.services.letterhead.calendar
    return json_response(await read(reminding.listed, call.token, calendar))


async def remind(call: Call[SettlementServices]) -> Response:
    """POST /documents/{gid}/reminders."""
    services = call.services
    given = (call.token, call.identifier, services.letterhead.calendar, services.places, call.key)
    return json_response(await services.tokens.write(reminding.remind, *given))


async def remind_all(call: Call[SettlementServices]) -> Response:
    """POST /reminders."""
    services = call.services
    given = (call.token, services.letterhead.calendar, services.places, call.key)
    return json_response(await services.tokens.write(reminding.remind_all, *given))


async def forgive(call: Call[SettlementServices]) -> Response:
    """POST /documents/{gid}/forgiveness."""
    given = (call.token, call.identifier, call.values["reason"], call.services.places, call.key)
    return json_response(await call.services.tokens.write(reminding.forgive, *given))


_RIGHT = "Needs the right `settle`."
_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        method="GET",
        path="/overdue-invoices",
        name="overdueInvoices",
        summary="List the invoices that are overdue",
        handler=overdue,
        answer=OverdueInvoicesView,
        about=f"{_RIGHT} Of all sales, the one that has been overdue for longest first, with its next step.",
    ),
    _one(
        method="POST",
        path="/reminders",
        name="remindAll",
        summary="Do all steps about overdue invoices whose day has come",
        handler=remind_all,
        answer=RemindedView,
        once=True,
        errors=(IdempotencyMismatch,),
        about=f"{_RIGHT} Strikes are given only by those with the right `sanction_people`. The audit log notes each step.",
    ),
    _one(
        method="POST",
        path="/documents/{gid}/reminders",
        name="remind",
        summary="Do the next step about an overdue invoice",
        handler=remind,
        identifier=DOCUMENT,
        answer=RemindedView,
        once=True,
        errors=(UnknownDocument, NotOverdue, ReminderNotDue, IdempotencyMismatch),
        about=f"{_RIGHT} A strike needs the right `sanction_people` too. The audit log notes it.",
    ),
    _one(
        method="POST",
        path="/documents/{gid}/forgiveness",
        name="forgiveStrike",
        summary="Forgive the strike for an invoice",
        handler=forgive,
        identifier=DOCUMENT,
        form=FORGIVE,
        answer=RemindedView,
        once=True,
        errors=(UnknownDocument, NoStrike, IdempotencyMismatch),
        about=f"{_RIGHT} Needs the right `sanction_people` too. The audit log notes it.",
    ),
)
