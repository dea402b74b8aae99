"""HTTP before it is a request: bounds on what comes before the body, and JSON also for what is not HTTP at all.

The server would keep the headers of a request in memory for as long as they come in; the guard sees them only afterwards.
It would also wait for ever for a head that trickles in, and for a reader that takes no answer.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from saleroom.domain.errors import Busy, Invalid, Refused
from saleroom.doors import problems
from saleroom.doors.connections import CONNECTIONS, Connections
from saleroom.doors.guard import HAS_ARRIVED, HEADER_BYTES_MAX, SECURITY_HEADERS
from saleroom.doors.problems import BodyTimedOut, HeadersTooLarge

HEAD_BYTES_MAX = 4 * HEADER_BYTES_MAX
"""What may arrive of a head that is not complete; the guard is stricter with those that are."""
HEAD_SECONDS_MAX = 20.0
"""How long a connection may be open, or one that was idle speak, until there is a whole head."""
STALL_SECONDS, STALL_BYTES_MIN = 30.0, 8192
"""What a reader must take, and in which time, of an answer that waits for it; else the memory is somebody else's."""
FAREWELL_SECONDS_MAX = 3.0
"""How long a server that stops waits for a reader to take the rest of an answer that would go on."""


class JoinedWrites:
    """A transport that sends the head of an answer together with what follows it.

    The server writes them one by one, and each would be a packet of its own.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self._watch: asyncio.TimerHandle | None = None

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
        """Send what is left, and close; who does not read it is hung up on."""
        self.flush()
        self._transport.close()
        self.watch()

    def watch(self) -> None:
        """Hang up on a reader that does not take what waits for it, until `unwatch`."""
        waiting = self._transport.get_write_buffer_size()
        if waiting and self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(STALL_SECONDS, self._look, waiting)

    def unwatch(self) -> None:
        """Let the reader take its time: nothing waits, or the connection is gone."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _look(self, before: int) -> None:
        self._watch = None
        waiting = self._transport.get_write_buffer_size()
        if waiting and before - waiting < STALL_BYTES_MIN:
            abort(self._transport)
        else:
            self.watch()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


_STATUS_LINE = b"HTTP/1.1 "


def abort(transport: asyncio.Transport) -> None:
    """Hang up without waiting for anything; else the kernel would keep what nobody reads, for many minutes."""
    _set(transport, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _set(transport: asyncio.Transport, option: int, value: int | bytes) -> None:
    connection: socket.socket | None = transport.get_extra_info("socket")
    # Once it is closed its number may be another connection's; while something waits to be sent it is not.
    if connection is not None and (not transport.is_closing() or transport.get_write_buffer_size()):
        connection.setsockopt(socket.SOL_SOCKET, option, value)


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
        _set(self._transport, socket.SO_SNDBUF, bytes_max)

    def abort(self) -> None:
        """Hang up without waiting for anything."""
        abort(self._transport)

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
    _place: str | None = None
    """What the connection counts as; None where there was no place for it."""
    _patience: asyncio.TimerHandle | None = None
    """Runs while it is the client who has to go on."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, with answers in one piece; or refuse, where there are too many connections."""
        self._joined = JoinedWrites(cast("asyncio.Transport", transport))
        self._line = Line(cast("asyncio.Transport", transport))
        self._is_closing = cast("asyncio.Transport", transport).is_closing
        super().connection_made(self._joined)  # type: ignore[arg-type]  # it acts as one
        self._connections: Connections | None = self.app_state.get(CONNECTIONS)
        if self._connections is not None:
            try:
                self._place = self._connections.enter("unknown" if self.client is None else self.client[0])
            except Busy as refused:
                self.transport.write(_refusal(refused.message))
                self.transport.close()
                return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let an answer that goes on know."""
        self._expect_no_more()
        self._joined.unwatch()
        if self._connections is not None and self._place is not None:
            self._connections.leave(self._place)
        super().connection_lost(exc)
        self._line.end(gone=True)

    def pause_writing(self) -> None:
        """Begin to watch a reader that is slower than its answer."""
        super().pause_writing()
        self._joined.watch()

    def resume_writing(self) -> None:
        """Watch it no more."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._joined.unwatch()

    def _expect(self) -> None:
        """Give the client a while to send a whole head."""
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS_MAX, self._late)

    def _expect_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _late(self) -> None:
        """Hang up on a client that has not gone on, unless an answer is still owed to it."""
        self._patience = None
        if self._owes():
            self._expect()
        elif self._in_head and not self.transport.is_closing():
            self._hang_up(BodyTimedOut("The head of the request did not arrive in time; send the request again."))
        else:
            # Nothing was begun, or the body of what has been answered goes on and on.
            self.transport.close()

    def _owes(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # before the first request there is none
        return cycle is not None and not cycle.response_complete

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
        if self._is_closing():
            return
        self._ends_another = False
        super().data_received(data)
        if self._in_head or not self._owes():
            self._expect()
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
        if self._patience is not None:
            self._expect_no_more()
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
        self.transport.write(_farewell(refused))
        self.transport.close()


@cache
def _refusal(message: str) -> bytes:
    """Return the answer to whom there is no place for; there may be many of them."""
    return _farewell(Busy(message))


def _farewell(refused: Refused) -> bytes:
    """Return an answer as bytes, after which the connection ends."""
    answer = problems.answer(refused)
    status = HTTPStatus(answer.status_code)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
    lines += [name + b": " + value for name, value in (*answer.raw_headers, *SECURITY_HEADERS) if name != b"connection"]
    return b"\r\n".join([*lines, b"connection: close", b"", bytes(answer.body)])
