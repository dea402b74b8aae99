"""Consignors: list, add, change."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.domain.accounts import USERNAME_PATTERN, parse_username
from saleroom.accounts.domain.errors import UnknownUser
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, checked
from saleroom.http.responses import json_response
from saleroom.sales.api.fields import CODE_FIELD, CONSIGNOR, words_field
from saleroom.sales.domain.consignors import CONTACT_MAX, NAME_MAX
from saleroom.sales.domain.errors import CodeTaken, ConsignorBids, UnknownConsignor
from saleroom.sales.domain.views import ConsignorView
from saleroom.sales.service.people import consigning
from saleroom.sales.services import SaleServices

_SAID = (
    words_field("contact", "contact", CONTACT_MAX, "How to reach them. Line breaks are kept.", lines=True),
    Field(
        name="username",
        to="username",
        parse=checked(parse_username),
        schema={"type": "string", "pattern": f"^{USERNAME_PATTERN}$"},
        nullable=True,
        about="Their account, if they have one: it cannot bid on their lots.",
    ),
)
_NAME = words_field("name", "name", NAME_MAX, "Their name.", least=1)
_CODE = Field(
    name="code", to="code", parse=CODE_FIELD.parse, schema=CODE_FIELD.schema, required=True, about="A short name."
)
ADD = Form(
    name="NewConsignor",
    example={"code": "K1", "name": "Erbengemeinschaft Muster", "contact": "0171 123"},
    fields=(
        _CODE,
        Field(name="name", to="name", parse=_NAME.parse, schema=_NAME.schema, required=True, about=_NAME.about),
        *_SAID,
    ),
)
CHANGE = Form(name="ConsignorChanges", example={"contact": "0171 124"}, fields=(_NAME, *_SAID))


class ConsignorsView(Struct, frozen=True):
    """The consignors, by code."""

    consignors: list[ConsignorView]


async def list_consignors(call: Call[SaleServices]) -> Response:
    """GET /consignors."""
    return json_response(ConsignorsView(await call.services.database.read(consigning.listed, call.token)))


async def add(call: Call[SaleServices]) -> Response:
    """POST /consignors."""
    sent = call.values
    said = (sent["code"], sent["name"], sent.get("contact", ""), sent.get("username"))
    return json_response(await call.services.tokens.write(consigning.add, call.token, *said), 201)


async def change(call: Call[SaleServices]) -> Response:
    """PATCH /consignors/{code}."""
    write = call.services.tokens.write
    return json_response(await write(consigning.change, call.token, call.identifier, call.values))


ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="GET",
        path="/consignors",
        name="consignors",
        summary="List those who bring lots to sales",
        handler=list_consignors,
        tag="sales",
        access=Access.TOKEN,
        answer=ConsignorsView,
        about=f"Needs the right `catalogue`. Up to {consigning.LISTED_MAX}.",
    ),
    Endpoint(
        method="POST",
        path="/consignors",
        name="addConsignor",
        summary="Add somebody who brings lots to sales",
        handler=add,
        tag="sales",
        access=Access.TOKEN,
        form=ADD,
        status=201,
        answer=ConsignorView,
        errors=(CodeTaken, UnknownUser),
        about="Needs the right `catalogue`. The audit log notes it.",
    ),
    Endpoint(
        method="PATCH",
        path="/consignors/{code}",
        name="changeConsignor",
        summary="Change what is known of a consignor",
        handler=change,
        tag="sales",
        identifier=CONSIGNOR,
        access=Access.TOKEN,
        form=CHANGE,
        answer=ConsignorView,
        errors=(UnknownConsignor, UnknownUser, ConsignorBids),
        about="Needs the right `catalogue`. To take a consignor from a user, or to give one a user after a lot of theirs is "
        "over, needs `settle` too. The audit log notes it.",
    ),
)
