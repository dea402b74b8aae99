"""The watch list: put an auction on it, take it off, list the auctions."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.bidding.api.auctions import AuctionPage
from saleroom.bidding.api.fields import AUCTION
from saleroom.bidding.api.lists import WATCHED
from saleroom.bidding.domain.errors import TooManyWatched, UnknownAuction
from saleroom.bidding.service import watching
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.paging import paging
from saleroom.http.responses import page_response


async def watch(call: Call[BiddingServices]) -> Response:
    """PUT /auctions/{gid}/watch."""
    await call.services.set_watched(call.token, call.identifier, watched=True)
    return Response(status_code=204)


async def unwatch(call: Call[BiddingServices]) -> Response:
    """DELETE /auctions/{gid}/watch."""
    await call.services.set_watched(call.token, call.identifier, watched=False)
    return Response(status_code=204)


async def list_own(call: Call[BiddingServices]) -> Response:
    """GET /me/watching."""
    page = await call.services.database.read(watching.watched, call.token, call.limit, call.place)
    cursor = call.services.cursors.next_page(WATCHED, page.next)
    return page_response(call.scope, AuctionPage(page.rows, cursor), cursor)


ENDPOINTS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/watching",
        name="myWatching",
        summary="List the auctions I watch, the latest addition first",
        handler=list_own,
        tag="accounts",
        access=Access.TOKEN,
        query=paging(WATCHED),
        answer=AuctionPage,
        about="An auction stays on the list when it is over.",
    ),
    Endpoint(
        method="PUT",
        path="/auctions/{gid}/watch",
        name="watchAuction",
        summary="Put an auction on my watch list",
        handler=watch,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownAuction, TooManyWatched),
        about="An auction that is already on the list keeps its place.",
    ),
    Endpoint(
        method="DELETE",
        path="/auctions/{gid}/watch",
        name="unwatchAuction",
        summary="Take an auction off my watch list",
        handler=unwatch,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownAuction,),
        about="It is no error if the auction is not on the list.",
    ),
)
