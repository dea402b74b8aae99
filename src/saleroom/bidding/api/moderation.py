"""Moderation: those who run the house void a bid, hide an auction, show it again, or cancel it."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.api.fields import AUCTION
from saleroom.bidding.domain.errors import (
    AlreadyHidden,
    AlreadyVoided,
    AuctionOver,
    BidsThere,
    NotHidden,
    UnknownAuction,
    UnknownBid,
)
from saleroom.bidding.domain.views import AuctionView
from saleroom.bidding.domain.voiding import REASON_CHARACTERS_MAX
from saleroom.bidding.service import moderation
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, positive_whole, text
from saleroom.http.responses import json_response
from saleroom.kernel.identifiers import VERSION_MAX


def reason_field(about: str) -> Field:
    """Return the field for the reason of an act; `about` says who reads it."""
    return Field(
        name="reason",
        to="reason",
        parse=text(1, REASON_CHARACTERS_MAX),
        schema={"type": "string", "minLength": 1, "maxLength": REASON_CHARACTERS_MAX},
        required=True,
        about=about,
    )


VOID = Form(
    name="NewVoid",
    example={"bid": 7, "reason": "The bidder asked for it: a slip of the hand."},
    fields=(
        Field(
            name="bid",
            to="version",
            parse=positive_whole(VERSION_MAX),
            schema={"type": "integer", "minimum": 1, "maximum": VERSION_MAX},
            required=True,
            about="The `sequence` of the bidder's own bid, as in the history and in its event; automatic bids go with it.",
        ),
        reason_field("Why. Everybody can read it, for good: name nobody in private."),
    ),
)


HIDE = Form(
    name="NewHiding",
    example={"reason": "The seller may not own it."},
    fields=(reason_field("Why. Its author and staff can read it."),),
)
CANCEL = Form(
    name="NewCancellation",
    example={"reason": "The seller has withdrawn the lot."},
    fields=(reason_field("Why. Everybody can read it, for good: name nobody in private."),),
)


async def void(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/voids."""
    said = (call.values["version"], call.values["reason"])
    body = await call.services.tokens.write(moderation.void_bid, call.token, call.identifier, *said, call.key)
    return json_response(body, 201)


async def hide(call: Call[BiddingServices]) -> Response:
    """PUT /auctions/{gid}/hiding."""
    write, reason = call.services.tokens.write, call.values["reason"]
    return json_response(await write(moderation.hide, call.token, call.identifier, reason))


async def show(call: Call[BiddingServices]) -> Response:
    """DELETE /auctions/{gid}/hiding."""
    return json_response(await call.services.tokens.write(moderation.show, call.token, call.identifier))


async def cancel(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/cancellation."""
    write, reason = call.services.tokens.write, call.values["reason"]
    return json_response(await write(moderation.cancel, call.token, call.identifier, reason, call.key), 201)


ENDPOINTS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="POST",
        path="/auctions/{gid}/voids",
        name="voidBid",
        summary="Void a bid of an open auction, as staff of the house",
        handler=void,
        tag="bids",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=VOID,
        status=201,
        answer=AuctionView,
        errors=(UnknownAuction, UnknownBid, AuctionOver, AlreadyVoided, BidsThere, IdempotencyMismatch),
        once=True,
        about="What stood before the bid stands again: the price and the leader are decided again from the bids that were not "
        "voided, in their order. This needs the right `void_bids`.",
    ),
    Endpoint(
        method="PUT",
        path="/auctions/{gid}/hiding",
        name="hideAuction",
        summary="Hide an auction, as staff of the house",
        handler=hide,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=HIDE,
        answer=AuctionView,
        errors=(UnknownAuction, AuctionOver, AlreadyHidden),
        about="It takes no bids, is in no list, and is shown to its author and to staff alone. If it ends while it is hidden, "
        "it is cancelled. One that is over is hidden from all but its author, its winner and staff; its ledger stays. "
        "This needs the right `moderate_lots`.",
    ),
    Endpoint(
        method="DELETE",
        path="/auctions/{gid}/hiding",
        name="showAuction",
        summary="Show a hidden auction again, as staff of the house",
        handler=show,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        answer=AuctionView,
        errors=(UnknownAuction, AuctionOver, NotHidden),
        about="This needs the right `moderate_lots`. One that ended while it was hidden stays hidden: `auction_closed`.",
    ),
    Endpoint(
        method="POST",
        path="/auctions/{gid}/cancellation",
        name="cancelSale",
        summary="Cancel an auction with a reason, also with bids, as staff of the house",
        handler=cancel,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=CANCEL,
        status=201,
        answer=AuctionView,
        errors=(UnknownAuction, AuctionOver, IdempotencyMismatch),
        once=True,
        about="This needs the right `moderate_lots`.",
    ),
)
