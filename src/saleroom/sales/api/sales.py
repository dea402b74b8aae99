"""Sales: list, make, show, change, publish, cancel."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.domain.errors import AuctionOver
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint, ResponseHeader
from saleroom.http.forms import Form
from saleroom.http.paging import paging
from saleroom.http.responses import json_response, page_response
from saleroom.sales.api.fields import SALE, reason
from saleroom.sales.api.forms import CHANGE_SALE, MAKE_SALE
from saleroom.sales.domain.errors import BegunAlready, NoLots, PublishedAlready, SaleOver, UnknownSale
from saleroom.sales.domain.sale import SaleTerms
from saleroom.sales.domain.views import SaleView
from saleroom.sales.service import managing, reading
from saleroom.sales.services import SaleServices

SALES = CursorKind("sales", Annotated[int, Meta(ge=0, le=2**62)])
_PAGED = paging(SALES)
_CANCEL = Form(
    name="SaleCancellation",
    example={"reason": "The hall is flooded."},
    fields=(reason("Why. Everybody can read it, for good: name nobody in private."),),
)


class SalePage(Struct, frozen=True):
    """A page of sales. `next` is the cursor of the next page, or null on the last."""

    sales: list[SaleView]
    next: str | None


class _Gid(Struct):
    gid: str


async def list_sales(call: Call[SaleServices]) -> Response:
    """GET /sales."""
    page = await call.services.database.read(reading.listed, call.viewer, call.limit, call.place)
    cursor = call.services.cursors.next_page(SALES, page.next)
    return page_response(call.scope, {"sales": page.rows, "next": cursor}, cursor)


async def make(call: Call[SaleServices]) -> Response:
    """POST /sales."""
    body = await call.services.tokens.write(managing.make, call.token, SaleTerms(**call.values), call.key)
    return json_response(body, 201, {"Location": f"/sales/{msgspec.json.decode(body, type=_Gid).gid}"})


async def show(call: Call[SaleServices]) -> Response:
    """GET /sales/{gid}."""
    return json_response(await call.services.database.read(reading.shown, call.viewer, call.identifier))


async def change(call: Call[SaleServices]) -> Response:
    """PATCH /sales/{gid}."""
    return json_response(await call.services.tokens.write(managing.change, call.token, call.identifier, call.values))


async def publish(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/publish."""
    known = call.services.categories
    write = call.services.tokens.write
    return json_response(await write(managing.publish, call.token, call.identifier, call.key, known))


async def cancel(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/cancel."""
    write, why = call.services.tokens.write, call.values["reason"]
    return json_response(await write(managing.cancel, call.token, call.identifier, why, call.key))


ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="GET",
        path="/sales",
        name="listSales",
        summary="List sales, newest first",
        handler=list_sales,
        tag="sales",
        access=Access.TOKEN_OPTIONAL,
        query=_PAGED,
        answer=SalePage,
        about="Drafts are for staff alone.",
    ),
    Endpoint(
        method="POST",
        path="/sales",
        name="makeSale",
        summary="Make the draft of a sale",
        handler=make,
        tag="sales",
        access=Access.TOKEN,
        form=MAKE_SALE,
        status=201,
        answer=SaleView,
        headers=(
            ResponseHeader("Location", "The address of the new sale.", {"type": "string", "pattern": "^/sales/"}),
        ),
        errors=(IdempotencyMismatch,),
        once=True,
        about="Needs the right `manage_sales`. The audit log notes it.",
    ),
    Endpoint(
        method="GET",
        path="/sales/{gid}",
        name="getSale",
        summary="Show a sale",
        handler=show,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN_OPTIONAL,
        answer=SaleView,
        errors=(UnknownSale,),
        about="A draft is for staff alone, and so is `limitDefault`.",
    ),
    Endpoint(
        method="PATCH",
        path="/sales/{gid}",
        name="changeSale",
        summary="Change the terms of a sale",
        handler=change,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=CHANGE_SALE,
        answer=SaleView,
        errors=(UnknownSale, SaleOver, PublishedAlready),
        about="Needs the right `manage_sales`. Once it is published, only `title`, `description`, `venue`, `registration` and "
        "`limitDefault` can change. The audit log notes it.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/publish",
        name="publishSale",
        summary="Publish a sale: each of its lots becomes an auction",
        handler=publish,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        answer=SaleView,
        errors=(UnknownSale, SaleOver, PublishedAlready, NoLots, IdempotencyMismatch),
        once=True,
        about="Needs the right `manage_sales`. It is one transaction: all lots are published, or none. The audit log notes it.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/cancel",
        name="callOffSale",
        summary="Cancel a sale that has not begun, with all its lots",
        handler=cancel,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=_CANCEL,
        answer=SaleView,
        errors=(UnknownSale, SaleOver, BegunAlready, AuctionOver, IdempotencyMismatch),
        once=True,
        about="Needs the right `manage_sales`. The audit log notes it.",
    ),
)
