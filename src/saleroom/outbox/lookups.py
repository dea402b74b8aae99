"""Looking up the names of strangers: a name server that never answers holds up no other work of the house.

A look-up cannot be ended, and takes half a minute if nobody answers. The event loop looks two names up at a time, for all
parts of the house: a connection to the database, the broker or the mail server would wait behind names of strangers. So each
of those has a thread of its own, which ends with the process.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

AT_ONCE = 64
"""More than the posts under way at a time, as a look-up outlives a post that was given up."""
_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


class Lookups(AbstractResolver):
    """The look-ups of one client."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(AT_ONCE)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host. Raises OSError if there is none."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[ResolveResult]] = loop.create_future()

        def settle(found: list[ResolveResult] | OSError | UnicodeError) -> None:
            self._places.release()
            if answer.done():  # the post was given up
                return
            if isinstance(found, list):
                answer.set_result(found)
            else:
                answer.set_exception(found)

        def look() -> None:
            found: list[ResolveResult] | OSError | UnicodeError
            try:
                found = _looked_up(host, port, family)
            except (OSError, UnicodeError) as error:
                found = error
            with suppress(RuntimeError):  # the house has ended meanwhile
                loop.call_soon_threadsafe(settle, found)

        threading.Thread(target=look, name="look-up", daemon=True).start()
        return await answer

    async def close(self) -> None:
        """Leave the threads to themselves: they end once the name servers answer."""


def _looked_up(host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [
        ResolveResult(hostname=host, host=_numeric(address), port=port, family=kind, proto=protocol, flags=_NUMERIC)
        for kind, _, protocol, _, address in found
    ]


def _numeric(address: tuple[Any, ...]) -> str:
    """Return an address as text; one of IPv6 that holds in one network only is followed by the number of that."""
    scope = address[3] if len(address) > 3 else 0  # the fourth is the scope (ipv6(7))
    return f"{address[0]}%{scope}" if scope else str(address[0])
