"""Trusted proxies: they name the client of a request, and whether it came by https."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, cast

from starlette.types import Scope

from saleroom.http.internals import ProxyHeadersMiddleware, unused
from saleroom.http.requests import headers_of

_SENT = frozenset({b"x-forwarded-for", b"x-forwarded-proto"})
"""The headers that a proxy sends."""
_CONNECTED = "saleroom.connected"
"""In the scope of a request with such headers: the address and port that its connection comes from."""


def trusts(trusted: Sequence[str]) -> Callable[[str | None], bool]:
    """Return whether an address is that of a `trusted` proxy, as a function."""
    return ProxyHeadersMiddleware(unused, trusted_hosts=list(trusted)).trusted_hosts.__contains__


def connected_address(scope: Scope) -> str | None:
    """Return the address that a request's connection comes from: that of the last proxy, or of the client without one."""
    connected = scope.get(_CONNECTED, scope.get("client"))
    return None if connected is None else str(connected[0])


class TrustedProxies:
    """Replaces the address of a `trusted` proxy by that of its client, in the scope of each request."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._rules = ProxyHeadersMiddleware(unused, trusted_hosts=list(trusted))

    def __call__(self, scope: Scope) -> None:
        """Change the scope. It is called once for a request: what it wrote would be taken for a proxy's address."""
        if _SENT.isdisjoint(headers_of(scope)):
            return
        scope[_CONNECTED] = scope.get("client")
        work: Coroutine[Any, Any, None] = self._rules(cast("Any", scope), cast("Any", None), cast("Any", None))
        with suppress(StopIteration):  # it waits for nothing, so it ends at its first step
            work.send(None)
