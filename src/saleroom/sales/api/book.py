"""The book over the HTTP API: absentee bids that staff enter for paddles before a lot is called."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.api.fields import money_field
from saleroom.bidding.domain import errors as lots
from saleroom.http.cursors import CursorKind
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, checked
from saleroom.http.paging import paging
from saleroom.http.responses import json_response, page_response
from saleroom.sales.api.fields import LABEL_SCHEMA, REASON_MAX, SALE, paddle_field, words_field
from saleroom.sales.domain import errors as sales
from saleroom.sales.domain.book import BookLine
from saleroom.sales.domain.book_views import BookLineView, line_view
from saleroom.sales.domain.labels import parse_label
from saleroom.sales.service import book
from saleroom.sales.services import SaleServices
from saleroom.storage.schema import NUMBER_MAX

PRIVATE = {"Cache-Control": "no-store"}
BOOK = CursorKind("lines of a book", Annotated[int, Meta(ge=0, le=NUMBER_MAX)])
LINE = Form(
    name="BookLine",
    example={"paddle": 12, "label": "45", "maximum": "500"},
    fields=(
        paddle_field("The paddle of the bidder.", required=True),
        Field(
            name="label",
            to="label",
            parse=checked(parse_label),
            schema=LABEL_SCHEMA,
            required=True,
            about="The number of the lot in the catalogue.",
        ),
        money_field(
            "maximum",
            "maximum",
            "The most that they bid on the lot. A higher one than before raises it; a lower one takes the old bid back and "
            "places another. Null takes it back.",
            required=True,
            nullable=True,
        ),
        words_field(
            "reason", "reason", REASON_MAX, "Why a bid is taken back. Everybody can read it. Optional.", least=1
        ),
    ),
)


class BookLinePage(Struct, frozen=True):
    """A page of the book of a sale, the newest line first."""

    book: list[BookLineView]
    next: str | None


async def listed(call: Call[SaleServices]) -> Response:
    """GET /sales/{gid}/book."""
    found = await call.services.database.read(book.listed, call.token, call.identifier, call.limit, call.place)
    cursor = call.services.cursors.next_page(BOOK, found.lines.next)
    answer = page_response(call.scope, BookLinePage([line_view(one) for one in found.lines.rows], cursor), cursor)
    answer.headers["Cache-Control"] = PRIVATE["Cache-Control"]
    return answer


async def enter(call: Call[SaleServices]) -> Response:
    """POST /sales/{gid}/book."""
    write = call.services.tokens.write
    body = await write(book.enter, call.token, call.identifier, BookLine(**call.values), call.key)
    return json_response(body, 200, PRIVATE)


_RIGHT = "Needs the right `run_sale`."
ENDPOINTS: tuple[Endpoint[SaleServices], ...] = (
    Endpoint(
        method="GET",
        path="/sales/{gid}/book",
        name="absenteeBids",
        summary="List the absentee bids that staff have entered for a sale, the newest first",
        handler=listed,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        query=paging(BOOK),
        answer=BookLinePage,
        errors=(sales.UnknownSale,),
        about=f"{_RIGHT} What people bid themselves is not among them.",
    ),
    Endpoint(
        method="POST",
        path="/sales/{gid}/book",
        name="enterAbsenteeBid",
        summary="Enter, change or take back an absentee bid for a paddle, before the lot is called",
        handler=enter,
        tag="sales",
        identifier=SALE,
        access=Access.TOKEN,
        form=LINE,
        answer=BookLineView,
        errors=(
            sales.UnknownSale,
            sales.UnknownLot,
            sales.UnknownPaddle,
            sales.SaleOver,
            sales.NotPublished,
            sales.NotInBook,
            sales.OfAuctions,
            lots.AuctionOver,
            lots.AuctionNotStarted,
            lots.TakenDown,
            lots.Paused,
            lots.OnBlock,
            lots.BidTooLow,
            lots.AlreadyLeading,
            lots.OwnAuction,
            lots.BidsThere,
            lots.NotRegistered,
            lots.RegistrationPending,
            lots.RegistrationDeclined,
            lots.BeyondLimit,
            IdempotencyMismatch,
        ),
        once=True,
        about=f"{_RIGHT} It is a maximum like any other: at a tie the earlier one leads. The answer is the line as the book "
        "has it now. The audit log notes it.",
    ),
)
