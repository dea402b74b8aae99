"""Bids: place one, buy now, the history, and where one has bid."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.bidding.api.conditions import seen
from saleroom.bidding.api.wire import BidPage, MyBidPage
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.service import bidding, reading
from saleroom.bidding.service.bidding import BidCommand
from saleroom.bidding.services import BiddingServices
from saleroom.http.cursors import BID_ON, BIDS
from saleroom.http.endpoints import Call
from saleroom.http.responses import LIMIT_DEFAULT, json_response, page_response


async def place(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/bids."""
    amount, maximum = call.values.get("amount"), call.values.get("maximum")
    request = BidRequest(amount, maximum, received_at=call.services.database.clock_now(), seen=seen(call))
    command = BidCommand(call.token, call.identifier, request, call.key)
    return json_response(await call.services.desk.place(command), 201)


async def buy(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/buy."""
    request = BidRequest(None, None, received_at=call.services.database.clock_now(), seen=seen(call))
    body = await call.services.tokens.write(
        bidding.buy_now, call.token, call.identifier, call.key, request, call.services.signing_key
    )
    return json_response(body, 201)


async def history(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}/bids."""
    limit = call.query.get("limit", LIMIT_DEFAULT)
    before = call.query.get("cursor")
    bids, mark = await call.services.shared_reads.ask(
        (reading.bid_history, call.identifier, call.viewer, limit, before)
    )
    cursor = None if mark is None else call.services.cursors.write(BIDS, mark)
    return page_response(call.request, BidPage(bids, cursor), cursor)


async def mine(call: Call[BiddingServices]) -> Response:
    """GET /me/bids."""
    limit = call.query.get("limit", LIMIT_DEFAULT)
    rows, mark = await call.services.database.read(reading.my_bids, call.token, limit, call.query.get("cursor"))
    cursor = None if mark is None else call.services.cursors.write(BID_ON, mark)
    return page_response(call.request, MyBidPage(rows, cursor), cursor)
