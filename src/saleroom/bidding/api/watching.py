"""Watching: put an auction on one's list, take it off, list them."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.bidding.api.wire import AuctionPage
from saleroom.bidding.service import watching
from saleroom.bidding.services import BiddingServices
from saleroom.http.cursors import WATCHED
from saleroom.http.endpoints import Call
from saleroom.http.responses import LIMIT_DEFAULT, page_response


async def watch(call: Call[BiddingServices]) -> Response:
    """PUT /auctions/{gid}/watch."""
    await call.services.watch(call.token, call.identifier, watched=True)
    return Response(status_code=204)


async def unwatch(call: Call[BiddingServices]) -> Response:
    """DELETE /auctions/{gid}/watch."""
    await call.services.watch(call.token, call.identifier, watched=False)
    return Response(status_code=204)


async def mine(call: Call[BiddingServices]) -> Response:
    """GET /me/watching."""
    limit = call.query.get("limit", LIMIT_DEFAULT)
    found, mark = await call.services.database.read(watching.watched, call.token, limit, call.query.get("cursor"))
    cursor = None if mark is None else call.services.cursors.write(WATCHED, mark)
    return page_response(call.request, AuctionPage(found, cursor), cursor)
