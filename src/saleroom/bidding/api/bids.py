"""Bids: place one, buy now, the history, and where one has bid."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.bidding.api.wire import BidPage, MyBidPage
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.service import bidding, reading
from saleroom.bidding.service.bidding import BidCommand
from saleroom.http.cursors import BID_ON, BIDS
from saleroom.http.endpoints import Call
from saleroom.http.responses import LIMIT_DEFAULT, json_response, page_response


async def place(call: Call) -> Response:
    """POST /auctions/{gid}/bids."""
    amount, maximum = call.values.get("amount"), call.values.get("maximum")
    request = BidRequest(amount, maximum, received_at=call.house.database.clock_now(), seen=call.seen)
    command = BidCommand(call.token, call.gid, request, call.once)
    return json_response(await call.house.desk.place(command), 201)


async def buy(call: Call) -> Response:
    """POST /auctions/{gid}/buy."""
    request = BidRequest(None, None, received_at=call.house.database.clock_now(), seen=call.seen)
    body = await call.house.write(bidding.buy_now, call.token, call.gid, call.once, request, call.house.signing_key)
    return json_response(body, 201)


async def history(call: Call) -> Response:
    """GET /auctions/{gid}/bids."""
    limit = call.query.get("limit", LIMIT_DEFAULT)
    before = call.query.get("cursor")
    bids, mark = await call.house.looking.ask((reading.bid_history, call.gid, call.viewer, limit, before))
    cursor = None if mark is None else call.house.cursors.write(BIDS, mark)
    return page_response(call.request, BidPage(bids, cursor), cursor)


async def mine(call: Call) -> Response:
    """GET /me/bids."""
    limit = call.query.get("limit", LIMIT_DEFAULT)
    rows, mark = await call.house.database.read(reading.my_bids, call.token, limit, call.query.get("cursor"))
    cursor = None if mark is None else call.house.cursors.write(BID_ON, mark)
    return page_response(call.request, MyBidPage(rows, cursor), cursor)
