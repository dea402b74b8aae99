"""Payouts: what is due, payment files for the bank, and what became of each payout."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, PathIdentifier
from saleroom.http.forms import POSITIVE_SCHEMA, Field, Form, checked, positive, positive_whole, read_rows
from saleroom.http.paging import paging
from saleroom.http.responses import json_response, page_response
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID, IdempotencyKey
from saleroom.sales.api.fields import CODE_FIELD, reason
from saleroom.sales.domain.errors import UnknownConsignor, UnknownSale
from saleroom.settlement.api.forms import choice
from saleroom.settlement.domain import errors
from saleroom.settlement.domain.bank.payout_views import DuePayoutsView, PaymentFilePage, PaymentFileView
from saleroom.settlement.domain.bank.payouts import PAYOUTS_MAX, PayoutMark, PayoutState, account_of
from saleroom.settlement.service.bank import payouts, sepa
from saleroom.settlement.service.bank.payouts import Chosen
from saleroom.settlement.services import SettlementServices
from saleroom.storage.schema import NUMBER_MAX

PAGE = 20
XML = "application/xml"
DUE = CursorKind("sales with payouts due", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])
FILES = CursorKind("payment files", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])


def _gid(text: str) -> str | Fault:
    return text if GID.fullmatch(text) else Fault("unknown_sale", "must be a sale of the house")


_SALE = Field(
    name="sale",
    to="sale",
    parse=checked(_gid),
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    required=True,
    about="The sale.",
)
FILE = PathIdentifier(
    name="gid",
    pattern=re.compile(GID.pattern),
    unknown=errors.UnknownPaymentFile,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The payment file.",
)
_CHOSEN = (
    _SALE,
    msgspec.structs.replace(CODE_FIELD, required=True, nullable=False),
    Field(name="amount", to="amount", parse=positive, schema=POSITIVE_SCHEMA, required=True, about="How much."),
)
_decode_rows = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


def _payouts(raw: bytes) -> list[Chosen] | Fault | list[Fault]:
    try:
        rows = _decode_rows(raw)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return Fault("not_a_list", "must be a list of objects with sale, consignor and amount")
    if not 1 <= len(rows) <= PAYOUTS_MAX:
        return Fault("payouts_length", f"must have 1 to {PAYOUTS_MAX} payouts", most=PAYOUTS_MAX)
    return read_rows(_CHOSEN, rows, Chosen)


_place = positive_whole(PAYOUTS_MAX)


def _places(raw: bytes) -> list[int] | Fault:
    wrong = Fault("places", f"must be a list of up to {PAYOUTS_MAX} numbers of transfers, the first of which is 1")
    try:
        found = [_place(bytes(one)) for one in msgspec.json.decode(raw, type=list[msgspec.Raw])]
    except (msgspec.ValidationError, ValueError, RecursionError):
        return wrong
    places = [one for one in found if isinstance(one, int)]
    return places if len(places) == len(found) <= PAYOUTS_MAX else wrong


MAKE = Form(
    name="NewPaymentFile",
    example={"payouts": [{"sale": "0123456789ab", "consignor": "K1", "amount": "120.50"}]},
    fields=(
        Field(
            name="payouts",
            to="payouts",
            parse=_payouts,
            schema={
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {field.name: dict(field.schema) for field in _CHOSEN},
                    "required": [field.name for field in _CHOSEN],
                    "additionalProperties": False,
                },
                "minItems": 1,
                "maxItems": PAYOUTS_MAX,
            },
            required=True,
            about="To whom, for which sale, and how much: all that the house owes them, or a part.",
        ),
    ),
)


def _marked(values: dict[str, Any]) -> dict[str, list[Fault]]:
    """Return the fault of payouts that failed without a reason."""
    if values.get("state") is PayoutState.FAILED and "reason" not in values:
        return {"reason": [Fault("required", "is required")]}
    return {}


def _mark(raw: bytes) -> Any:
    found = choice("mark", "state", PayoutState, "").parse(raw)
    return Fault("not_a_choice", "must be one of: sent, booked, failed") if found is PayoutState.MADE else found


TRANSFERS = Field(
    name="transfers",
    to="places",
    parse=_places,
    schema={
        "type": "array",
        "items": {"type": "integer", "minimum": 1, "maximum": PAYOUTS_MAX},
        "maxItems": PAYOUTS_MAX,
    },
    about="Which, by their numbers in the file; without any all that can have the mark.",
)
MARK = Form(
    name="PayoutMark",
    example={"mark": "failed", "transfers": [1], "reason": "The account is closed."},
    fields=(
        Field(
            name="mark",
            to="state",
            parse=_mark,
            schema={"enum": [state.value for state in PayoutState if state is not PayoutState.MADE]},
            required=True,
            about="That the bank has the file, that it has booked them, or that they did not arrive.",
        ),
        TRANSFERS,
        msgspec.structs.replace(reason("Why they failed; the audit log notes it."), required=False),
    ),
    check=_marked,
)


async def show_due(call: Call[SettlementServices]) -> Response:
    """GET /payouts/due."""
    due = await call.services.database.read(payouts.due, call.token, call.limit, call.place)
    cursor = call.services.cursors.next_page(DUE, due.payouts.next)
    view = DuePayoutsView(due_payouts=due.payouts.rows, due_total=due.total, next=cursor)
    return page_response(call.scope, view, cursor)


async def make(call: Call[SettlementServices]) -> Response:
    """POST /payment-files."""
    return json_response(await made(call.services, call.token, call.values["payouts"], call.key), 201)


async def made(services: SettlementServices, token: str, chosen: list[Chosen], key: IdempotencyKey | None) -> bytes:
    """Make a payment file, and return its JSON. The libraries are loaded beside the event loop. Raises as `payouts.make`."""
    house = await asyncio.to_thread(account_of, services.payer)
    await asyncio.to_thread(sepa.prepare)
    return bytes(await services.tokens.write(payouts.make, token, chosen, services.payer, house, key))


async def list_files(call: Call[SettlementServices]) -> Response:
    """GET /payment-files."""
    limit = min(call.query.get("limit", PAGE), PAGE)
    page = await call.services.database.read(payouts.listed, call.token, limit, call.place)
    cursor = call.services.cursors.next_page(FILES, page.next)
    return page_response(call.scope, PaymentFilePage(page.rows, cursor), cursor)


async def show_file(call: Call[SettlementServices]) -> Response:
    """GET /payment-files/{gid}."""
    return json_response(await call.services.database.read(payouts.shown, call.token, call.identifier))


async def download(call: Call[SettlementServices]) -> Response:
    """GET /payment-files/{gid}/pain.xml."""
    return await as_xml(call.services, call.token, call.identifier)


async def as_xml(services: SettlementServices, token: str, gid: str) -> Response:
    """Return a payment file as a download. Raises as `payouts.content`."""
    number, content = await services.database.read(payouts.content, token, gid)
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{number}.xml"'}
    return Response(content.encode(), media_type=XML, headers=headers)


async def mark(call: Call[SettlementServices]) -> Response:
    """POST /payment-files/{gid}/marks."""
    sent = call.values
    new = PayoutMark(sent["state"], sent.get("places", ()), sent.get("reason"))
    return json_response(await call.services.tokens.write(payouts.mark, call.token, call.identifier, new, call.key))


_RIGHT = "Needs the right `settle`."
_one = partial(Endpoint[SettlementServices], tag="settlement", access=Access.TOKEN)
ENDPOINTS: tuple[Endpoint[SettlementServices], ...] = (
    _one(
        method="GET",
        path="/payouts/due",
        name="duePayouts",
        summary="List what the house owes consignors",
        handler=show_due,
        query=paging(DUE),
        answer=DuePayoutsView,
        about=f"{_RIGHT} As far as it is posted, without those who owe the house. A page has all of up to `limit` sales.",
    ),
    _one(
        method="POST",
        path="/payment-files",
        name="makePaymentFile",
        summary="Make one payment file (SEPA, pain.001.001.09) for several payouts",
        handler=make,
        form=MAKE,
        status=201,
        answer=PaymentFileView,
        once=True,
        errors=(
            UnknownSale,
            UnknownConsignor,
            errors.OnlyEuros,
            errors.NoHouseAccount,
            errors.NoPayoutAccount,
            errors.PayoutUnderWay,
            errors.PayoutInDoubt,
            errors.NotOwedByHouse,
            IdempotencyMismatch,
        ),
        about=f"{_RIGHT} The consignors are paid by it in the journal, and the money is in transit. The audit log notes it.",
    ),
    _one(
        method="GET",
        path="/payment-files",
        name="paymentFiles",
        summary="List the payment files",
        handler=list_files,
        query=paging(FILES),
        answer=PaymentFilePage,
        about=f"{_RIGHT} At most {PAGE} at once.",
    ),
    _one(
        method="GET",
        path="/payment-files/{gid}",
        name="paymentFile",
        summary="Show a payment file, and what has become of its payouts",
        handler=show_file,
        identifier=FILE,
        answer=PaymentFileView,
        errors=(errors.UnknownPaymentFile,),
        about=_RIGHT,
    ),
    _one(
        method="GET",
        path="/payment-files/{gid}/pain.xml",
        name="downloadPaymentFile",
        summary="Download a payment file for the bank",
        handler=download,
        identifier=FILE,
        file=XML,
        errors=(errors.UnknownPaymentFile, errors.FileForgotten),
        about=f"{_RIGHT} The same bytes each time. It has the whole numbers of the accounts.",
    ),
    _one(
        method="POST",
        path="/payment-files/{gid}/marks",
        name="markPayouts",
        summary="Note that payouts of a file were sent, booked, or have failed",
        handler=mark,
        identifier=FILE,
        form=MARK,
        answer=PaymentFileView,
        once=True,
        errors=(errors.UnknownPaymentFile, errors.PayoutDecided, IdempotencyMismatch),
        about=f"{_RIGHT} What failed is owed to the consignor again. The audit log notes it.",
    ),
)
