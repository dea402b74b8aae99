"""The rows of the table of routes that are about auctions and bids."""

from __future__ import annotations

from collections.abc import Mapping

from saleroom.accounts.domain.errors import IdempotencyMismatch
from saleroom.bidding.api import auctions, bids, evidence, fields, photos, watching
from saleroom.bidding.api.conditions import explain
from saleroom.bidding.api.wire import AuctionPage, BidPage, HouseView, MyBidPage, PhotosView, PhotoView, TimeView
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
    PreconditionFailed,
    TermsChanged,
    TooManyAuctions,
    TooManyPhotos,
    TooManyWatched,
    UnknownAuction,
)
from saleroom.bidding.domain.views import AuctionView, BidAnswer
from saleroom.bidding.services import BiddingServices
from saleroom.feed import streams
from saleroom.feed.feed import Feed
from saleroom.http.endpoints import Access, Endpoint, Explain, PathIdentifier
from saleroom.kernel.errors import Busy, Invalid, Refused, TooManyRequests, UnknownEvent
from saleroom.kernel.identifiers import GID

_BID_ERRORS = (UnknownAuction, OwnAuction, AuctionOver, AuctionNotStarted, TermsChanged)
_AUTHOR_ERRORS = (UnknownAuction, NotAuthor, AuctionOver)

_AUCTION = PathIdentifier(
    name="gid",
    pattern=GID,
    unknown=UnknownAuction,
    schema={"type": "string", "pattern": f"^{GID.pattern}$"},
    about="The auction.",
)

_AUCTIONS: tuple[Endpoint[BiddingServices], ...] = (
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
        errors=(TooManyAuctions, IdempotencyMismatch),
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
        identifier=_AUCTION,
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
        identifier=_AUCTION,
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
        identifier=_AUCTION,
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
        identifier=_AUCTION,
        access=Access.TOKEN,
        form=fields.CLOSE,
        body_optional=True,
        answer=AuctionView,
        errors=(*_AUTHOR_ERRORS, EndsByItself, AuctionNotStarted, IdempotencyMismatch),
        match=True,
        once=True,
        about="With `endsAt` it announces the end of an auction that has none. Without it, or without a body, the auction is "
        "closed now. One with an end closes by itself.",
    ),
)

_PHOTOS: tuple[Endpoint[BiddingServices], ...] = (
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
        identifier=_AUCTION,
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
        identifier=_AUCTION,
        access=Access.TOKEN,
        form=fields.PHOTOS,
        answer=PhotosView,
        errors=(*_AUTHOR_ERRORS, HasBids),
        match=True,
        about="What is left out is on no auction from then on.",
    ),
)

_WATCHING: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="PUT",
        path="/auctions/{gid}/watch",
        name="watchAuction",
        summary="Put an auction on my list",
        handler=watching.watch,
        tag="auctions",
        identifier=_AUCTION,
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
        identifier=_AUCTION,
        access=Access.TOKEN,
        status=204,
        errors=(UnknownAuction,),
        about="One that is not on the list is no error.",
    ),
)

_BIDS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="POST",
        path="/auctions/{gid}/bids",
        name="placeBid",
        summary="Place a bid, or raise your maximum",
        handler=bids.place,
        tag="bids",
        identifier=_AUCTION,
        access=Access.TOKEN,
        form=fields.BID,
        status=201,
        answer=BidAnswer,
        errors=(*_BID_ERRORS, BidTooLow, AlreadyLeading, IdempotencyMismatch),
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
        identifier=_AUCTION,
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
        identifier=_AUCTION,
        access=Access.TOKEN,
        form=fields.BUY,
        body_optional=True,
        status=201,
        answer=BidAnswer,
        errors=(*_BID_ERRORS, BuyNowUnavailable, IdempotencyMismatch),
        once=True,
        match=True,
        about="It needs no body. The purchase is recorded as a bid at the buy-now price, which closes the auction: the answer "
        "is 201, as that of `POST /auctions/{gid}/bids`.",
    ),
)

EVENTS: tuple[Endpoint[Feed], ...] = (
    Endpoint(
        method="GET",
        path="/auctions/{gid}/events",
        name="followAuction",
        summary="Follow an auction: its events as they happen",
        handler=streams.follow,
        tag="events",
        identifier=_AUCTION,
        query=streams.AFTER,
        stream=True,
        errors=(UnknownAuction, UnknownEvent, Busy),
        about="The stream ends after the auction's last event.",
    ),
    Endpoint(
        method="GET",
        path="/events",
        name="followAll",
        summary="Follow all auctions: every event as it happens",
        handler=streams.follow,
        tag="events",
        query=streams.AFTER,
        stream=True,
        errors=(UnknownEvent, Busy),
        about="The stream goes on until one side ends it.",
    ),
)

_EVIDENCE: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="GET",
        path="/auctions/{gid}/ledger",
        name="auctionLedger",
        summary="The ledger of an auction: its events, chained, for anyone to verify",
        handler=evidence.ledger,
        tag="evidence",
        identifier=_AUCTION,
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

_MINE: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="GET",
        path="/me/auctions",
        name="myAuctions",
        summary="My auctions, newest first",
        handler=auctions.mine,
        tag="accounts",
        access=Access.TOKEN,
        query=fields.BY_MARK,
        answer=AuctionPage,
        about="Each as its author sees it, with its reserve.",
    ),
    Endpoint(
        method="GET",
        path="/me/bids",
        name="myBids",
        summary="The auctions I have bid on, newest first, and how I stand: leading, outbid, won or lost",
        handler=bids.mine,
        tag="accounts",
        access=Access.TOKEN,
        query=fields.BY_BID_ON,
        answer=MyBidPage,
        about="`standing` says how the caller stands in each.",
    ),
    Endpoint(
        method="GET",
        path="/me/watching",
        name="myWatching",
        summary="The auctions I watch, the latest put on the list first",
        handler=watching.mine,
        tag="accounts",
        access=Access.TOKEN,
        query=fields.BY_WATCHED,
        answer=AuctionPage,
        about="They stay on the list when they are over.",
    ),
)

BIDDING = (*_MINE, *_AUCTIONS, *_PHOTOS, *_WATCHING, *_BIDS, *_EVIDENCE)
"""Every endpoint of auctions and bids but their streams, which are EVENTS."""
EXPLANATIONS: Mapping[type[Refused], Explain[BiddingServices]] = {TermsChanged: explain, PreconditionFailed: explain}
"""The refusals that tell what has changed in the auction since it was seen."""
