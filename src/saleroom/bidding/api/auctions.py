"""Auctions: create, list, show, amend, cancel, close; and one's own."""

from __future__ import annotations

from collections.abc import Awaitable

import msgspec
from msgspec import Raw
from starlette.responses import Response

from saleroom.bidding.api.conditions import seen
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions, reading
from saleroom.bidding.services import BiddingServices
from saleroom.bidding.storage.listing import Filter, Mark, Sort
from saleroom.http.cursors import AUCTIONS, BAD_CURSOR
from saleroom.http.endpoints import Call
from saleroom.http.guard import header
from saleroom.http.responses import LIMIT_DEFAULT, json_response, page_response
from saleroom.kernel.errors import Invalid


async def create(call: Call[BiddingServices]) -> Response:
    """POST /auctions."""
    most = call.services.auctions_per_user_max
    body = await call.services.tokens.write(auctions.create, call.token, Draft(**call.values), call.key, most=most)
    return json_response(body, 201, {"Location": f"/auctions/{_gid(body)}"})


async def listed(call: Call[BiddingServices]) -> Response:
    """GET /auctions."""
    query = call.query
    which = Filter(status=query.get("status"), author=query.get("author"), text=query.get("q"))
    sort = Sort(query.get("sort", Sort.ENDING))
    limit = query.get("limit", LIMIT_DEFAULT)
    after = query.get("cursor")
    look = (reading.auction_list, call.viewer, which, sort, limit, after)
    if which.is_costly or after is not None:
        # It may take its time, and is not to keep the others waiting.
        return await _page(call, call.services.database.read(reading.searched, look))
    return await _page(call, call.services.shared_reads.ask(look))


async def show(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}."""
    shown = await call.services.auction_views.ask((call.identifier, call.viewer))
    headers = {"ETag": shown.tag, "Cache-Control": "no-cache", "Vary": "Authorization"}
    known = header(call.request.scope, b"if-none-match")
    if known is not None and any(tag.strip().removeprefix("W/") in (shown.tag, "*") for tag in known.split(",")):
        return Response(status_code=304, headers=headers)
    return json_response(shown.json, headers=headers)


async def amend(call: Call[BiddingServices]) -> Response:
    """PATCH /auctions/{gid}."""
    return json_response(
        await call.services.tokens.write(auctions.amend, call.token, call.identifier, call.values, seen(call))
    )


async def cancel(call: Call[BiddingServices]) -> Response:
    """DELETE /auctions/{gid}."""
    await call.services.tokens.write(auctions.cancel, call.token, call.identifier, seen(call))
    return Response(status_code=204)


async def close(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/close."""
    ends_at = call.values.get("ends_at")
    body = await call.services.tokens.write(auctions.close, call.token, call.identifier, ends_at, call.key, seen(call))
    return json_response(body)


async def mine(call: Call[BiddingServices]) -> Response:
    """GET /me/auctions."""
    limit = call.query.get("limit", LIMIT_DEFAULT)
    after = call.query.get("cursor")
    return await _page(call, call.services.database.read(reading.my_auctions, call.token, limit, after))


async def _page(call: Call[BiddingServices], read: Awaitable[tuple[list[bytes], Mark | None]]) -> Response:
    try:
        shown, mark = await read
    except ValueError as error:
        raise Invalid({"cursor": [BAD_CURSOR]}) from error
    cursor = None if mark is None else call.services.cursors.write(AUCTIONS, mark)
    return page_response(call.request, {"auctions": [Raw(one) for one in shown], "next": cursor}, cursor)


class _Gid(msgspec.Struct):
    gid: str


def _gid(body: bytes) -> str:
    return msgspec.json.decode(body, type=_Gid).gid
