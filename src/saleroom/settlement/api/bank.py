"""Money from the bank: import a statement, list its payments, decide on one."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta, structs
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.api.uploads import while_connected
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, PathIdentifier, Upload
from saleroom.http.forms import Field, Form, Value, boolean, checked
from saleroom.http.multipart import FORM_WITH_FILES, multipart
from saleroom.http.paging import paging
from saleroom.http.responses import json_response, page_response
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.identifiers import GID
from saleroom.sales.api.fields import reason
from saleroom.sales.domain.errors import UnknownParticipant, UnknownSale
from saleroom.settlement.api.desk import BUYER
from saleroom.settlement.domain.bank.bank_views import BankPaymentPage, BankPaymentView, ImportedStatementView
from saleroom.settlement.domain.bank.banking import Assignment
from saleroom.settlement.domain.errors import BankPaymentDecided, OtherCurrency, UnknownBankPayment
from saleroom.settlement.service.bank import banking, camt, reading
from saleroom.settlement.services import SettlementServices
from saleroom.storage.schema import NUMBER_MAX

PAGE = 20
_FORM_BYTES = 64 * 1024
"""How much larger than its file a form may be."""
_PAYMENTS = CursorKind("payments from the bank", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])
_PAYMENT = PathIdentifier(
    name="gid",
    pattern=GID,
    unknown=UnknownBankPayment,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The payment.",
)


def _whole(values: dict[str, Value]) -> dict[str, list[Fault]]:
    """Return the faults of a decision that is none: a sale with a buyer, or a reason."""
    faults: dict[str, list[Fault]] = {}
    if ("sale" in values) != ("buyer" in values):
        missing = "buyer" if "sale" in values else "sale"
        faults[missing] = [Fault("required", "is required")]
    elif ("sale" in values) == ("reason" in values):
        faults["sale"] = [Fault("sale_or_reason", "with a buyer is needed, or a reason, and not both")]
    return faults


def _sale(text: str) -> str | Fault:
    return text if GID.fullmatch(text) else Fault("unknown_sale", "must be a sale of the house")


def _buyer(text: str) -> str | Fault:
    return text if BUYER.pattern.fullmatch(text) else Fault("buyer", "must be a paddle or a username")


DECISION = Form(
    name="BankPaymentDecision",
    example={"sale": "0123456789ab", "buyer": "12"},
    fields=(
        Field(
            name="sale",
            to="sale",
            parse=checked(_sale),
            schema={"type": "string", "pattern": f"^{GID.pattern}$"},
            about="The sale that it is for.",
        ),
        Field(
            name="buyer", to="buyer", parse=checked(_buyer), schema=BUYER.schema, about="The paddle, or the username."
        ),
        structs.replace(reason("Why it is for no buyer; the audit log notes it."), required=False),
    ),
    check=_whole,
)


async def send(call: Call[SettlementServices]) -> Response:
    """POST /bank-statements."""
    return json_response(await imported(call.services, call.request, call.token))


async def imported(services: SettlementServices, request: Request, token: str) -> ImportedStatementView:
    """Return what the import of the file in a form does. The sender is known before the form is read.

    Raises as `banking.import_statement`, `reading.read_statement` and `multipart` do.
    """
    await services.database.read(banking.refuse, token)
    data = await file_in(request, camt.FILE, camt.BYTES_MAX)
    statement = await reading.read_statement(services.bank_files, data)
    write = services.tokens.write
    return await write(banking.import_statement, token, statement, services.letterhead)


async def file_in(request: Request, name: str, most: int) -> bytes:
    """Return the one file of a form, or one byte more than `most` of a larger one. Raises Invalid, and as `multipart` does."""
    async with while_connected(request.scope):
        form = await multipart(request, most + _FORM_BYTES)
        try:
            sent = [one for one in form.getlist(name) if isinstance(one, UploadFile) and (one.filename or one.size)]
            if len(sent) != 1:
                raise Invalid.one(name, "one_statement", "must be one file")
            return await sent[0].read(most + 1)  # one byte more than allowed is enough to refuse it
        finally:
            await form.close()


async def list_payments(call: Call[SettlementServices]) -> Response:
    """GET /bank-payments."""
    page = await call.services.database.read(
        partial(
            banking.listed,
            waiting=call.query.get("waiting", True),
            before=call.place,
            limit=min(call.query.get("limit", PAGE), PAGE),
        ),
        call.token,
    )
    cursor = call.services.cursors.next_page(_PAYMENTS.within(call.asked), page.next)
    return page_response(call.scope, BankPaymentPage(page.rows, cursor), cursor)


async def decide(call: Call[SettlementServices]) -> Response:
    """POST /bank-payments/{gid}/decision."""
    services, sent, write = call.services, call.values, call.services.tokens.write
    if "reason" in sent:
        return json_response(await write(banking.set_aside, call.token, call.identifier, sent["reason"], call.key))
    given = (call.identifier, Assignment(sent["sale"], sent["buyer"]), services.letterhead, call.key)
    return json_response(await write(banking.take, call.token, *given))


_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN)
_RIGHT = "Needs the right `settle`."
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        method="POST",
        path="/bank-statements",
        name="importBankStatement",
        summary="Import a bank statement (CAMT.053), and take the payments that are surely for an invoice",
        handler=send,
        upload=Upload(
            (FORM_WITH_FILES,),
            "A form with the statement.",
            {camt.FILE: f"CAMT.053 as XML, at most {camt.BYTES_MAX} bytes (docs/settlement.md)."},
        ),
        answer=ImportedStatementView,
        errors=(Invalid,),
        about=f"{_RIGHT} A payment that came in a file before is not taken again. The audit log notes it.",
    ),
    _one(
        method="GET",
        path="/bank-payments",
        name="bankPayments",
        summary="List the payments from the bank that wait for a person",
        handler=list_payments,
        query=(
            *paging(_PAYMENTS),
            Field(
                name="waiting",
                to="waiting",
                parse=lambda raw: boolean(raw.strip(b'"')),
                schema={"type": "boolean", "default": True},
                about="Those that wait; with false those that were taken or set aside.",
            ),
        ),
        answer=BankPaymentPage,
        about=f"{_RIGHT} Each with the invoices that it names, otherwise with those of its amount. At most {PAGE} at once.",
    ),
    _one(
        method="POST",
        path="/bank-payments/{gid}/decision",
        name="decideBankPayment",
        summary="Take a payment from the bank for a buyer, or set it aside with a reason",
        handler=decide,
        identifier=_PAYMENT,
        form=DECISION,
        answer=BankPaymentView,
        once=True,
        errors=(
            UnknownBankPayment,
            UnknownSale,
            UnknownParticipant,
            BankPaymentDecided,
            OtherCurrency,
            IdempotencyMismatch,
        ),
        about=f"{_RIGHT} What is above what they owe can be paid back at the desk. The audit log notes it.",
    ),
)
