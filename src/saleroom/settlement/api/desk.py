"""The cashier's desk: what a buyer owes, payments, refunds, statements, payouts, and the accounts of a sale."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec
from starlette.responses import Response

from saleroom.accounts.domain.accounts import USERNAME_PATTERN, parse_username
from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.http.endpoints import Access, Call, Endpoint, PathIdentifier
from saleroom.http.forms import POSITIVE_SCHEMA, Field, Form, boolean, one_of, positive, read_rows
from saleroom.http.responses import json_response
from saleroom.kernel.errors import Fault
from saleroom.sales.api.fields import CONSIGNOR, LOT, SALE, paddle_field, reason
from saleroom.sales.api.results import REFUSED
from saleroom.sales.domain.errors import UnknownConsignor, UnknownParticipant, UnknownSale
from saleroom.sales.domain.exporting import LANGUAGES
from saleroom.sales.service.files.sheet_writing import CSV_TYPE, as_csv
from saleroom.settlement.api.forms import choice
from saleroom.settlement.domain.desk_acts import BuyerPayments, BuyerRefund, ConsignorPayout
from saleroom.settlement.domain.desk_views import AccountsView, DeskView, StatementView
from saleroom.settlement.domain.errors import (
    LotNotSold,
    NothingToNet,
    NotOwedByHouse,
    NotRefundableOnline,
    Overpaid,
    PayoutNotSure,
    SameBuyer,
)
from saleroom.settlement.domain.journal import BY_HAND, HandPayment, Method
from saleroom.settlement.service import closing, correcting, desk, reports
from saleroom.settlement.service.correcting import Correction
from saleroom.settlement.service.documents.receipts import Paper
from saleroom.settlement.services import SettlementServices

PAYMENTS_MAX = 10
_WHO = rf"(?:[1-9][0-9]{{0,4}}|{USERNAME_PATTERN})"


def _parse_buyer(text: str) -> str | Fault:
    """Return the paddle, or the username as it is stored, or its fault."""
    return text if text.isdecimal() else parse_username(text)


BUYER = PathIdentifier(
    name="buyer",
    pattern=re.compile(_WHO),
    unknown=UnknownParticipant,
    schema={"type": "string", "pattern": f"^{_WHO}$"},
    about="The paddle of the buyer, or the username of one without a paddle.",
    parse=_parse_buyer,
)
_PAID = (
    msgspec.structs.replace(choice("method", "method", BY_HAND, "How the money moves."), required=True),
    Field(name="amount", to="amount", parse=positive, schema=POSITIVE_SCHEMA, required=True, about="How much."),
)


def _payments(raw: bytes) -> list[HandPayment] | Fault | list[Fault]:
    try:
        rows = _decode_rows(raw)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return Fault("not_a_list", "must be a list of objects with method and amount")
    if not 1 <= len(rows) <= PAYMENTS_MAX:
        return Fault("payments_length", f"must have 1 to {PAYMENTS_MAX} payments", most=PAYMENTS_MAX)
    return read_rows(_PAID, rows, HandPayment)


_decode_rows = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_PAYMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {field.name: dict(field.schema) for field in _PAID},
    "required": [field.name for field in _PAID],
    "additionalProperties": False,
}
LANGUAGE_OF_RECEIPT = Field(
    name="language",
    to="language",
    parse=one_of(LANGUAGES),
    schema={"enum": list(LANGUAGES), "default": LANGUAGES[0]},
    about="The language of the receipt.",
)
PAY = Form(
    name="Payments",
    example={"payments": [{"method": "card", "amount": "100"}, {"method": "cash", "amount": "50"}]},
    fields=(
        Field(
            name="payments",
            to="payments",
            parse=_payments,
            schema={"type": "array", "items": _PAYMENT_SCHEMA, "minItems": 1, "maxItems": PAYMENTS_MAX},
            required=True,
            about="What is paid, several at once. Cash above what is owed is given back as change.",
        ),
        Field(
            name="invoice",
            to="invoice",
            parse=boolean,
            schema={"type": "boolean", "default": False},
            about="Whether the invoice for what is on none yet is issued in the same transaction, in the same language.",
        ),
        LANGUAGE_OF_RECEIPT,
    ),
)
CORRECT = Form(
    name="SaleCorrection",
    example={"paddle": 14, "reason": "The number was misread.", "method": "cash"},
    fields=(
        paddle_field("Whose the lot is at the same price; without it the lot is taken back, and counts as passed."),
        reason("Why; the audit log notes it."),
        choice("method", "back", BY_HAND, "How the first buyer is paid back at once; without it their balance stays."),
        LANGUAGE_OF_RECEIPT,
    ),
)
_SURE = Field(
    name="isSure",
    to="is_sure",
    parse=boolean,
    schema={"type": "boolean", "default": False},
    about="Whether to pay although a payout to them in this sale is in doubt; the audit log notes it.",
)
PAY_OUT = Form(name="PaidOut", example={"method": "cash", "amount": "20"}, fields=(*_PAID, LANGUAGE_OF_RECEIPT, _SURE))
PAY_BACK = Form(
    name="PaidBack",
    example={"method": "online", "amount": "20"},
    fields=(
        msgspec.structs.replace(
            choice(
                "method",
                "method",
                Method,
                "How the money moves; online is back to cards that were used online, and is posted once the provider did it.",
            ),
            required=True,
        ),
        _PAID[1],
        LANGUAGE_OF_RECEIPT,
    ),
)
LANGUAGE = Field(
    name="language",
    to="language",
    parse=one_of(("en", "de")),
    schema={"enum": ["en", "de"], "default": "en"},
    about="The language of the headings; a German CSV has semicolons and decimal commas.",
)


def _paper(call: Call[SettlementServices]) -> Paper:
    return call.services.paper(call.values.get("language", LANGUAGES[0]))


def _paid(call: Call[SettlementServices]) -> HandPayment:
    return HandPayment(call.values["method"], call.values["amount"])


async def show(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/desk/{buyer}."""
    services = call.services
    given = (call.token, call.identifier, call.part, services.letterhead.currency)
    return json_response(await services.tokens.write(desk.shown, *given))


async def net(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/desk/{buyer}/netting."""
    given = (call.token, call.identifier, call.part, call.services.paper(LANGUAGES[0]), call.key)
    return json_response(await call.services.tokens.write(desk.net, *given))


async def pay(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/desk/{buyer}/payments."""
    paid = BuyerPayments(call.part, call.values["payments"])
    given = (call.token, call.identifier, paid, _paper(call), call.key)
    use_case = closing.pay if call.values.get("invoice") else desk.pay
    return json_response(await call.services.tokens.write(use_case, *given))


async def refund(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/desk/{buyer}/refunds."""
    given = (call.token, call.identifier, BuyerRefund(call.part, _paid(call)), _paper(call), call.key)
    return json_response(await call.services.tokens.write(desk.refund, *given))


async def correct(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/lots/{label}/correction."""
    sent = call.values
    change = Correction(label=call.part, paddle=sent.get("paddle"), reason=sent["reason"], back=sent.get("back"))
    given = (call.token, call.identifier, change, _paper(call), call.key)
    return json_response(await call.services.tokens.write(correcting.correct, *given))


async def statement(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/statements/{code}."""
    write, places = call.services.tokens.write, call.services.places
    return json_response(await write(desk.statement, call.token, call.identifier, call.part, places))


async def pay_out(call: Call[SettlementServices]) -> Response:
    """POST /sales/{gid}/statements/{code}/payouts."""
    out = ConsignorPayout(call.part, _paid(call), is_sure=call.values.get("is_sure", False))
    given = (call.token, call.identifier, out, _paper(call), call.key)
    return json_response(await call.services.tokens.write(desk.pay_out, *given))


async def accounts(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/accounts."""
    write, places = call.services.tokens.write, call.services.places
    return json_response(await write(reports.accounts, call.token, call.identifier, places))


async def accounts_csv(call: Call[SettlementServices]) -> Response:
    """GET /sales/{gid}/accounts.csv."""
    return await sheet(call.services, call.token, call.identifier, call.query.get("language", "en"))


async def sheet(services: SettlementServices, token: str, gid: str, language: str) -> Response:
    """Return the lots of a sale with their money as a download. Raises as `reports.lot_rows`."""
    rows = await services.tokens.write(reports.lot_rows, token, gid, services.places, language)
    data = await asyncio.to_thread(as_csv, rows, language)
    headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="accounts.csv"'}
    return Response(data, media_type=CSV_TYPE, headers=headers)


def _endpoint(
    method: str, path: str, name: str, summary: str, handler: Any, **more: Any
) -> Endpoint[SettlementServices]:
    about = "Needs the right `settle`."
    if method == "POST":
        about += " The audit log notes it."
        more |= {"once": True, "errors": (*more["errors"], IdempotencyMismatch)}
    return Endpoint(
        method=method,
        path=path,
        name=name,
        summary=summary,
        handler=handler,
        tag="settlement",
        identifier=SALE,
        access=Access.TOKEN,
        about=about,
        **more,
    )


_OF_BUYER = {"part": BUYER, "answer": DeskView}
_OF_CONSIGNOR = {"part": CONSIGNOR, "answer": StatementView}
_NOBODY, _NO_ONE = (UnknownSale, UnknownParticipant), (UnknownSale, UnknownConsignor)
ENDPOINTS = (
    _endpoint(
        "GET", "/sales/{gid}/accounts", "accountsOfSale", "Show the accounts of a sale", accounts,
        answer=AccountsView, errors=(UnknownSale,),
    ),
    _endpoint(
        "GET", "/sales/{gid}/accounts.csv", "exportAccountsCsv", "Export what each lot costs and brings as CSV", accounts_csv,
        query=(LANGUAGE,), file="text/csv", errors=(UnknownSale,),
    ),
    _endpoint(
        "GET", "/sales/{gid}/desk/{buyer}", "desk", "Show what a buyer owes, line by line", show,
        errors=_NOBODY, **_OF_BUYER,
    ),
    _endpoint(
        "POST", "/sales/{gid}/desk/{buyer}/payments", "takePayments", "Take payments of a buyer", pay,
        form=PAY, errors=(*_NOBODY, Overpaid), **_OF_BUYER,
    ),
    _endpoint(
        "POST", "/sales/{gid}/desk/{buyer}/refunds", "refundBuyer", "Pay a buyer back what the house owes them", refund,
        form=PAY_BACK, errors=(*_NOBODY, NotOwedByHouse, NotRefundableOnline), **_OF_BUYER,
    ),
    _endpoint(
        "POST", "/sales/{gid}/desk/{buyer}/netting", "netBuyer", "Set off what a buyer owes against what they get", net,
        errors=(*_NOBODY, NothingToNet), **_OF_BUYER,
    ),
    _endpoint(
        "POST", "/sales/{gid}/lots/{label}/correction", "correctSale", "Give a sold lot to another paddle, or take it back",
        correct, form=CORRECT, part=LOT, answer=DeskView,
        errors=(*REFUSED, LotNotSold, SameBuyer),
    ),
    _endpoint(
        "GET", "/sales/{gid}/statements/{code}", "statement", "Show what a consignor gets, line by line", statement,
        errors=_NO_ONE, **_OF_CONSIGNOR,
    ),
    _endpoint(
        "POST", "/sales/{gid}/statements/{code}/payouts", "payOut", "Pay a consignor all or a part of it", pay_out,
        form=PAY_OUT, errors=(*_NO_ONE, NotOwedByHouse, PayoutNotSure), **_OF_CONSIGNOR,
    ),
)  # fmt: skip
