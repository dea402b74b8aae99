"""Auctions: list, create, show, amend, cancel, close; and list the user's own."""

from __future__ import annotations

from collections.abc import Awaitable

import msgspec
from msgspec import Raw, Struct
from starlette.responses import Response

from saleroom.accounts.domain.accounts import USERNAME_PATTERN, parse_username
from saleroom.accounts.domain.errors import IdempotencyMismatch, MailRequired, OnlyStaffSells, SellerNotApproved
from saleroom.bidding.api.fields import AUCTION, ETAG
from saleroom.bidding.api.lists import AUCTIONS, JsonPage
from saleroom.bidding.api.preconditions import precondition
from saleroom.bidding.api.terms import AMEND, CLOSE, CREATE
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.categories import CATEGORY_MAX
from saleroom.bidding.domain.errors import (
    AuctionNotStarted,
    AuctionOver,
    AuctionStarted,
    EndsByItself,
    HasBids,
    LotOfSale,
    NotAuthor,
    Paused,
    PreconditionFailed,
    TakenDown,
    TooManyAuctions,
    TooManyChanges,
    UnknownAuction,
)
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.domain.views import AuctionView
from saleroom.bidding.service import auctions, reading
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage.listing import Filter, ListPlace, Sort
from saleroom.http.cursors import BAD_CURSOR, CursorKind, Cursors
from saleroom.http.endpoints import Access, Call, Endpoint, ResponseHeader
from saleroom.http.entity_tags import is_known
from saleroom.http.forms import Field, checked, one_of, text
from saleroom.http.paging import paging
from saleroom.http.responses import encode, json_response, page_response
from saleroom.kernel.errors import Invalid
from saleroom.kernel.page import Page
from saleroom.storage.database import Transaction

QUERY_MAX = 200
AUTHOR_REFUSALS = (UnknownAuction, NotAuthor, LotOfSale, AuctionOver)
BY_MARK = paging(AUCTIONS)
LIST = (
    Field(
        name="status",
        to="status",
        parse=one_of(tuple(Status)),
        schema={"type": "string", "enum": list(Status)},
        about="Only auctions in this state.",
    ),
    Field(
        name="author",
        to="author",
        parse=checked(parse_username),
        schema={"type": "string", "pattern": f"^{USERNAME_PATTERN}$"},
        about="Only this author's.",
    ),
    Field(
        name="category",
        to="category",
        parse=text(1, CATEGORY_MAX),
        schema={"type": "string", "minLength": 1, "maxLength": CATEGORY_MAX},
        about="Only of this category.",
    ),
    Field(
        name="q",
        to="q",
        parse=text(1, QUERY_MAX),
        schema={"type": "string", "minLength": 1, "maxLength": QUERY_MAX},
        about="Only auctions with all these words in name or description, in any order, whatever the case and the accents.",
    ),
    Field(
        name="sort",
        to="sort",
        parse=one_of(tuple(Sort)),
        schema={"type": "string", "enum": list(Sort), "default": Sort.ENDING.value},
        about="The order: soonest end, newest, or lowest price first.",
    ),
    *BY_MARK,
)


class AuctionPage(Struct, frozen=True):
    """A page of auctions. `next` is the cursor of the next page, or null on the last."""

    auctions: list[AuctionView]
    next: str | None


async def create(call: Call[BiddingServices]) -> Response:
    """POST /auctions."""
    services, draft = call.services, Draft(**call.values)
    body = await services.tokens.write(auctions.create, call.token, draft, call.key, rules=services.offering)
    return json_response(body, 201, {"Location": f"/auctions/{gid_of(body)}"})


async def list_auctions(call: Call[BiddingServices]) -> Response:
    """GET /auctions."""
    query = call.query
    which = Filter(
        status=query.get("status"), author=query.get("author"), text=query.get("q"), category=query.get("category")
    )
    sort = Sort(query.get("sort", Sort.ENDING))
    services = call.services
    wanted = (services.cursors, call.viewer, which, sort, call.limit, call.place, AUCTIONS.within(call.asked))
    if which.is_costly or call.place is not None:
        # This may take long, so it does not share a transaction that others wait for.
        return await _answer(call, services.database.read(reading.searched, lambda tx: auction_page(tx, *wanted)))
    return await _answer(call, services.shared_reads.ask(auction_page, *wanted))


async def show(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}."""
    shown = await call.services.auction_views.ask((call.identifier, call.viewer))
    if shown.hidden:
        raise TakenDown
    headers = {"ETag": shown.tag}
    if is_known(call.scope, shown.tag):
        return Response(status_code=304, headers=headers)
    return json_response(shown.json, headers=headers)


async def amend(call: Call[BiddingServices]) -> Response:
    """PATCH /auctions/{gid}."""
    write, known = call.services.tokens.write, call.services.category_names
    found = await write(auctions.amend, call.token, call.identifier, call.values, precondition(call), known)
    return json_response(found.json, headers={"ETag": found.tag})


async def cancel(call: Call[BiddingServices]) -> Response:
    """DELETE /auctions/{gid}."""
    await call.services.tokens.write(auctions.cancel, call.token, call.identifier, precondition(call))
    return Response(status_code=204)


async def close(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/close."""
    ends_at = call.values.get("ends_at")
    body = await call.services.tokens.write(
        auctions.close, call.token, call.identifier, ends_at, call.key, precondition(call)
    )
    return json_response(body)


async def list_own(call: Call[BiddingServices]) -> Response:
    """GET /me/auctions."""
    services = call.services
    return await _answer(call, services.database.read(_own, services.cursors, call.token, call.limit, call.place))


def auction_page(
    tx: Transaction,
    cursors: Cursors,
    token: str | None,
    which: Filter,
    sort: Sort,
    limit: int,
    after: ListPlace | None,
    of: CursorKind = AUCTIONS,
) -> JsonPage:
    """Return a page of auctions as JSON. Raises as `reading.auction_list`, or DatabaseUnavailable as `Cursors.write`."""
    return _as_json(cursors, of, reading.auction_list(tx, token, which, sort, limit, after))


def _own(tx: Transaction, cursors: Cursors, token: str, limit: int, after: ListPlace | None) -> JsonPage:
    return _as_json(cursors, AUCTIONS, reading.my_auctions(tx, token, limit, after))


def _as_json(cursors: Cursors, of: CursorKind, page: Page[bytes, ListPlace]) -> JsonPage:
    cursor = cursors.next_page(of, page.next)
    return JsonPage(encode({"auctions": [Raw(one) for one in page.rows], "next": cursor}), cursor)


async def _answer(call: Call[BiddingServices], read: Awaitable[JsonPage]) -> Response:
    try:
        page = await read
    except ValueError as error:
        raise Invalid({"cursor": [BAD_CURSOR]}) from error
    return page_response(call.scope, page.json, page.cursor)


class _Gid(msgspec.Struct):
    gid: str


def gid_of(body: bytes) -> str:
    """Return the gid of an auction from its JSON."""
    return msgspec.json.decode(body, type=_Gid).gid


ENDPOINTS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/auctions",
        name="myAuctions",
        summary="List my auctions, newest first",
        handler=list_own,
        tag="accounts",
        access=Access.TOKEN,
        query=BY_MARK,
        answer=AuctionPage,
        about="Each is shown as its author sees it, with its reserve.",
    ),
    Endpoint(
        method="GET",
        path="/auctions",
        name="listAuctions",
        summary="List auctions by page",
        handler=list_auctions,
        tag="auctions",
        access=Access.TOKEN_OPTIONAL,
        query=LIST,
        answer=AuctionPage,
        about="The list stays as it was when its first page was read, so that pages neither skip nor repeat an auction.",
        hot=True,
    ),
    Endpoint(
        method="POST",
        path="/auctions",
        name="createAuction",
        summary="Create an auction",
        handler=create,
        tag="auctions",
        access=Access.TOKEN,
        form=CREATE,
        status=201,
        answer=AuctionView,
        headers=(
            ResponseHeader("Location", "The address of the new auction.", {"type": "string", "pattern": "^/auctions/"}),
        ),
        errors=(SellerNotApproved, OnlyStaffSells, MailRequired, TooManyAuctions, IdempotencyMismatch),
        once=True,
        about="It is `scheduled` until `startsAt`, or open at once without it. The answer shows it as its author sees it.",
    ),
    Endpoint(
        method="GET",
        path="/auctions/{gid}",
        name="getAuction",
        summary="Show an auction",
        handler=show,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN_OPTIONAL,
        answer=AuctionView,
        headers=(ETAG,),
        conditional=True,
        errors=(UnknownAuction, TakenDown),
        about="`reservePrice` is shown to its author only. `ETag` is made of `version` and `head`; `If-None-Match` gets 304.",
        hot=True,
    ),
    Endpoint(
        method="PATCH",
        path="/auctions/{gid}",
        name="amendAuction",
        summary="Change an auction before its first bid",
        handler=amend,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=AMEND,
        answer=AuctionView,
        headers=(ETAG,),
        errors=(*AUTHOR_REFUSALS, HasBids, AuctionStarted, Paused, TooManyChanges),
        match=PreconditionFailed,
        about="The increment is fixed when the auction is created.",
    ),
    Endpoint(
        method="DELETE",
        path="/auctions/{gid}",
        name="cancelAuction",
        summary="Cancel an auction before its first bid",
        handler=cancel,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        status=204,
        errors=(*AUTHOR_REFUSALS, HasBids),
        match=PreconditionFailed,
        about="The auction and its history remain, as `cancelled`.",
    ),
    Endpoint(
        method="POST",
        path="/auctions/{gid}/close",
        name="closeAuction",
        summary="Close an auction without an end now, or announce its end",
        handler=close,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=CLOSE,
        body_optional=True,
        answer=AuctionView,
        errors=(*AUTHOR_REFUSALS, EndsByItself, AuctionNotStarted, TakenDown, Paused, IdempotencyMismatch),
        match=PreconditionFailed,
        once=True,
        about="With `endsAt` it announces the end of an auction that has none. Without it, or without a body, it closes the "
        "auction now. An auction with an end closes by itself.",
    ),
)
