"""The connection of one client: slow readers, and an end that loses no answer."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

STALL_SECONDS, STALL_BYTES_MIN = 30.0, 8192
"""A client that reads less than this in this time is cut off, so that slow readers cannot hold memory."""
LINGER_SECONDS = 10.0
"""How long a client may go on sending after its last answer. These bytes are thrown away."""
FAREWELL_SECONDS_MAX = 3.0
"""How long a server that stops waits for a reader to take the rest of an endless answer."""
CLIENT_CONNECTION = "saleroom.client_connection"
"""In the scope of every request: its `ClientConnection`."""


class AnswerTransport:
    """A transport that loses no answer at its end, and cuts off slow readers."""

    def __init__(self, transport: asyncio.Transport, still_sends: Callable[[], bool] = bool) -> None:
        """`still_sends` says whether the client is in the middle of a request."""
        self._transport = transport
        self._still_sends = still_sends
        self._watch: asyncio.TimerHandle | None = None
        self._lingering: asyncio.TimerHandle | None = None

    def write(self, piece: bytes) -> None:
        """Send, unless nothing more is sent."""
        if not self.is_closing():
            self._transport.write(piece)

    def close(self) -> None:
        """Close once everything is sent; a client that still sends has a while to notice.

        If this side closed at once with bytes unread, the client's kernel would throw the answer away. The protocol throws away
        all bytes that the client sends from now on.
        """
        if self._still_sends() and not self.is_closing():
            self._transport.write_eof()
            self._lingering = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.close_when_read)
            self.watch_reader()
        elif self._lingering is None:
            self.close_when_read()

    def close_when_read(self) -> None:
        """Close once everything is sent; cut off a reader that does not take it."""
        self._transport.close()
        self.watch_reader()

    def is_closing(self) -> bool:
        """Return whether nothing more is sent."""
        return self._lingering is not None or self._transport.is_closing()

    def watch_reader(self) -> None:
        """Cut the reader off if it does not take the waiting bytes, until `stop_watching_reader`."""
        if self._transport.get_write_buffer_size() and self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(STALL_SECONDS, self._look, _untaken(self._transport))

    def stop_watching_reader(self) -> None:
        """Stop watching the reader: nothing waits for it."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def cancel_timers(self) -> None:
        """Cancel all timers: the connection is gone."""
        self.stop_watching_reader()
        if self._lingering is not None:
            self._lingering.cancel()

    def _look(self, before: int) -> None:
        self._watch = None
        if self._transport.get_write_buffer_size() and before - _untaken(self._transport) < STALL_BYTES_MIN:
            abort(self._transport)
        else:
            self.watch_reader()


def abort(transport: asyncio.Transport) -> None:
    """Hang up at once. Otherwise the kernel would keep unread bytes for many minutes."""
    _set(transport, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _set(transport: asyncio.Transport, option: int, value: int | bytes) -> None:
    connection = _socket(transport)
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, option, value)


def _untaken(transport: asyncio.Transport) -> int:
    """Return how many bytes the reader has not taken, here and in the kernel, which asks for more in steps of a megabyte."""
    count = bytearray(4)
    connection = _socket(transport)
    if connection is not None:
        with suppress(OSError):  # not every system tells
            fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, count)
    return transport.get_write_buffer_size() + int.from_bytes(count, sys.byteorder)


def _socket(transport: asyncio.Transport) -> socket.socket | None:
    """Return the socket; None once it is closed, as another connection may have its number."""
    connection: socket.socket | None = transport.get_extra_info("socket")
    # It is not closed while something waits to be sent.
    return connection if not transport.is_closing() or transport.get_write_buffer_size() else None


class ClientConnection:
    """A client's connection, for an endless answer: it tells when to end, and bounds the memory for a slow reader."""

    def __init__(self, transport: asyncio.Transport, is_closing: Callable[[], bool]) -> None:
        """`is_closing` says whether nothing more is sent, even though the transport may still be open."""
        self._transport = transport
        self._is_closing = is_closing
        self._end: Callable[[], None] | None = None
        self._ending = False
        self.gone = False
        """Whether the client has hung up."""

    def at_end(self, end: Callable[[], None]) -> None:
        """Call `end` when the client hangs up or the server stops; at once if that has happened."""
        self._end = end
        if self._ending:
            end()

    @contextmanager
    def until_end(self, end: Callable[[], None]) -> Iterator[None]:
        """Call `end` as `at_end` does, while the block lasts."""
        before = self._end
        try:
            self.at_end(end)
            yield
        finally:
            self._end = before

    def narrow(self, bytes_max: int) -> None:
        """Buffer at most `bytes_max` here and as much in the kernel; beyond that, sending waits."""
        if self._transport.is_closing():
            return
        self._transport.set_write_buffer_limits(high=bytes_max)
        _set(self._transport, socket.SO_SNDBUF, bytes_max)

    @property
    def is_free(self) -> bool:
        """Whether nothing waits to be sent."""
        return not self._transport.get_write_buffer_size() and not self._is_closing()

    def write(self, piece: bytes) -> None:
        """Send a piece of an answer that has begun, framed as its version of HTTP wants it, unless nothing more is sent."""
        if not self._is_closing():
            self._transport.write(piece)

    def abort(self) -> None:
        """Hang up at once."""
        abort(self._transport)

    def end(self, *, gone: bool) -> None:
        """End the answer; for the protocol only."""
        self._ending = True
        self.gone = self.gone or gone
        if self._end is not None:
            self._end()
            if not gone:
                asyncio.get_running_loop().call_later(FAREWELL_SECONDS_MAX, self.abort)
