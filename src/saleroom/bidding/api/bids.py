"""Bids: place one, buy now, list those of an auction, and list the auctions on which the user has bid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch, MailRequired
from saleroom.bidding.api.fields import AUCTION, money_field
from saleroom.bidding.api.lists import BID_ON, BIDS, JsonPage
from saleroom.bidding.api.preconditions import SEEN_VERSION, precondition
from saleroom.bidding.domain.bidding import BidRequest
from saleroom.bidding.domain.errors import (
    AlreadyLeading,
    AskChanged,
    AuctionNotStarted,
    AuctionOver,
    BeyondLimit,
    BidTooLow,
    BuyNowUnavailable,
    NotRegistered,
    OwnAuction,
    Paused,
    PreconditionFailed,
    RegistrationDeclined,
    RegistrationPending,
    TakenDown,
    TermsChanged,
    UnknownAuction,
)
from saleroom.bidding.domain.views import BidAnswer, BidView
from saleroom.bidding.service import bidding, reading
from saleroom.bidding.service.bidding import BidCommand
from saleroom.bidding.service.reading import SEQUENCES_BACK, MyBid
from saleroom.bidding.services import BiddingServices
from saleroom.http.cursors import Cursors
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Form
from saleroom.http.paging import paging
from saleroom.http.responses import encode, json_response, page_response
from saleroom.kernel.errors import Fault
from saleroom.storage.database import Transaction


class BidPage(Struct, frozen=True):
    """A page of an auction's bids, newest first."""

    bids: list[BidView]
    next: str | None


class MyBidPage(Struct, frozen=True):
    """A page of the auctions on which the user has bid."""

    bids: list[MyBid]
    next: str | None


def bid_faults(values: dict[str, Any]) -> Mapping[str, list[Fault]]:
    """Return the faults of amount and maximum together."""
    amount, maximum = values.get("amount"), values.get("maximum")
    if amount is None and maximum is None:
        return {"body": [Fault("required", "must have an amount, a maximum, or both")]}
    if amount is not None and maximum is not None and amount > maximum:
        return {"amount": [Fault("above_maximum", "must be at most the maximum")]}
    return {}


BID = Form(
    name="BidRequest",
    example={"maximum": "150"},
    members_min=1,
    fields=(
        money_field("amount", "amount", "The price that this bid shows.", nullable=True),
        money_field("maximum", "maximum", "The service bids for you as little as needed, up to this.", nullable=True),
        SEEN_VERSION,
    ),
    check=bid_faults,
)
BUY = Form(
    name="BuyRequest",
    example={"price": "900"},
    fields=(
        money_field("price", "price", "The price that you have seen; refused if it is another one now."),
        SEEN_VERSION,
    ),
)


async def place(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/bids."""
    amount, maximum = call.values.get("amount"), call.values.get("maximum")
    request = BidRequest(amount, maximum, received_at=call.services.database.clock_now(), seen=precondition(call))
    command = BidCommand(call.token, call.identifier, request, call.key)
    return json_response(await call.services.desk.place(command), 201)


async def buy(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/buy."""
    request = BidRequest(None, None, received_at=call.services.database.clock_now(), seen=precondition(call))
    body = await call.services.tokens.write(
        bidding.buy_now, call.token, call.identifier, call.key, request, call.services.signing_key
    )
    return json_response(body, 201)


async def list_bids(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}/bids."""
    page = await call.services.shared_reads.ask(
        bid_page, call.services.cursors, call.identifier, call.viewer, call.limit, call.place
    )
    return page_response(call.scope, page.json, page.cursor)


def bid_page(
    tx: Transaction, cursors: Cursors, gid: str, token: str | None, limit: int, before: int | None
) -> JsonPage:
    """Return a page of bids as JSON. Raises as `reading.shown_history`, or DatabaseUnavailable as `Cursors.write`."""
    page = reading.shown_history(tx, gid, token, limit, before)
    cursor = cursors.next_page(BIDS, page.next)
    return JsonPage(encode(BidPage(page.rows, cursor)), cursor)


async def list_own(call: Call[BiddingServices]) -> Response:
    """GET /me/bids."""
    page = await call.services.database.read(reading.my_bids, call.token, call.limit, call.place)
    cursor = call.services.cursors.next_page(BID_ON, page.next)
    return page_response(call.scope, MyBidPage(page.rows, cursor), cursor)


_REFUSALS = (MailRequired, UnknownAuction, TakenDown, Paused, OwnAuction, AuctionOver, AuctionNotStarted, TermsChanged)
_OF_SALES = (NotRegistered, RegistrationPending, RegistrationDeclined, BeyondLimit)
"""The refusals of sales, which they give by `bidding/service/admission.py`."""
ENDPOINTS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/bids",
        name="myBids",
        summary="List the auctions on which I have bid, newest first, and how I stand in each",
        handler=list_own,
        tag="accounts",
        access=Access.TOKEN,
        query=paging(BID_ON),
        answer=MyBidPage,
        about="`standing` is `leading`, `outbid`, `won` or `lost`, or `voided` if all your bids on it were voided.",
    ),
    Endpoint(
        method="POST",
        path="/auctions/{gid}/bids",
        name="placeBid",
        summary="Place a bid, or raise your maximum",
        handler=place,
        tag="bids",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=BID,
        status=201,
        answer=BidAnswer,
        errors=(*_REFUSALS, *_OF_SALES, AskChanged, BidTooLow, AlreadyLeading, IdempotencyMismatch),
        once=True,
        match=PreconditionFailed,
        about="`bid` is null if only your own maximum rose.",
        hot=True,
    ),
    Endpoint(
        method="GET",
        path="/auctions/{gid}/bids",
        name="bidHistory",
        summary="List the bids of an auction, newest first",
        handler=list_bids,
        tag="bids",
        identifier=AUCTION,
        access=Access.TOKEN_OPTIONAL,
        query=paging(BIDS),
        answer=BidPage,
        errors=(UnknownAuction, TakenDown),
        about="`maximum` is shown on your own bids only, `voided` on voided bids only. `sequence` is that of the bid's "
        f"event. Pages that begin more than {SEQUENCES_BACK} bids back have none, nor those whose archived files are away.",
        hot=True,
    ),
    Endpoint(
        method="POST",
        path="/auctions/{gid}/buy",
        name="buyNow",
        summary="Buy at the buy-now price, while there is no bid",
        handler=buy,
        tag="bids",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=BUY,
        body_optional=True,
        status=201,
        answer=BidAnswer,
        errors=(*_REFUSALS, *_OF_SALES, BuyNowUnavailable, IdempotencyMismatch),
        once=True,
        match=PreconditionFailed,
        about="The body is optional. The purchase is recorded as a bid at the buy-now price, which closes the auction. The "
        "answer is that of `POST /auctions/{gid}/bids`.",
    ),
)
