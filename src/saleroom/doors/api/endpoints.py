"""The one table of routes. It gives the router its routes, the OpenAPI document its paths, the tests their lists."""

from __future__ import annotations

from msgspec import structs

from saleroom.domain import errors as e
from saleroom.domain.views import AuctionView, BidAnswer
from saleroom.doors.api import accounts, auctions, bids, fields, health, live
from saleroom.doors.api.resource import Access, Endpoint
from saleroom.doors.api.wire import (
    AccountView,
    AuctionPage,
    BidPage,
    Health,
    MyBidPage,
    Readiness,
    TokenView,
    UserTokensView,
)

_BID_ERRORS = (e.UnknownAuction, e.OwnAuction, e.AuctionClosed, e.AuctionNotStarted)
_AUTHOR_ERRORS = (e.UnknownAuction, e.NotAuthor, e.AuctionClosed)

_ACCOUNTS = (
    Endpoint(
        method="POST",
        path="/users",
        name="register",
        summary="Register",
        handler=accounts.register,
        tag="accounts",
        form=fields.REGISTER,
        status=201,
        answer=AccountView,
        errors=(e.UsernameTaken, e.RegistrationClosed, e.TooManyRequests, e.Busy),
    ),
    Endpoint(
        method="POST",
        path="/login",
        name="logIn",
        summary="Log in and obtain a token, good for 30 days",
        handler=accounts.log_in,
        tag="accounts",
        form=fields.LOGIN,
        answer=TokenView,
        errors=(e.InvalidAuthentication, e.TooManyRequests, e.Busy),
        bare=True,
    ),
    Endpoint(
        method="DELETE",
        path="/logout",
        name="logOut",
        summary="Log out: the token is dead at once",
        handler=accounts.log_out,
        tag="accounts",
        access=Access.TOKEN,
        status=204,
    ),
    Endpoint(
        method="GET",
        path="/me",
        name="me",
        summary="Who am I",
        handler=accounts.me,
        tag="accounts",
        access=Access.TOKEN,
        answer=AccountView,
    ),
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
    ),
    Endpoint(
        method="GET",
        path="/me/bids",
        name="myBids",
        summary="The auctions I have bid on, newest first, and how I stand: leading, outbid, won or lost",
        handler=bids.mine,
        tag="accounts",
        access=Access.TOKEN,
        query=fields.BY_AUCTION,
        answer=MyBidPage,
    ),
)

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
        once=True,
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
        errors=(e.UnknownAuction,),
        about="`reservePrice` is there for its author only. `ETag` comes from `version`; 304 on `If-None-Match`.",
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
        errors=(*_AUTHOR_ERRORS, e.HasBids, e.AuctionStarted),
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
        errors=(*_AUTHOR_ERRORS, e.HasBids),
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
        answer=AuctionView,
        errors=(*_AUTHOR_ERRORS, e.EndsByItself, e.AuctionNotStarted),
        once=True,
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
        errors=(*_BID_ERRORS, e.BidTooLow, e.AlreadyLeading),
        once=True,
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
        errors=(e.UnknownAuction,),
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
        form=fields.EMPTY,
        body_optional=True,
        status=201,
        answer=BidAnswer,
        errors=(*_BID_ERRORS, e.BuyNowUnavailable),
        once=True,
    ),
)

_EVENTS = (
    Endpoint(
        method="GET",
        path="/auctions/{gid}/events",
        name="followAuction",
        summary="Follow an auction: its events as they happen",
        handler=live.of_auction,
        tag="events",
        query=fields.AFTER,
        stream=True,
        errors=(e.UnknownAuction, e.UnknownEvent, e.Busy),
        about="The stream ends after the auction's last event.",
    ),
    Endpoint(
        method="GET",
        path="/events",
        name="followAll",
        summary="Follow all auctions: every event as it happens",
        handler=live.of_all,
        tag="events",
        query=fields.AFTER,
        stream=True,
        errors=(e.UnknownEvent, e.Busy),
    ),
)

_TEST_USERS = Endpoint(
    method="POST",
    path="/test-users",
    name="makeTestUsers",
    summary="Make users for a load test, with a token each",
    handler=accounts.make_test_users,
    tag="accounts",
    access=Access.TOKEN,
    form=fields.TEST_USERS,
    status=201,
    answer=UserTokensView,
    about="The token is the setting `load_key`. A house without that setting has no such address. Nobody can log in as them.",
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
    ),
    Endpoint(
        method="GET",
        path="/readyz",
        name="ready",
        summary="Checks the database and tells how the MQTT broker is",
        handler=health.readyz,
        tag="service",
        answer=Readiness,
    ),
    Endpoint(
        method="GET",
        path="/openapi.json",
        name="openapi",
        summary="This document",
        handler=health.openapi,
        tag="service",
    ),
    Endpoint(
        method="GET",
        path="/asyncapi.json",
        name="asyncapi",
        summary="What passes over MQTT and in the streams of events, as AsyncAPI 3.0",
        handler=health.asyncapi,
        tag="service",
    ),
)


def _with_common_errors(endpoint: Endpoint) -> Endpoint:
    errors = endpoint.errors
    if endpoint.form is not None or endpoint.query or endpoint.once:
        errors = (e.Invalid, *errors)
    if endpoint.once:
        errors = (*errors, e.IdempotencyMismatch)
    if endpoint.access is not Access.OPEN:
        errors = (e.Unauthenticated, *errors)
    return structs.replace(endpoint, errors=errors)


ENDPOINTS = tuple(
    _with_common_errors(endpoint) for endpoint in (*_ACCOUNTS, *_AUCTIONS, *_BIDS, *_EVENTS, *_SERVICE, _TEST_USERS)
)
"""Every endpoint of the API. Errors of every door (forgery filter, sizes, unavailability) are added by `openapi.py`."""


def offered(*, test_users: bool) -> tuple[Endpoint, ...]:
    """Return the endpoints of a house; without `test_users` that address is unknown like any other."""
    return ENDPOINTS if test_users else tuple(one for one in ENDPOINTS if one.path != _TEST_USERS.path)
