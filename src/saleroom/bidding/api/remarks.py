"""Remarks: list those on an auction, add one to the user's own."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.bidding.api.fields import AUCTION
from saleroom.bidding.domain.errors import AuctionOver, NotAuthor, TakenDown, TooManyRemarks, UnknownAuction
from saleroom.bidding.domain.remarks import REMARK_CHARACTERS_MAX, RemarkView
from saleroom.bidding.service import remarks
from saleroom.bidding.service.lookup import if_shown
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, text
from saleroom.http.responses import json_response

REMARK = Form(
    name="NewRemark",
    example={"text": "The key is missing."},
    fields=(
        Field(
            name="text",
            to="text",
            parse=text(1, REMARK_CHARACTERS_MAX, lines=True),
            schema={"type": "string", "minLength": 1, "maxLength": REMARK_CHARACTERS_MAX},
            required=True,
            about="Line breaks are kept.",
        ),
    ),
)


class RemarksView(Struct, frozen=True):
    """The remarks on an auction, the oldest first."""

    remarks: list[RemarkView]


async def list_remarks(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}/remarks."""
    return json_response(RemarksView(await call.services.shared_reads.ask(if_shown, call.identifier, remarks.of_lot)))


async def add(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/remarks."""
    written = await call.services.tokens.write(remarks.add, call.token, call.identifier, call.values["text"])
    return json_response(RemarkView.of(written), 201)


ENDPOINTS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="GET",
        path="/auctions/{gid}/remarks",
        name="listRemarks",
        summary="List the seller's remarks on an auction, the oldest first",
        handler=list_remarks,
        tag="auctions",
        identifier=AUCTION,
        answer=RemarksView,
        errors=(UnknownAuction, TakenDown),
        about="A remark never changes.",
    ),
    Endpoint(
        method="POST",
        path="/auctions/{gid}/remarks",
        name="addRemark",
        summary="Add a remark to my auction, also after its first bid",
        handler=add,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=REMARK,
        status=201,
        answer=RemarkView,
        errors=(UnknownAuction, NotAuthor, AuctionOver, TooManyRemarks),
        about="It is dated and cannot be changed or deleted. The text of the last remark again adds nothing.",
    ),
)
