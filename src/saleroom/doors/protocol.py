"""HTTP before it is a request: a bound on what comes before the body, and JSON also for what is not HTTP at all.

The server would keep the headers of a request in memory for as long as they come in; the guard sees them only afterwards.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from saleroom.domain.errors import Invalid, Refused
from saleroom.doors import problems
from saleroom.doors.guard import HAS_ARRIVED, HEADER_BYTES_MAX, SECURITY_HEADERS
from saleroom.doors.problems import HeadersTooLarge

HEAD_BYTES_MAX = 4 * HEADER_BYTES_MAX
"""What may arrive of a head that is not complete; the guard is stricter with those that are."""
FAREWELL_SECONDS_MAX = 3.0
"""How long a server that stops waits for a reader to take the rest of an answer that would go on."""


class JoinedWrites:
    """A transport that sends the head of an answer together with what follows it.

    The server writes them one by one, and each would be a packet of its own.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""

    def write(self, piece: bytes) -> None:
        """Send `piece`, or keep it for the next one where it is a head."""
        if not self._head and piece.startswith(_STATUS_LINE):
            self._head = piece
        elif self._head:
            self._head += piece
            self.flush()
        else:
            self._transport.write(piece)

    def flush(self) -> None:
        """Send a head that nothing has followed."""
        head, self._head = self._head, b""
        if head and not self._transport.is_closing():
            self._transport.write(head)

    def close(self) -> None:
        """Send what is left, and close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


_STATUS_LINE = b"HTTP/1.1 "


class Line:
    """A connection, for an answer that goes on: it tells when to end, and takes care of a reader that does not read."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._end: Callable[[], None] | None = None
        self._ending = False
        self.gone = False
        """Whether the client has hung up."""

    def at_end(self, end: Callable[[], None]) -> None:
        """Have `end` called once the client has hung up or the server stops; at once where that has happened."""
        self._end = end
        if self._ending:
            end()

    def narrow(self, bytes_max: int) -> None:
        """Let no more than `bytes_max` be under way, here and again in the kernel; beyond it sending waits."""
        if self._transport.is_closing():
            return
        self._transport.set_write_buffer_limits(high=bytes_max)
        self._set(socket.SO_SNDBUF, bytes_max)

    def abort(self) -> None:
        """Hang up without waiting for anything; else the kernel would keep what nobody reads, for many minutes."""
        self._set(socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _set(self, option: int, value: int | bytes) -> None:
        connection: socket.socket | None = self._transport.get_extra_info("socket")
        if connection is not None and not self._transport.is_closing():
            connection.setsockopt(socket.SOL_SOCKET, option, value)

    def end(self, *, gone: bool) -> None:
        """Have the answer end; for the protocol only."""
        self._ending = True
        self.gone = self.gone or gone
        if self._end is not None:
            self._end()
            if not gone:
                asyncio.get_running_loop().call_later(FAREWELL_SECONDS_MAX, self.abort)


LINE = "saleroom.line"
"""In the scope of every request: its `Line`."""


class Http(HttpToolsProtocol):
    """The server's protocol for one connection."""

    _in_head = False
    _head_bytes = 0
    _ends_another = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, with answers in one piece."""
        self._joined = JoinedWrites(cast("asyncio.Transport", transport))
        self._line = Line(cast("asyncio.Transport", transport))
        super().connection_made(self._joined)  # type: ignore[arg-type]  # it acts as one

    def connection_lost(self, exc: Exception | None) -> None:
        """Let an answer that goes on know."""
        super().connection_lost(exc)
        self._line.end(gone=True)

    def shutdown(self) -> None:
        """Finish what is in flight; what would go on for ever ends now."""
        super().shutdown()
        self._line.end(gone=False)

    def on_response_complete(self) -> None:
        """Send the head of an answer without a body, and go on."""
        self._joined.flush()
        super().on_response_complete()

    def data_received(self, data: bytes) -> None:
        """Parse, and hang up on a head that does not end."""
        self._ends_another = False
        super().data_received(data)
        # A piece that ends the request before holds some of its body: how much of it is head is not known.
        if self._in_head and not self._ends_another:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
                self._hang_up(HeadersTooLarge(limit=HEADER_BYTES_MAX))

    def on_message_begin(self) -> None:
        """Start to count."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()
        self.scope[LINE] = self._line  # type: ignore[literal-required]  # a key of our own

    def on_headers_complete(self) -> None:
        """Stop counting: from here on the guard decides."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that what comes next belongs to another request, and that this one is here to its end."""
        self._ends_another = True
        self.scope[HAS_ARRIVED] = True  # type: ignore[literal-required]  # a key of our own
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser cannot read. `msg` is the parser's own and says no more than that."""
        self._hang_up(Invalid.one("request", "malformed_http", "is not HTTP/1.1"))

    def _hang_up(self, refused: Refused) -> None:
        answer = problems.answer(refused)
        status = HTTPStatus(answer.status_code)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
        lines += [name + b": " + value for name, value in (*answer.raw_headers, *SECURITY_HEADERS)]
        self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", bytes(answer.body)]))
        self.transport.close()
