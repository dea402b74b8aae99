"""CORS: pages of other origins that may use the API."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_HEADERS = (
    "Authorization",
    "Content-Type",
    "Idempotency-Key",
    "If-None-Match",
    "Last-Event-ID",
    "X-Requested-With",
)
_EXPOSED = ("ETag", "Link", "Location", "Retry-After")


def with_cors(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Let pages of `origins` use the API; every other origin gets no CORS header at all."""
    if not origins:
        return app
    allowed = frozenset(origins)
    cors = CORSMiddleware(
        app,
        allow_origins=sorted(allowed),
        allow_methods=_METHODS,
        allow_headers=_HEADERS,
        expose_headers=_EXPOSED,
    )

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and Headers(scope=scope).get("origin") in allowed:
            await cors(scope, receive, send)
        else:
            await app(scope, receive, varied(send))

    def varied(send: Send) -> Send:
        """Let caches store this answer apart from that for a named origin."""

        async def send_varied(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).add_vary_header("Origin")
            await send(message)

        return send_varied

    return choose
