"""Requests: their headers, cookies, tokens and client, and their body within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache

from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from saleroom.http.problems import BodyTimeout, BodyTooLarge
from saleroom.kernel.identifiers import PROGRAM_TOKEN

Respond = Callable[[Scope, Receive], Awaitable[Response]]
"""From a request to its answer: the form of the whole application, and of each of its layers."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
BODY_SECONDS_MAX = 30.0
HEADERS = "saleroom.headers"
"""In the scope of a request: its headers by name, the first one of each name."""
HEAD_BYTES = "saleroom.head_bytes"
"""In the scope of a request: how many bytes its head had as it came, so that a short one needs no count of its parts."""
BODY = "saleroom.body"
"""In the scope of a request whose whole body arrived before any of it was read: the body."""
HTTPS = "saleroom.https"
"""In the scope of a request: whether people reach the house by https, so that its cookies are `Secure`."""


def header(scope: Scope, name: bytes) -> str | None:
    """Return the first header of this `name`, which is in lower case."""
    value = headers_of(scope).get(name)
    return None if value is None else value.decode("latin-1")


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers by name, in lower case, the first one of each name."""
    found: dict[bytes, bytes] | None = scope.get(HEADERS)
    if found is None:
        found = scope[HEADERS] = dict(reversed(scope["headers"]))
    return found


def joined_header(scope: Scope, name: bytes) -> str | None:
    """Return all headers of this `name`, which is in lower case, as one list (RFC 9110, 5.3); None if there are none."""
    if header(scope, name) is None:
        return None
    return ", ".join(value.decode("latin-1") for other, value in scope["headers"] if other == name)


def media_type(scope: Scope) -> str:
    """Return the media type of the body without its parameters; an empty string if the header is missing."""
    return _media_type(header(scope, b"content-type") or "")


@lru_cache(64)
def _media_type(value: str) -> str:
    return value.partition(";")[0].strip().lower()


def bearer_token(scope: Scope) -> str | None:
    """Return the part of `Authorization` after the first space; the word before it may be anything (specification).

    None if the header is missing; an empty string if nothing follows the first space or there is no space.
    """
    value = header(scope, b"authorization")
    return None if value is None else value.partition(" ")[2]


def cookie(scope: Scope, name: str) -> str | None:
    """Return the last cookie of this `name` that is not empty, however odd the cookies beside it are."""
    # The standard library's parser is not used: its time to unquote odd cookies grows with the square of their length.
    found = None
    for pair in (header(scope, b"cookie") or "").split(";"):
        key, _, value = pair.partition("=")
        if key.strip() == name:
            found = value.strip()
    return found or None


def session_cookie_name(*, https: bool) -> str:
    """Return the name of the cookie that holds the token of a page's session."""
    return "__Host-saleroom_session" if https else "saleroom_session"


def session_token(request: HTTPConnection) -> str | None:
    """Return the token of a page's session, from its cookie."""
    return session_of(request.scope)


def session_of(scope: Scope) -> str | None:
    """Return the token of a page's session, from the scope of its request. A token for a program opens no page."""
    token = cookie(scope, session_cookie_name(https=bool(scope.get(HTTPS))))
    return None if token is None or token.startswith(PROGRAM_TOKEN) else token


def client_address(request: HTTPConnection) -> str:
    """Return the client's address. The server has already replaced it by the one that a trusted proxy names."""
    return "unknown" if request.client is None else request.client.host


def arrived_body(scope: Scope, bytes_max: int) -> bytes | None:
    """Return the body if all of it had arrived before any of it was read, as that of a bid has. Raises BodyTooLarge."""
    body: bytes | None = scope.get(BODY)
    if body is not None and len(body) > bytes_max:
        raise BodyTooLarge(limit=bytes_max)
    return body


async def read_body(request: Request, bytes_max: int, seconds_max: float | None = None) -> bytes:
    """Return the body. Raises BodyTooLarge (and reads no further), BodyTimeout, or ClientDisconnect."""
    body = arrived_body(request.scope, bytes_max)
    if body is not None:
        return body
    refuse_declared(request.scope, bytes_max)
    try:
        async with asyncio.timeout(seconds_max or BODY_SECONDS_MAX):
            return await _body(request.receive, bytes_max)
    except TimeoutError:
        raise BodyTimeout from None


def declared_length(scope: Scope) -> int | None:
    """Return the length of the body in bytes as its header declares it, or None."""
    declared = header(scope, b"content-length") or ""
    return int(declared) if declared.isascii() and declared.isdigit() else None


def refuse_declared(scope: Scope, bytes_max: int) -> None:
    """Raise BodyTooLarge if the declared length is above `bytes_max`."""
    if (declared_length(scope) or 0) > bytes_max:
        raise BodyTooLarge(limit=bytes_max)


async def _body(receive: Receive, bytes_max: int) -> bytes:
    pieces = []
    length = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        length += len(pieces[-1])
        if length > bytes_max:
            raise BodyTooLarge(limit=bytes_max)
        more = message.get("more_body", False)
    return b"".join(pieces)
