"""Trusted proxies: they name the client of a request, and whether it came by https."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from starlette.responses import Response
from starlette.types import Receive, Scope

from saleroom.http.internals import ProxyHeadersMiddleware, unused
from saleroom.http.requests import Respond


def trusts(trusted: Sequence[str]) -> Callable[[str | None], bool]:
    """Return whether an address is that of a `trusted` proxy, as a function."""
    return ProxyHeadersMiddleware(unused, trusted_hosts=list(trusted)).trusted_hosts.__contains__


class TrustedProxies:
    """The layer that replaces the address of a `trusted` proxy by that of its client."""

    def __init__(self, respond: Respond, trusted: Sequence[str]) -> None:
        self._respond = respond
        self._rules = ProxyHeadersMiddleware(unused, trusted_hosts=list(trusted))

    async def __call__(self, scope: Scope, receive: Receive) -> Response:
        """Pass the request on."""
        await self._rules(cast("Any", scope), cast("Any", receive), cast("Any", None))  # it only changes the scope
        return await self._respond(scope, receive)
