"""Moderation: those who run the house void a bid."""

from __future__ import annotations

from starlette.responses import Response

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.api.fields import AUCTION
from saleroom.bidding.domain.errors import AlreadyVoided, AuctionOver, UnknownAuction, UnknownBid
from saleroom.bidding.domain.views import AuctionView
from saleroom.bidding.domain.voiding import REASON_CHARACTERS_MAX
from saleroom.bidding.service import moderation
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, json_whole, text
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
            parse=json_whole(1, VERSION_MAX),
            schema={"type": "integer", "minimum": 1, "maximum": VERSION_MAX},
            required=True,
            about="The `sequence` of the event `bid.placed` of the bidder's own bid; automatic bids go with it.",
        ),
        reason_field("Why. Everybody can read it, for good: name nobody in private."),
    ),
)


async def void(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/voids."""
    said = (call.values["version"], call.values["reason"])
    body = await call.services.tokens.write(moderation.void_bid, call.token, call.identifier, *said, call.key)
    return json_response(body, 201)


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
        errors=(UnknownAuction, UnknownBid, AuctionOver, AlreadyVoided, IdempotencyMismatch),
        once=True,
        about="What stood before the bid stands again: the price and the leader are decided again from the bids that were not "
        "voided, in their order. This needs the right `void_bids`.",
    ),
)
