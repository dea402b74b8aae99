"""CORS: pages of other origins that may use the API."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

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
    """Lets pages of `origins` use the API; every other origin gets no CORS header at all."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._origins = frozenset(origins)
        self._rules = CORSMiddleware(
            unused, sorted(origins), allow_methods=_METHODS, allow_headers=_HEADERS, expose_headers=_EXPOSED
        )

    def before(self, respond: Respond) -> Respond:
        """Return the layer that answers browsers which ask before they send, and passes all other requests on."""

        def checked(scope: Scope, receive: Receive) -> Awaitable[Response]:
            return self._preflight(scope) if self._is_preflight(scope) else respond(scope, receive)

        return checked

    def finish(self, scope: Scope, response: Response) -> None:
        """Add to each answer; a cache stores it apart from that for another origin."""
        if self._is_preflight(scope):
            return
        origin = header(scope, b"origin")
        if origin in self._origins:
            response.headers.update(self._rules.simple_headers)
            self._rules.allow_explicit_origin(response.headers, origin)
        else:
            response.headers.add_vary_header("Origin")

    def _is_preflight(self, scope: Scope) -> bool:
        return (
            scope["method"] == "OPTIONS"
            and header(scope, b"access-control-request-method") is not None
            and header(scope, b"origin") in self._origins
        )

    async def _preflight(self, scope: Scope) -> Response:
        return self._rules.preflight_response(Headers(scope=scope))
