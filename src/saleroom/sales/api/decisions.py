"""Decisions of sellers on bids below the reserve: list those that wait for the user, and accept or decline one."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.bidding.domain import errors as lots
from saleroom.bidding.domain.auction import Auction
from saleroom.http.endpoints import Access, Call, Endpoint, PathIdentifier
from saleroom.http.forms import Field, Form, boolean, text
from saleroom.http.responses import json_response
from saleroom.kernel.identifiers import GID
from saleroom.sales.domain import errors as sales
from saleroom.sales.domain.block import TAG_MAX
from saleroom.sales.domain.views import LotView
from saleroom.sales.service.live import decisions
from saleroom.sales.service.live.decisions import Question
from saleroom.sales.services import SaleServices

OWN_LOT = PathIdentifier(
    name="gid",
    pattern=GID,
    unknown=sales.UnknownLot,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The auction of the lot.",
)
DECISION = Form(
    name="Decision",
    example={"accepted": True, "seen": "k3X9mQ2vTa1_-7"},
    fields=(
        Field(
            name="accepted",
            to="accepted",
            parse=boolean,
            schema={"type": "boolean"},
            required=True,
            about="Whether the lot is sold for the highest bid.",
        ),
        Field(
            name="seen",
            to="seen",
            parse=text(1, TAG_MAX),
            schema={"type": "string", "minLength": 1, "maxLength": TAG_MAX},
            required=True,
            about="The `tag` of the lot as you have seen it.",
        ),
    ),
)


class DecisionView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot with a bid below its reserve, on which the user is to decide."""

    gid: str
    label: str
    name: str
    sale: str
    title: str
    current_bid: str | None
    reserve_price: str | None
    tag: str


class Decisions(Struct, frozen=True, kw_only=True, rename="camel"):
    """The lots that wait for the user, the latest sale first."""

    asked: list[DecisionView]


async def list_own(call: Call[SaleServices]) -> Response:
    """GET /me/decisions."""
    found = await call.services.database.read(decisions.asked, call.token)
    return json_response(Decisions(asked=[_view(one, one.auction) for one in found]))


async def decide(call: Call[SaleServices]) -> Response:
    """POST /me/decisions/{gid}."""
    accepted, seen = call.values["accepted"], call.values["seen"]
    write = call.services.tokens.write
    return json_response(await write(decisions.decide, call.token, call.identifier, seen, accepted=accepted))


def _view(one: Question, auction: Auction) -> DecisionView:
    return DecisionView(
        gid=auction.gid,
        label=one.own.lot.label,
        name=auction.name,
        sale=one.own.sale,
        title=one.own.title,
        current_bid=None if auction.current_bid is None else str(auction.current_bid),
        reserve_price=None if auction.reserve_price is None else str(auction.reserve_price),
        tag=one.seen,
    )


ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/decisions",
        name="myDecisions",
        summary="List my lots with a bid below the reserve, on which I am to decide",
        handler=list_own,
        tag="sales",
        access=Access.TOKEN,
        answer=Decisions,
        about=f"The latest {decisions.LISTED_MAX} at most. A lot that staff hide waits for the house, and is not among them.",
    ),
    Endpoint(
        method="POST",
        path="/me/decisions/{gid}",
        name="decide",
        summary="Accept or decline the bid below the reserve of my lot",
        handler=decide,
        tag="sales",
        identifier=OWN_LOT,
        access=Access.TOKEN,
        form=DECISION,
        answer=LotView,
        errors=(
            sales.UnknownLot,
            sales.BlockChanged,
            sales.WithdrawnAlready,
            lots.NotConditional,
            lots.TakenDown,
        ),
        about="Needs the right `sell`. The lot is that of its consignor, or of its author if no consignor has an account. It "
        "counts for the price that you have seen: if the lot has changed since, nothing is done. A repeated decision is "
        "`not_conditional`.",
    ),
)
