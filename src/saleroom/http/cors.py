"""CORS: pages of other origins that may use the API."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import Receive, Scope

from saleroom.http.internals import unused
from saleroom.http.requests import Respond, header

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_HEADERS = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "X-Requested-With",
)
_EXPOSED = ("ETag", "Link", "Location", "Retry-After")


class Cors:
    """The layer that lets pages of `origins` use the API; every other origin gets no CORS header at all."""

    def __init__(self, respond: Respond, origins: Sequence[str]) -> None:
        self._respond = respond
        self._origins = frozenset(origins)
        self._rules = CORSMiddleware(
            unused, sorted(origins), allow_methods=_METHODS, allow_headers=_HEADERS, expose_headers=_EXPOSED
        )

    async def __call__(self, scope: Scope, receive: Receive) -> Response:
        """Pass the request on; a cache stores the answer apart from that for another origin."""
        origin = header(scope, b"origin")
        if origin not in self._origins:
            response = await self._respond(scope, receive)
            response.headers.add_vary_header("Origin")
            return response
        if scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method") is not None:
            return self._rules.preflight_response(Headers(scope=scope))
        response = await self._respond(scope, receive)
        response.headers.update(self._rules.simple_headers)
        self._rules.allow_explicit_origin(response.headers, origin)
        return response
