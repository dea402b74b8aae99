"""What the bank says of payment files: import a report, and note that somebody has looked into a doubt."""

from __future__ import annotations

from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.endpoints import Access, Call, Endpoint, Upload
from saleroom.http.forms import Form
from saleroom.http.multipart import FORM_WITH_FILES
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Invalid
from saleroom.sales.api.fields import reason
from saleroom.settlement.api.bank import file_in
from saleroom.settlement.api.payouts import FILE, TRANSFERS
from saleroom.settlement.domain.bank.payout_views import ImportedReportView, PaymentFileView
from saleroom.settlement.domain.errors import PayoutNotInDoubt, UnknownPaymentFile
from saleroom.settlement.service.bank import payout_reporting, reading, status_reports
from saleroom.settlement.services import SettlementServices

CHECK = Form(
    name="PayoutCheck",
    example={"transfers": [1], "reason": "The bank has booked it by mistake and paid it back."},
    fields=(
        msgspec.structs.replace(TRANSFERS, required=True, about="Which, by their numbers in the file."),
        reason("What was found out; the audit log notes it."),
    ),
)


async def send(call: Call[SettlementServices]) -> Response:
    """POST /payment-status-reports."""
    return json_response(await imported(call.services, call.request, call.token))


async def imported(services: SettlementServices, request: Request, token: str) -> ImportedReportView:
    """Return what the import of the report in a form does. The sender is known before the form is read.

    Raises as `payout_reporting.import_report`, `reading.read_report` and `multipart` do.
    """
    await services.database.read(payout_reporting.refuse, token)
    data = await file_in(request, status_reports.FILE, status_reports.BYTES_MAX)
    report = await reading.read_report(services.bank_files, data)
    return await services.tokens.write(payout_reporting.import_report, token, report)


async def check(call: Call[SettlementServices]) -> Response:
    """POST /payment-files/{gid}/checks."""
    given = (call.identifier, call.values["places"], call.values["reason"], call.key)
    return json_response(await call.services.tokens.write(payout_reporting.look_into, call.token, *given))


_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN, method="POST")
_RIGHT = "Needs the right `settle`."
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        path="/payment-status-reports",
        name="importPaymentStatusReport",
        summary="Import what the bank says of a payment file (pain.002)",
        handler=send,
        upload=Upload(
            (FORM_WITH_FILES,),
            "A form with the report.",
            {status_reports.FILE: f"pain.002 as XML, at most {status_reports.BYTES_MAX} bytes (docs/settlement.md)."},
        ),
        answer=ImportedReportView,
        errors=(Invalid,),
        about=f"{_RIGHT} What it rejects is owed again; what was said before does nothing again. The audit log notes it.",
    ),
    _one(
        path="/payment-files/{gid}/checks",
        name="checkPayouts",
        summary="Note that somebody has looked into payouts that are in doubt",
        handler=check,
        identifier=FILE,
        form=CHECK,
        answer=PaymentFileView,
        once=True,
        errors=(UnknownPaymentFile, PayoutNotInDoubt, IdempotencyMismatch),
        about=f"{_RIGHT} The consignors can be paid by a payment file again. The audit log notes it.",
    ),
)
