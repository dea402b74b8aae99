"""The event loop of a process that serves: it accepts all connections that wait on a listening socket in one pass."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from typing import Any

import structlog
import uvloop

from saleroom.logs import LogThrottle

_log = structlog.get_logger(__name__)

ACCEPTED_MAX = 256 if sys.platform == "linux" else 8
"""Connections of one listening socket that are accepted in one pass, besides the one that uvloop accepts itself.

On Linux each process listens on its own socket. Elsewhere several processes share one, and the first to wake would take all.
"""


class EventLoop(uvloop.Loop):
    """A uvloop that accepts all waiting connections of a listening socket in one pass.

    uvloop accepts one in each pass. In a storm a pass is as long as answering a batch of bids, some 20 to 100 ms: 50 new
    connections would be accepted in a second, while those that came first are answered again and again.
    """

    async def create_server(  # type: ignore[override]  # it hands on what it does not need
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        *args: Any,
        sock: socket.socket | None = None,
        **options: Any,
    ) -> asyncio.AbstractServer:
        """Serve as `uvloop.Loop` does; on a listening socket `sock` of the caller, accept all that wait."""
        if sock is None or options.get("ssl") is not None:
            return await super().create_server(protocol_factory, *args, sock=sock, **options)
        acceptor = Acceptor(self, sock, protocol_factory)
        acceptor.server = await super().create_server(acceptor.accept_all, sock=sock, **options)
        return acceptor.server


class Acceptor:
    """Accepts the connections that wait on a listening socket behind the one that the event loop accepts."""

    server: asyncio.AbstractServer
    """The server to which the connections belong."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, listener: socket.socket, factory: Callable[[], asyncio.BaseProtocol]
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._factory = factory
        self._tasks: set[asyncio.Task[None]] = set()
        self._fault = ""
        self._throttle = LogThrottle(self._tell)

    def accept_all(self) -> asyncio.BaseProtocol:
        """Return the protocol of a connection that the event loop has accepted; accept the others that wait."""
        for _ in range(ACCEPTED_MAX):
            try:
                connection, _address = self._listener.accept()
            except BlockingIOError:  # no other waits
                break
            except ConnectionAbortedError:  # this client has gone again
                continue
            except OSError as error:
                # There is no file descriptor or no memory for another. uvloop's next pass closes the connections that wait.
                self._fault = error.strerror or str(error)
                self._throttle.count()
                break
            task = self._loop.create_task(self._begin(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return self._factory()

    async def _begin(self, connection: socket.socket) -> None:
        protocol: Any
        _, protocol = await self._loop.connect_accepted_socket(self._factory, connection)
        if not self.server.is_serving():  # uvicorn has told all others that it ends
            protocol.shutdown()

    def _tell(self, times: int) -> None:
        _log.error("connections cannot be accepted", reason=self._fault, times=times)
