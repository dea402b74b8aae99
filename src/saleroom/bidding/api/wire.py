"""The JSON shapes of answers, paging, and the few helpers that all endpoints share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from saleroom.accounts.domain.accounts import Account
from saleroom.bidding.domain.views import AuctionView, BidView, instant
from saleroom.bidding.service.reading import MyBid

encode = msgspec.json.Encoder().encode
LIMIT_DEFAULT, LIMIT_MAX = 50, 100


class TokenView(Struct, frozen=True, rename="camel"):
    """A new token; the value is shown this once."""

    token: str
    created_at: str
    expires_at: str


class AccountView(Struct, frozen=True, rename="camel"):
    """An account as its owner sees it."""

    username: str
    created_at: str


class SessionView(Struct, frozen=True, rename="camel"):
    """A session of one's own: a live token, without its value."""

    id: int
    created_at: str
    expires_at: str
    agent: str
    current: bool


class SessionsView(Struct, frozen=True):
    """Where one is logged in, the latest login first."""

    sessions: list[SessionView]


class PhotoFileView(Struct, frozen=True):
    """A photo in one width."""

    width: int
    url: str


class PhotoView(Struct, frozen=True):
    """A photo; its size is that of the widest file."""

    id: str
    width: int
    height: int
    files: list[PhotoFileView]


class PhotosView(Struct, frozen=True):
    """An auction's photos, in their order; the first one stands for the lot in lists."""

    photos: list[PhotoView]


class UserTokenView(Struct, frozen=True, rename="camel"):
    """A test user and its token; the value is shown this once."""

    username: str
    token: str
    expires_at: str


class UserTokensView(Struct, frozen=True):
    """The test users that were made."""

    users: list[UserTokenView]


class AuctionPage(Struct, frozen=True):
    """A page of auctions; `next` is the cursor of the next page, or null at the end."""

    auctions: list[AuctionView]
    next: str | None


class BidPage(Struct, frozen=True):
    """A page of an auction's bids, newest first."""

    bids: list[BidView]
    next: str | None


class MyBidPage(Struct, frozen=True):
    """A page of the auctions on which one has bid."""

    bids: list[MyBid]
    next: str | None


class Health(Struct, frozen=True):
    """The service answers."""

    status: str


class Readiness(Struct, frozen=True):
    """Whether the database answers, how the MQTT broker is, and how many events it is owed."""

    status: str
    database: str
    mqtt: str
    owed: int


class TimeView(Struct, frozen=True):
    """What the clock of the house says."""

    time: str


class KeyView(Struct, frozen=True):
    """A public key as a JSON Web Key (RFC 7517, RFC 8037)."""

    kty: str
    crv: str
    alg: str
    use: str
    kid: str
    x: str


class HouseView(Struct, frozen=True, rename="camel"):
    """What the house says of itself to whoever checks it."""

    service: str
    service_version: str
    ledger_format: int
    keys: list[KeyView]


class ErrorView(Struct, frozen=True):
    """An error: a sentence, or for `validation` each field's faults; beside it a stable code, and facts to act on."""

    message: str | dict[str, list[FaultView]]
    code: str


class LoginErrorView(Struct, frozen=True):
    """An error of a login, in the specification's own shape."""

    message: str | dict[str, list[FaultView]]


class FaultView(Struct, frozen=True):
    """One thing wrong with one field."""

    code: str
    message: str


class JsonResponse(Response):
    """An answer of JSON. The framework's own works out its headers anew each time, which takes as long as reading a bid."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), _IS_JSON]
        self.raw_headers += [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ]


_IS_JSON = (b"content-type", b"application/json")
_NO_HEADERS: Mapping[str, str] = {}


def json_response(
    body: Struct | dict[str, Any] | bytes, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
) -> Response:
    """Return an answer; bytes are JSON already."""
    return JsonResponse(body if isinstance(body, bytes) else encode(body), status, headers)


def page_response(request: Request, body: Struct | dict[str, Any], cursor: str | None) -> Response:
    """Return a page of a list, with `Link: rel="next"` where there is more."""
    headers = {"Cache-Control": "no-cache", "Vary": "Authorization"}
    if cursor is not None:
        query = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
        headers["Link"] = f'<{request.url.path}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'
    return json_response(body, headers=headers)


def account_view(account: Account) -> AccountView:
    """Return an account as its owner sees it."""
    return AccountView(account.username, instant(account.created_at))
