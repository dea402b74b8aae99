"""The client of a request, as the database's turns know it: the key of its share, and whether it still waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.requests import HTTPConnection
from starlette.types import Scope

from saleroom.http.client_connection import CLIENT_CONNECTION, ClientConnection
from saleroom.http.requests import bearer_token, client_address, session_token
from saleroom.kernel.errors import Unauthenticated
from saleroom.kernel.networks import network
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.turns import ASKER

TokenOwner = Callable[[str], Awaitable[int]]
"""From a token to its user's number; raises Unauthenticated or DatabaseUnavailable."""


class RequestAsker:
    """The client of one request: the user of a live token, otherwise the network of the request."""

    __slots__ = ("_key", "_scope", "_whose")

    def __init__(self, scope: Scope, whose: TokenOwner) -> None:
        self._scope = scope
        self._whose = whose
        self._key = ""

    @property
    def gone(self) -> bool:
        """Whether the client has hung up."""
        connection: ClientConnection | None = self._scope.get(CLIENT_CONNECTION)
        return connection is not None and connection.gone

    async def key(self) -> str:
        """Return the key of the client. A client with a forged token counts as its network."""
        if not self._key:
            connection = HTTPConnection(self._scope)
            token = bearer_token(self._scope) or session_token(connection)
            with suppress(Unauthenticated, DatabaseUnavailable):
                self._key = f"user {await self._whose(token)}" if token else ""
            self._key = self._key or network(client_address(connection))
        return self._key


async def client_key() -> str:
    """Return the key of the client for which the present task works; empty if it works for the house itself."""
    asker = ASKER.get()
    return await asker.key() if asker else ""
