"""Pledges of a fund-a-need: give one online, and list them as staff. The clerk notes them on the block."""

from __future__ import annotations

from msgspec import Struct, structs
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.api.fields import money_field
from saleroom.bidding.domain import errors as lots
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, boolean
from saleroom.http.responses import json_response
from saleroom.sales.api.fields import LOT, SALE
from saleroom.sales.domain import errors as sales
from saleroom.sales.domain.views import PledgeView, pledge_view
from saleroom.sales.service import needs
from saleroom.sales.services import SaleServices

PLEDGE = Form(
    name="NewPledge",
    example={"amount": "500"},
    fields=(
        structs.replace(money_field("amount", "amount", "The present level."), required=True),
        Field(
            name="again",
            to="again",
            parse=boolean,
            schema={"type": "boolean", "default": False},
            about="Whether you give this amount once more.",
        ),
    ),
)


class GivenView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A pledge with the giver as staff have noted them."""

    pledge: PledgeView
    person_name: str


class Pledges(Struct, frozen=True, kw_only=True, rename="camel"):
    """All pledges of a fund-a-need, in their order; those that were undone too."""

    given: list[GivenView]


async def give(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/pledges."""
    amount, again = call.values["amount"], call.values.get("again", False)
    write = call.services.tokens.write
    body = await write(needs.give, call.token, call.identifier, amount, call.key, again=again)
    return json_response(body, 201)


async def list_pledges(call: Call[SaleServices]) -> Response:
    """GET /sales/{gid}/lots/{label}/pledges."""
    found = await call.services.database.read(needs.listed, call.viewer, call.identifier, call.part)
    given = [GivenView(pledge=pledge_view(one, bidder), person_name=name) for one, bidder, name in found]
    return json_response(Pledges(given=given))


ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="POST",
        path="/sales/{gid}/pledges",
        name="givePledge",
        summary="Pledge the present level of the fund-a-need on the block",
        handler=give,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=PLEDGE,
        status=201,
        answer=PledgeView,
        errors=(
            sales.UnknownSale,
            sales.NotLive,
            sales.NotPublished,
            sales.SaleOver,
            sales.StandsStill,
            sales.NoLotOnBlock,
            sales.OfNeeds,
            sales.LevelChanged,
            sales.PledgedAlready,
            sales.TooManyPledges,
            lots.NotOnBlock,
            lots.NotRegistered,
            lots.RegistrationPending,
            lots.RegistrationDeclined,
            lots.BeyondLimit,
            IdempotencyMismatch,
        ),
        once=True,
        about="Needs the right `bid`. Everybody who may bid in the sale may pledge. A pledge counts for the limit in the sale. "
        "Only the clerk can undo it.",
    ),
    Endpoint(
        method="GET",
        path="/sales/{gid}/lots/{label}/pledges",
        name="listPledges",
        summary="List the pledges of a fund-a-need, with who has given them",
        handler=list_pledges,
        tag="sales",
        identifier=SALE,
        part=LOT,
        access=Access.TOKEN,
        answer=Pledges,
        errors=(sales.UnknownSale, sales.UnknownLot, sales.OfNeeds),
        about="Needs the right `run_sale`.",
    ),
)
