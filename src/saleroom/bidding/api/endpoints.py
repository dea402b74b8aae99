"""The one table of routes. It gives the router its routes, the OpenAPI document its paths, the tests their lists.

What is about accounts is in `account_rows.py`, as a file has an end.
"""

from __future__ import annotations

from msgspec import structs

from saleroom.accounts.api.account_rows import ACCOUNTS, TEST_USERS
from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.api import auctions, bids, evidence, fields, photos, watching
from saleroom.bidding.api.wire import AuctionPage, BidPage, HouseView, PhotosView, PhotoView, TimeView
from saleroom.bidding.domain.errors import (
    AlreadyLeading,
    AuctionNotStarted,
    AuctionOver,
    AuctionStarted,
    BidTooLow,
    BuyNowUnavailable,
    EndsByItself,
    HasBids,
    NotAuthor,
    OwnAuction,
    TermsChanged,
    TooManyAuctions,
    TooManyPhotos,
    TooManyWatched,
    UnknownAuction,
)
from saleroom.bidding.domain.views import AuctionView, BidAnswer
from saleroom.feed import streams
from saleroom.http import health
from saleroom.http.endpoints import Access, Endpoint
from saleroom.http.responses import Health, Readiness
from saleroom.kernel.errors import Busy, Invalid, TooManyRequests, Unauthenticated, UnknownEvent

_BID_ERRORS = (UnknownAuction, OwnAuction, AuctionOver, AuctionNotStarted, TermsChanged)
_AUTHOR_ERRORS = (UnknownAuction, NotAuthor, AuctionOver)

_AUCTIONS = (
    Endpoint(
        method="GET",
        path="/auctions",
        name="listAuctions",
        summary="List auctions by page",
        handler=auctions.listed,
        tag="auctions",
        access=Access.TOKEN_OPTIONAL,
        query=fields.LIST,
        answer=AuctionPage,
        about="A list stands as it was when its first page was read: pages neither skip nor repeat while auctions change.",
    ),
    Endpoint(
        method="POST",
        path="/auctions",
        name="createAuction",
        summary="Create an auction",
        handler=auctions.create,
        tag="auctions",
        access=Access.TOKEN,
        form=fields.CREATE,
        status=201,
        answer=AuctionView,
        errors=(TooManyAuctions,),
        once=True,
        about="It is `scheduled` until `startsAt`, otherwise open at once. The answer is the auction as its author sees it.",
    ),
    Endpoint(
        method="GET",
        path="/auctions/{gid}",
        name="getAuction",
        summary="Show an auction",
        handler=auctions.show,
        tag="auctions",
        access=Access.TOKEN_OPTIONAL,
        answer=AuctionView,
        errors=(UnknownAuction,),
        about="`reservePrice` is there for its author only. `ETag` comes from `version` and `head`; 304 on `If-None-Match`.",
    ),
    Endpoint(
        method="PATCH",
        path="/auctions/{gid}",
        name="amendAuction",
        summary="Change an auction before its first bid",
        handler=auctions.amend,
        tag="auctions",
        access=Access.TOKEN,
        form=fields.AMEND,
        answer=AuctionView,
        errors=(*_AUTHOR_ERRORS, HasBids, AuctionStarted),
        match=True,
        about="The increment is fixed when the auction is created.",
    ),
    Endpoint(
        method="DELETE",
        path="/auctions/{gid}",
        name="cancelAuction",
        summary="Cancel an auction before its first bid",
        handler=auctions.cancel,
        tag="auctions",
        access=Access.TOKEN,
        status=204,
        errors=(*_AUTHOR_ERRORS, HasBids),
        match=True,
        about="It stays, with its history, as `cancelled`.",
    ),
    Endpoint(
        method="POST",
        path="/auctions/{gid}/close",
        name="closeAuction",
        summary="Close an auction without an end now, or announce its end",
        handler=auctions.close,
        tag="auctions",
        access=Access.TOKEN,
        form=fields.CLOSE,
        body_optional=True,
        answer=AuctionView,
        errors=(*_AUTHOR_ERRORS, EndsByItself, AuctionNotStarted),
        match=True,
        once=True,
        about="With `endsAt` it announces the end of an auction that has none. Without it, or without a body, the auction is "
        "closed now. One with an end closes by itself.",
    ),
)

_PHOTOS = (
    Endpoint(
        method="POST",
        path="/photos",
        name="sendPhoto",
        summary="Send a photo, to be put on an auction",
        handler=photos.upload,
        tag="auctions",
        access=Access.TOKEN,
        picture=True,
        status=201,
        answer=PhotoView,
        errors=(Invalid, TooManyPhotos, TooManyRequests, Busy),
        about="Kept are three widths of it as WebP, upright and without what a camera writes beside it. "
        "A photo that is on no auction is kept for a day.",
    ),
    Endpoint(
        method="GET",
        path="/auctions/{gid}/photos",
        name="listPhotos",
        summary="The photos of an auction, in their order",
        handler=photos.of_auction,
        tag="auctions",
        answer=PhotosView,
        errors=(UnknownAuction,),
        about="Each photo comes with its files, the narrowest first.",
    ),
    Endpoint(
        method="PUT",
        path="/auctions/{gid}/photos",
        name="arrangePhotos",
        summary="Say which photos an auction has, and in which order, before its first bid",
        handler=photos.arrange,
        tag="auctions",
        access=Access.TOKEN,
        form=fields.PHOTOS,
        answer=PhotosView,
        errors=(*_AUTHOR_ERRORS, HasBids),
        match=True,
        about="What is left out is on no auction from then on.",
    ),
)

_WATCHING = (
    Endpoint(
        method="PUT",
        path="/auctions/{gid}/watch",
        name="watchAuction",
        summary="Put an auction on my list",
        handler=watching.watch,
        tag="auctions",
        access=Access.TOKEN,
        status=204,
        errors=(UnknownAuction, TooManyWatched),
        about="One that is on the list already stays where it is.",
    ),
    Endpoint(
        method="DELETE",
        path="/auctions/{gid}/watch",
        name="unwatchAuction",
        summary="Take an auction off my list",
        handler=watching.unwatch,
        tag="auctions",
        access=Access.TOKEN,
        status=204,
        errors=(UnknownAuction,),
        about="One that is not on the list is no error.",
    ),
)

_BIDS = (
    Endpoint(
        method="POST",
        path="/auctions/{gid}/bids",
        name="placeBid",
        summary="Place a bid, or raise your maximum",
        handler=bids.place,
        tag="bids",
        access=Access.TOKEN,
        form=fields.BID,
        status=201,
        answer=BidAnswer,
        errors=(*_BID_ERRORS, BidTooLow, AlreadyLeading),
        once=True,
        match=True,
        about="`bid` is null where only your own maximum rose.",
    ),
    Endpoint(
        method="GET",
        path="/auctions/{gid}/bids",
        name="bidHistory",
        summary="The history of bids, newest first",
        handler=bids.history,
        tag="bids",
        access=Access.TOKEN_OPTIONAL,
        query=fields.BY_BID,
        answer=BidPage,
        errors=(UnknownAuction,),
        about="`maximum` is there on your own bids only.",
    ),
    Endpoint(
        method="POST",
        path="/auctions/{gid}/buy",
        name="buyNow",
        summary="Buy at the buy-now price, while there is no bid",
        handler=bids.buy,
        tag="bids",
        access=Access.TOKEN,
        form=fields.BUY,
        body_optional=True,
        status=201,
        answer=BidAnswer,
        errors=(*_BID_ERRORS, BuyNowUnavailable),
        once=True,
        match=True,
        about="It needs no body. The purchase is recorded as a bid at the buy-now price, which closes the auction: the answer "
        "is 201, as that of `POST /auctions/{gid}/bids`.",
    ),
)

_EVENTS = (
    Endpoint(
        method="GET",
        path="/auctions/{gid}/events",
        name="followAuction",
        summary="Follow an auction: its events as they happen",
        handler=streams.of_auction,
        tag="events",
        query=fields.AFTER,
        stream=True,
        errors=(UnknownAuction, UnknownEvent, Busy),
        about="The stream ends after the auction's last event.",
    ),
    Endpoint(
        method="GET",
        path="/events",
        name="followAll",
        summary="Follow all auctions: every event as it happens",
        handler=streams.of_all,
        tag="events",
        query=fields.AFTER,
        stream=True,
        errors=(UnknownEvent, Busy),
        about="The stream goes on until one side ends it.",
    ),
)

_EVIDENCE = (
    Endpoint(
        method="GET",
        path="/auctions/{gid}/ledger",
        name="auctionLedger",
        summary="The ledger of an auction: its events, chained, for anyone to verify",
        handler=evidence.ledger,
        tag="evidence",
        lines=True,
        errors=(UnknownAuction,),
        about="Once the auction is over, limits and the reserve are opened.",
    ),
    Endpoint(
        method="GET",
        path="/time",
        name="time",
        summary="The clock of the house, by which everything is decided",
        handler=evidence.time,
        tag="evidence",
        answer=TimeView,
        about="Instants in answers and events are by this clock, and so is every end.",
    ),
    Endpoint(
        method="GET",
        path="/.well-known/saleroom.json",
        name="wellKnown",
        summary="The public keys that receipts are signed with",
        handler=evidence.well_known,
        tag="evidence",
        answer=HouseView,
        about="As JSON Web Keys, the newest first; a receipt names its key by `kid`.",
    ),
)

_SERVICE = (
    Endpoint(
        method="GET",
        path="/healthz",
        name="health",
        summary="200 once the service answers",
        handler=health.healthz,
        tag="service",
        answer=Health,
        about="It asks nothing of the database: for a check of whether the process lives.",
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        name="ready",
        summary="Checks the database and tells how the MQTT broker is",
        handler=health.readyz,
        tag="service",
        answer=Readiness,
        about="For a check of whether requests can be served; 503 where the database cannot be reached.",
    ),
    Endpoint(
        method="GET",
        path="/openapi.json",
        name="openapi",
        summary="This document",
        handler=health.openapi,
        tag="service",
        about="OpenAPI 3.1, built from the routes that this house has.",
    ),
    Endpoint(
        method="GET",
        path="/asyncapi.json",
        name="asyncapi",
        summary="What passes over MQTT and in the streams of events, as AsyncAPI 3.0",
        handler=health.asyncapi,
        tag="service",
        about="It names the broker and the ports of this house.",
    ),
)


def _with_common_errors(endpoint: Endpoint) -> Endpoint:
    errors = endpoint.errors
    if endpoint.form is not None or endpoint.query or endpoint.once:
        errors = (Invalid, *errors)
    if endpoint.once:
        errors = (*errors, IdempotencyMismatch)
    if endpoint.access is not Access.OPEN:
        errors = (Unauthenticated, *errors)
    return structs.replace(endpoint, errors=errors)


ENDPOINTS = tuple(
    _with_common_errors(endpoint)
    for endpoint in (*ACCOUNTS, *_AUCTIONS, *_PHOTOS, *_WATCHING, *_BIDS, *_EVENTS, *_EVIDENCE, *_SERVICE, TEST_USERS)
)
"""Every endpoint of the API. Errors of every door (forgery filter, sizes, unavailability) are added by `openapi.py`."""


def offered(*, test_users: bool) -> tuple[Endpoint, ...]:
    """Return the endpoints of a house; without `test_users` that address is unknown like any other."""
    return ENDPOINTS if test_users else tuple(one for one in ENDPOINTS if one.path != TEST_USERS.path)
