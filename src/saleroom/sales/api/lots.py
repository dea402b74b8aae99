"""Lots of a sale: list, add, show, change, withdraw; and the order of calling."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.domain.errors import AuctionOver, HasBids, OnBlock, Paused, TooManyPhotos
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, ResponseHeader
from saleroom.http.forms import Form
from saleroom.http.paging import paging
from saleroom.http.responses import json_response, page_response
from saleroom.kernel.money import ZERO
from saleroom.sales.api.fields import LOT, SALE, reason
from saleroom.sales.api.forms import ADD_LOT, CHANGE_LOT, ORDER
from saleroom.sales.domain.errors import (
    BegunAlready,
    BidOnLots,
    ConsignorBids,
    LabelTaken,
    NeedClosed,
    OfNeeds,
    PledgesStand,
    SaleOver,
    StandsStill,
    TooManyLots,
    UnknownConsignor,
    UnknownLot,
    UnknownSale,
    WithdrawnAlready,
)
from saleroom.sales.domain.lots import LotTerms
from saleroom.sales.domain.needs import Need
from saleroom.sales.domain.views import LotView
from saleroom.sales.service import lots, ordering, reading
from saleroom.sales.service.lots import NewLot
from saleroom.sales.service.ordering import OrderView
from saleroom.sales.services import SaleServices

LOTS = CursorKind("lots of a sale", Annotated[int, Meta(ge=0, le=2**31 - 1)])
_PAGED = paging(LOTS)
_WITHDRAW = Form(
    name="LotWithdrawal",
    example={"reason": "It was broken on its way."},
    fields=(reason("Why. Everybody can read it, for good: name nobody in private."),),
)


class LotPage(Struct, frozen=True):
    """A page of lots. `next` is the cursor of the next page, or null on the last."""

    lots: list[LotView]
    next: str | None


class _Label(Struct):
    label: str


async def list_lots(call: Call[SaleServices]) -> Response:
    """GET /sales/{gid}/lots."""
    page = await call.services.database.read(reading.lots_of, call.viewer, call.identifier, call.limit, call.place)
    cursor = call.services.cursors.next_page(LOTS, page.next)
    return page_response(call.scope, {"lots": page.rows, "next": cursor}, cursor)


async def add(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/lots."""
    body = await call.services.tokens.write(
        lots.add, call.token, call.identifier, new_lot(call.values), call.key, call.services.categories
    )
    label = msgspec.json.decode(body, type=_Label).label
    return json_response(body, 201, {"Location": f"/sales/{call.identifier}/lots/{label}"})


def new_lot(values: dict[str, object]) -> NewLot:
    """Return the lot that the values of the form describe."""
    need = {name: value for name, value in values.items() if name in ("levels", "goal")}
    terms = {name: value for name, value in values.items() if name in LotTerms.__struct_fields__}
    beside = {name: value for name, value in values.items() if name in ("label", "consignor", "photos")}
    entry = {name: value for name, value in values.items() if name not in terms | beside | need}
    if "levels" in need:
        asked = Need(**need)  # type: ignore[arg-type]  # the form has read them
        terms["starting_price"] = min(asked.levels, default=ZERO)
        beside["need"] = asked
    return NewLot(terms=LotTerms(**terms), entry=entry, **beside)  # type: ignore[arg-type]  # the form has read them


async def show(call: Call[SaleServices]) -> Response:
    """GET /sales/{gid}/lots/{label}."""
    return json_response(await call.services.database.read(reading.lot_of, call.viewer, call.identifier, call.part))


async def change(call: Call[SaleServices]) -> Response:
    """PATCH /sales/{gid}/lots/{label}."""
    write, known = call.services.tokens.write, call.services.categories
    return json_response(await write(lots.change, call.token, call.identifier, call.part, call.values, known))


async def withdraw(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/lots/{label}/withdraw."""
    write, why = call.services.tokens.write, call.values["reason"]
    return json_response(await write(lots.withdraw, call.token, call.identifier, call.part, why, call.key))


async def order(call: Call[SaleServices]) -> Response:
    """PUT /sales/{gid}/order."""
    labels, first = call.values.get("labels"), call.values.get("renumber_from")
    write = call.services.tokens.write
    return json_response(await write(ordering.set_order, call.token, call.identifier, labels, renumber_from=first))


_CHANGED = (UnknownSale, SaleOver, UnknownConsignor, LabelTaken, TooManyPhotos)

ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="GET",
        path="/sales/{gid}/lots",
        name="listLots",
        summary="List the lots of a sale, in the order of calling",
        handler=list_lots,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN_OPTIONAL,
        query=_PAGED,
        answer=LotPage,
        errors=(UnknownSale,),
        about="`consignor` and `reservePrice` are for staff alone.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/lots",
        name="addLot",
        summary="Add a lot to a sale, at the end of its order",
        handler=add,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=ADD_LOT,
        status=201,
        answer=LotView,
        headers=(ResponseHeader("Location", "The address of the lot.", {"type": "string", "pattern": "^/sales/"}),),
        errors=(*_CHANGED, StandsStill, TooManyLots, IdempotencyMismatch),
        once=True,
        about="Needs the right `catalogue`. Without a `label` it gets the next number. In a published sale it becomes an "
        "auction at once. With `levels` it is a fund-a-need, which is never an auction. The audit log notes it.",
    ),
    Endpoint(
        method="GET",
        path="/sales/{gid}/lots/{label}",
        name="getLot",
        summary="Show a lot of a sale by its number",
        handler=show,
        tag="sales",
        identifier=SALE,
        part=LOT,
        access=Access.TOKEN_OPTIONAL,
        answer=LotView,
        errors=(UnknownSale, UnknownLot),
        about="Its number can change until the sale begins; its `gid` never does.",
    ),
    Endpoint(
        method="PATCH",
        path="/sales/{gid}/lots/{label}",
        name="changeLot",
        summary="Change a lot of a sale",
        handler=change,
        tag="sales",
        identifier=SALE,
        part=LOT,
        access=Access.TOKEN,
        form=CHANGE_LOT,
        answer=LotView,
        errors=(
            *_CHANGED,
            UnknownLot,
            ConsignorBids,
            WithdrawnAlready,
            BegunAlready,
            HasBids,
            AuctionOver,
            Paused,
            OfNeeds,
            NeedClosed,
            PledgesStand,
        ),
        about="Needs the right `catalogue`. The terms of its auction can change before the first bid, its number before the "
        "sale begins. Another consignor needs `settle` too once it is over. The audit log notes it.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/lots/{label}/withdraw",
        name="withdrawLot",
        summary="Withdraw a lot from a sale, for good",
        handler=withdraw,
        tag="sales",
        identifier=SALE,
        part=LOT,
        access=Access.TOKEN,
        form=_WITHDRAW,
        answer=LotView,
        errors=(
            UnknownSale,
            UnknownLot,
            SaleOver,
            WithdrawnAlready,
            AuctionOver,
            OnBlock,
            PledgesStand,
            IdempotencyMismatch,
        ),
        once=True,
        about="Needs the right `catalogue`. Its auction is cancelled, also with bids. A fund-a-need is withdrawn only while no "
        "pledge stands. The audit log notes it.",
    ),
    Endpoint(
        method="PUT",
        path="/sales/{gid}/order",
        name="orderLots",
        summary="Set the order of calling, and perhaps renumber the lots",
        handler=order,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=ORDER,
        answer=OrderView,
        errors=(UnknownSale, SaleOver, BidOnLots, BegunAlready, HasBids, Paused),
        about="Needs the right `catalogue`. It is one transaction, so lots can change places. In a published timed sale the "
        "lots in turn get the ends that are there, in the new order. The audit log notes it.",
    ),
)
