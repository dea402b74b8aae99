"""From an error's code to its HTTP status, and to the body that people and programs read: the only map."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from starlette.responses import Response

from saleroom.bidding.domain.views import instant
from saleroom.kernel import errors
from saleroom.kernel.errors import Fact, Invalid, InvalidAuthentication, Refused


class Problem(Refused):
    """A refusal that only HTTP knows. `headers` go with the answer."""

    code = "problem"
    headers: Mapping[str, str] = {}


class NotFound(Problem):
    """There is nothing at this address; GET /openapi.json lists what there is."""

    code = "not_found"


class MethodNotAllowed(Problem):
    """This address does not take this method; the header Allow says which it takes."""

    code = "method_not_allowed"

    def __init__(self, allow: str) -> None:
        super().__init__()
        self.headers = {"Allow": allow}


class ForgeryRefused(Problem):
    """Forgery filter: an API client sends the header 'X-Requested-With' (any value); a page sends its token."""

    code = "csrf"


class BodyTooLarge(Problem):
    """The body is too large; the fact `limit` gives the bytes allowed."""

    code = "body_too_large"


class HeadersTooLarge(Problem):
    """The headers are too large; the fact `limit` gives the bytes allowed for the address and all of them together."""

    code = "headers_too_large"


class NotJson(Problem):
    """Send JSON, with 'Content-Type: application/json'."""

    code = "unsupported_media_type"


class NotAnImage(Problem):
    """Send the picture itself as the body, with its 'Content-Type', such as image/jpeg."""

    code = "image_expected"


class BodyTimedOut(Problem):
    """The body did not arrive in time; send the request again."""

    code = "request_timeout"


class Unavailable(Problem):
    """The service cannot reach its database just now; try again, with the same Idempotency-Key if you sent one."""

    code = "unavailable"


class InternalError(Problem):
    """Something went wrong inside; it has been logged."""

    code = "internal_error"


STATUS: dict[type[Refused], int] = {
    Invalid: 400,
    errors.Unauthenticated: 401,
    errors.InvalidAuthentication: 422,
    errors.WrongPassword: 403,
    errors.UsernameTaken: 409,
    errors.RegistrationClosed: 403,
    errors.UnknownAuction: 404,
    errors.UnknownEvent: 400,
    errors.UnknownPhoto: 404,
    errors.UnknownSession: 404,
    errors.OwnAuction: 403,
    errors.NotAuthor: 403,
    errors.BidTooLow: 409,
    errors.AlreadyLeading: 409,
    errors.AuctionClosed: 409,
    errors.AuctionNotStarted: 409,
    errors.AuctionStarted: 409,
    errors.HasBids: 409,
    errors.BuyNowUnavailable: 409,
    errors.EndsByItself: 409,
    errors.TermsChanged: 409,
    errors.PreconditionFailed: 412,
    errors.IdempotencyMismatch: 422,
    errors.TooManyPhotos: 409,
    errors.TooManyAuctions: 409,
    errors.TooManyWatched: 409,
    errors.TooManyRequests: 429,
    errors.Busy: 503,
    NotFound: 404,
    MethodNotAllowed: 405,
    ForgeryRefused: 403,
    BodyTooLarge: 413,
    HeadersTooLarge: 431,
    NotJson: 415,
    NotAnImage: 415,
    BodyTimedOut: 408,
    Unavailable: 503,
    InternalError: 500,
}
"""The status of every error that can reach a client."""

RETRY_AFTER_SECONDS = 1


def status_of(refused: Refused) -> int:
    """Return the HTTP status of an error; 500 for one that is not meant to reach a client."""
    return STATUS.get(type(refused), 500)


def body_of(refused: Refused, *, bare: bool = False) -> dict[str, Any]:
    """Return the JSON object of an error: `message`, `code` and its facts; only `message` where `bare`.

    The two errors of a login are bare: their bodies are what the specification shows.
    """
    if isinstance(refused, Invalid):
        message: Any = {
            field: [{"code": fault.code, "message": fault.message} for fault in faults]
            for field, faults in refused.faults.items()
        }
    else:
        message = refused.message
    if bare or isinstance(refused, InvalidAuthentication):
        return {"message": message}
    return {"message": message, "code": refused.code, **{name: _plain(fact) for name, fact in refused.facts.items()}}


def headers_of(refused: Refused) -> dict[str, str]:
    """Return the headers that an error's status asks for."""
    headers = dict(refused.headers) if isinstance(refused, Problem) else {}
    status = status_of(refused)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        headers["Retry-After"] = str(refused.facts.get("retryAfter", RETRY_AFTER_SECONDS))
    if status in (408, 413):
        headers["Connection"] = "close"
    return headers


def answer(refused: Refused, *, bare: bool = False) -> Response:
    """Return the HTTP answer to an error, as JSON."""
    body = msgspec.json.encode(body_of(refused, bare=bare))
    return Response(body, status_of(refused), headers_of(refused), media_type="application/json")


def _plain(fact: Fact) -> Any:
    if isinstance(fact, tuple):
        return [{"member": one.member, "was": _plain(one.was), "now": _plain(one.now)} for one in fact]
    if isinstance(fact, datetime):
        return instant(fact)
    return str(fact) if isinstance(fact, Decimal) else fact
