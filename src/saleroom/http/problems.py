"""The one map from refusals to HTTP: the status, the headers and the body of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar

import msgspec
from starlette.responses import Response

from saleroom.kernel import errors
from saleroom.kernel.errors import Contradiction, Declined, Fact, Fault, Invalid, Refusal
from saleroom.kernel.instants import instant


class Problem(Declined):
    """A refusal that only HTTP knows, with its status. `headers` go with the answer."""

    status: ClassVar[int] = 500
    headers: Mapping[str, str] = {}


class NotFound(Problem):
    """There is nothing at this address; GET /openapi.json lists what there is."""

    code = "not_found"
    status = 404


class MethodNotAllowed(Problem):
    """This address does not take this method; the header Allow says which it takes."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, allow: str) -> None:
        super().__init__()
        self.headers = {"Allow": allow}


class ForgeryRefusal(Problem):
    """Forgery filter: an API client sends the header 'X-Requested-With' (any value); a page sends its token."""

    code = "csrf"
    status = 403


class NoSessions(Problem):
    """This is an edge, which shows everybody the same; with a session, ask the house itself."""

    code = "no_sessions"
    status = 421


class BodyTooLarge(Problem):
    """The body is too large; the fact `limit` gives the bytes allowed."""

    code = "body_too_large"
    status = 413


class HeadersTooLarge(Problem):
    """The headers are too large; the fact `limit` gives the bytes allowed for the address and all of them together."""

    code = "headers_too_large"
    status = 431


class NotJson(Problem):
    """Send JSON, with 'Content-Type: application/json'."""

    code = "unsupported_media_type"
    status = 415


class BodyTimeout(Problem):
    """The body did not arrive in time; send the request again."""

    code = "request_timeout"
    status = 408


class Unavailable(Problem):
    """The service cannot reach its database just now; try again, with the same Idempotency-Key if you sent one."""

    code = "unavailable"
    status = 503


class InternalError(Problem):
    """Something went wrong inside; it has been logged."""

    code = "internal_error"
    status = 500


_STATUS_OF_KIND: dict[type[Refusal], int] = {
    errors.Unreadable: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.Unknown: 404,
    errors.Conflict: 409,
    errors.Gone: 410,
    errors.ConditionFailed: 412,
    errors.Mismatch: 422,
    errors.TooManyRequests: 429,
    errors.Busy: 503,
}
"""The status of each kind of refusal."""

_ADVICE: dict[str, str] = {
    "unauthenticated": "This needs a valid token: log in with POST /login and send 'Authorization: Bearer TOKEN'.",
    "already_leading": (
        "You lead already; to raise your limit send a 'maximum' above your present one, without 'amount'."
    ),
    "precondition_failed": (
        "The auction is not at the version that If-Match names; nothing was done; read it again, then decide."
    ),
    "idempotency_mismatch": ("This Idempotency-Key was used for another request; use a new key for a new request."),
    "too_many_requests": "Too many tries; wait as long as Retry-After says.",
}
"""The sentences over HTTP in place of a refusal's own, by its code: they name headers and addresses."""

RETRY_AFTER_SECONDS = 1
_MAY_BE_KEPT = (404, 405, 410)
"""Caches keep errors of these statuses unless they forbid it (RFC 9110, 15.1). A lot may soon be there, or shown again."""


def status_of(refused: Refusal | type[Refusal]) -> int:
    """Return the HTTP status of a refusal or a class of them; 500 for one that is not meant to reach a client."""
    kind = refused if isinstance(refused, type) else type(refused)
    if issubclass(kind, Problem):
        return kind.status
    return next((_STATUS_OF_KIND[base] for base in kind.__mro__ if base in _STATUS_OF_KIND), 500)


def statuses() -> dict[type[Refusal], int]:
    """Return every refusal that can reach a client, of all areas that are imported, with its status."""
    return {kind: status_of(kind) for kind in _with_codes(Refusal) if issubclass(kind, (Problem, *_STATUS_OF_KIND))}


def _with_codes(kind: type[Refusal]) -> Iterator[type[Refusal]]:
    for derived in kind.__subclasses__():
        if "code" in vars(derived):
            yield derived
        yield from _with_codes(derived)


def sentence_of(kind: type[Refusal]) -> str:
    """Return the message of a refusal of this kind over HTTP, unless it has a more exact one."""
    return _ADVICE.get(kind.code, kind.sentence())


@cache
def member(name: str) -> str:
    """Return the JSON member that shows a fact or a term of this name: `minimum_bid` is `minimumBid`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def faults_of(invalid: Invalid) -> Mapping[str, list[Fault]]:
    """Return the faults by the names that the fields have in a request."""
    if not isinstance(invalid, Contradiction):
        return invalid.faults
    return {member(field): faults for field, faults in invalid.faults.items()}


def body_of(refused: Refusal, *, bare: bool = False) -> dict[str, Any]:
    """Return the JSON object of an error: `message`, `code` and its facts; only `message` if `bare`.

    The two errors of a login are bare: their bodies are as the specification shows them.
    """
    if isinstance(refused, Invalid):
        message: Any = {
            field: [{"code": fault.code, "message": fault.message} for fault in faults]
            for field, faults in faults_of(refused).items()
        }
    else:
        message = sentence_of(type(refused)) if refused.message == refused.sentence() else refused.message
    if bare or refused.bare:
        return {"message": message}
    return {
        "message": message,
        "code": refused.code,
        **{member(name): _plain(fact) for name, fact in refused.facts.items()},
    }


def headers_of(refused: Refusal) -> dict[str, str]:
    """Return the headers that an error's status asks for."""
    headers = dict(refused.headers) if isinstance(refused, Problem) else {}
    status = status_of(refused)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        headers["Retry-After"] = str(refused.facts.get("retry_after", RETRY_AFTER_SECONDS))
    if status in (408, 413):
        headers["Connection"] = "close"
    return headers


def answer(refused: Refusal, *, bare: bool = False) -> Response:
    """Return the HTTP answer to an error, as JSON."""
    body, status = msgspec.json.encode(body_of(refused, bare=bare)), status_of(refused)
    headers = headers_of(refused)
    if status in _MAY_BE_KEPT:
        headers["Cache-Control"] = "no-store"
    return Response(body, status, headers, media_type="application/json")


def _plain(fact: Fact) -> Any:
    if isinstance(fact, tuple):
        return [{"member": member(one.member), "was": _plain(one.was), "now": _plain(one.now)} for one in fact]
    if isinstance(fact, datetime):
        return instant(fact)
    return str(fact) if isinstance(fact, Decimal) else fact
