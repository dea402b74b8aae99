"""HTTP/1.1 on one connection: one request after another, bounds on each head, and JSON in answer to bytes that are not HTTP.

A connection is read up to the end of one request. Later bytes wait until that request has been answered, beyond one packet
on the client's side. So nothing that a client sends later affects an earlier answer, and nothing piles up here.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast
from urllib.parse import unquote

import httptools

from saleroom.http.answers import farewell, refusal
from saleroom.http.client_connection import CLIENT_CONNECTION, AnswerTransport, ClientConnection
from saleroom.http.connections import CONNECTIONS, Connections
from saleroom.http.exchange import APPLICATION, Application, Exchange, Flow
from saleroom.http.framing import malformed, read_head
from saleroom.http.guard import HEADER_BYTES_MAX
from saleroom.http.internals import (
    HIGH_WATER_LIMIT,
    Config,
    ServerState,
    get_local_addr,
    get_remote_addr,
)
from saleroom.http.problems import BodyTimeout, HeadersTooLarge
from saleroom.http.requests import HEAD_BYTES, HEADERS
from saleroom.kernel.errors import Busy, Refusal

READ_BYTES_MAX = 16 * 1024
"""How much is read from a connection at once, and so how much may wait here behind a request."""
HEAD_BYTES_MAX, HEADERS_MAX = 4 * HEADER_BYTES_MAX, 200
"""How many bytes of a head, or between two pieces of a body, may come, and how many headers. The guard allows a head less."""
HEAD_SECONDS_MAX = 20.0
"""How long a new connection, or an idle one that begins to send, may take until a whole head has come."""
REST_SECONDS = 5.0
"""How long a connection is idle before it lets its last request and answer go. Letting each go at its answer costs a read 2 %
(decision 114), and to keep them costs an idle connection some kilobytes until its client leaves."""
_END = b"\r\n\r\n"
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_NOT_HTTP = "is not HTTP/1.1"
_threads = threading.local()


def _too_large() -> HeadersTooLarge:
    return HeadersTooLarge(
        f"The headers are too large, or more than {HEADERS_MAX}; the fact `limit` gives the bytes allowed for all of them.",
        limit=HEADER_BYTES_MAX,
    )


def _inbox() -> memoryview:
    """Return the buffer that all connections of an event loop are read into, one after another."""
    if not hasattr(_threads, "inbox"):
        _threads.inbox = memoryview(bytearray(READ_BYTES_MAX))
    return cast("memoryview", _threads.inbox)


class Http(asyncio.BufferedProtocol):
    """The server's protocol for one connection."""

    _exchange: Exchange | None = None
    """The request that came last, and its answer; None also once the connection rests."""
    _refused: Refusal | None = None
    """Why a head is refused that the parser lets through."""
    _in_head = False
    _arrived = True
    """Whether the latest request has arrived to its end."""
    _left: int | None = 0
    """How many bytes are left of a body; None if they come in chunks."""
    _unread = 0
    """How many bytes have come since the last complete head or piece of a body."""
    _waiting = b""
    """The bytes after a request that is not answered yet."""
    _tail = b""
    """The last bytes read, in which the end of a head or of chunks may begin."""
    _place: str | None = None
    """The place that the connection counts for; None if there was no place."""
    _patience: asyncio.TimerHandle | None = None
    """Runs while the client must send more."""
    _idle: asyncio.TimerHandle | None = None
    """Runs from an answer on, and looks whether the connection is idle for long."""
    _last_answer = 0.0
    """When the latest answer was complete, by the clock of the event loop."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Take the arguments that uvicorn gives to a protocol."""
        self._config = config
        self._server = server_state
        self._application: Application = app_state[APPLICATION]
        self._connections: Connections | None = app_state.get(CONNECTIONS)
        self._loop = _loop or asyncio.get_running_loop()
        self._inbox = _inbox()
        self._headers: list[tuple[bytes, bytes]] = []
        self._parser: Any = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; or refuse, if there are too many connections."""
        plain = cast("asyncio.Transport", transport)
        self._transport = AnswerTransport(plain, self._still_sends)
        self._client_connection = ClientConnection(plain, self._transport.is_closing)
        self._flow = Flow(plain)
        self._here, self._client = get_local_addr(plain), get_remote_addr(plain)
        self._server.connections.add(cast("Any", self))
        if self._connections is not None:
            try:
                self._place = self._connections.enter("unknown" if self._client is None else self._client[0])
            except Busy as refused:
                self._transport.write(refusal(refused.message))
                self._transport.close_when_read()
                return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer that is under way."""
        self._server.connections.discard(cast("Any", self))
        self._expect_no_more()
        if self._idle is not None:
            self._idle.cancel()
        self._transport.cancel_timers()
        if self._connections is not None and self._place is not None:
            self._connections.leave(self._place)
        self._disconnect()
        self._flow.resume_writing()
        self._parser = None  # the parser and this protocol refer to each other
        self._waiting = b""

    def shutdown(self) -> None:
        """Finish the answer in flight; an endless one ends now."""
        if self._exchange is not None and self._owes() and not self._transport.is_closing():
            self._exchange.keep_alive = False
        else:
            self._transport.close_when_read()
        self._client_connection.end(gone=False)

    def pause_writing(self) -> None:
        """Begin to watch a slow reader."""
        self._flow.pause_writing()
        self._transport.watch_reader()

    def resume_writing(self) -> None:
        """Stop watching the reader."""
        self._flow.resume_writing()
        if not self._transport.is_closing():
            self._transport.stop_watching_reader()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next bytes."""
        return self._inbox

    def buffer_updated(self, nbytes: int) -> None:
        """Read on, up to the end of a request; throw away bytes after the last answer of a connection."""
        if not self._transport.is_closing():
            data = bytes(self._inbox[:nbytes])
            self._read(self._waiting + data if self._waiting else data)

    def _read(self, data: bytes) -> None:
        """Parse the bytes up to the end of a request that must be answered first."""
        at = 0
        while at < len(data) and not (self._arrived and self._owes()):
            end = self._end_of_piece(data, at)
            if not self._parse(data[at:end]):
                return
            at = end
        self._waiting = data[at:]
        if self._waiting:
            self._flow.something_waits = True
            self._flow.pause_reading()
        elif self._in_head or not self._owes():
            self._expect()

    def _end_of_piece(self, data: bytes, at: int) -> int:
        """Return the earliest place after `at` where the next request may begin."""
        if self._left:
            return min(at + self._left, len(data))
        before, self._tail = self._tail, b""
        if before and (seam := (before + data[at : at + len(_END) - 1]).find(_END)) >= 0:
            return at + seam + len(_END) - len(before)
        if (end := data.find(_END, at)) >= 0:
            return end + len(_END)
        self._tail = (before + data[at:])[1 - len(_END) :]
        return len(data)

    def _parse(self, piece: bytes) -> bool:
        """Give the parser a piece with the end of at most one request; return whether to go on."""
        self._unread += len(piece)
        left = self._left
        refused: Refusal
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            # The parser leaves the rest to another protocol. There is none here, so the head is read again without the upgrade.
            self._parser = httptools.HttpRequestParser(self)
            return self._parse(self._head_without_upgrade())
        except httptools.HttpParserError:
            refused = self._refused or malformed(_NOT_HTTP)
        else:
            if left:
                self._left = left - len(piece)
            if self._unread <= HEAD_BYTES_MAX and len(self._headers) <= HEADERS_MAX:
                return True
            refused = _too_large()
        self._hang_up(refused)
        return False

    def _head_without_upgrade(self) -> bytes:
        lines = [b"%s %s HTTP/%s" % (self._method, self._url, self._version.encode())]
        lines += [name + b": " + value for name, value in self._headers if name != b"upgrade"]
        return b"\r\n".join(lines) + _END

    # The methods that the parser calls.

    def on_message_begin(self) -> None:
        """Begin a request. Raises Refusal if the one before must be answered first."""
        if self._owes():
            raise malformed(_NOT_HTTP)
        self._in_head, self._arrived = True, False
        self._url, self._headers = b"", []

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Trailers after a body in chunks are ignored: no proxy in front of the house checks them."""
        if self._in_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Begin to answer. Raises Refusal."""
        self._method, self._version = self._parser.get_method(), self._parser.get_http_version()
        try:
            self._begin()
        except Refusal as refused:
            self._refused = refused
            raise

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body for the application, unless the request has been answered already."""
        self._unread = 0
        exchange = self._exchange
        if exchange is None or exchange.answered:
            return
        exchange.arrived(body)
        if len(exchange.body) > HIGH_WATER_LIMIT:
            self._flow.pause_reading()

    def on_message_complete(self) -> None:
        """Note that the whole request has arrived."""
        if self._in_head:  # its head will be read once more
            return
        self._arrived, self._unread = True, 0
        exchange = self._exchange
        if exchange is not None and not exchange.answered:
            exchange.arrived(whole=True)

    def _begin(self) -> None:
        """Begin to answer a head, unless it will be read once more. Raises Refusal."""
        headers = dict(reversed(self._headers))
        if self._parser.should_upgrade():
            if self._method == b"CONNECT":
                raise malformed("asks for a connection to somewhere else, and this house is no proxy")
            return
        if len(self._headers) > HEADERS_MAX:
            raise _too_large()
        path, query, self._left = read_head(self._method, self._url, self._version, headers, self._headers)
        head_bytes, self._in_head, self._unread = self._unread, False, 0
        if self._patience is not None:
            self._expect_no_more()
        is_old = self._version == "1.0"
        expects = not is_old and self._left != 0 and headers.get(b"expect", b"").lower() == b"100-continue"
        text = path.decode("ascii")
        scope: Any = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": self._version,
            "server": self._here,
            "client": self._client,
            "scheme": "http",
            "root_path": "",
            "headers": self._headers,
            "method": self._method.decode("ascii"),
            "path": unquote(text) if "%" in text else text,
            "raw_path": path,
            "query_string": query,
            CLIENT_CONNECTION: self._client_connection,
            HEADERS: headers,
            HEAD_BYTES: head_bytes,
        }
        self._exchange = exchange = Exchange(
            scope,
            self._transport,
            self._flow,
            self._server.default_headers,
            self._answered,
            keep_alive=not is_old and self._parser.should_keep_alive(),
            awaits_continue=expects,
        )
        exchange.start(self._loop, self._application, self._server.tasks)

    def _answered(self) -> None:
        """Go on with the bytes that wait."""
        self._server.total_requests += 1
        self._flow.something_waits = False
        if self._flow.read_paused:
            self._flow.resume_reading()
        if self._waiting and not self._transport.is_closing():
            self._read(self._waiting)
        self._last_answer = self._loop.time()
        if self._idle is None and not self._transport.is_closing():
            self._watch_idleness(min(REST_SECONDS, self._config.timeout_keep_alive))

    def _watch_idleness(self, seconds: float) -> None:
        self._idle = self._loop.call_later(seconds, self._look_for_idleness)

    def _look_for_idleness(self) -> None:
        """Let the last request of an idle connection go, and in the end the connection.

        One that is under way is watched again after its answer.
        """
        self._idle = None
        if self._owes() or self._patience is not None:
            return
        idle = self._loop.time() - self._last_answer
        if idle >= self._config.timeout_keep_alive:
            self._transport.close_when_read()
        elif idle < REST_SECONDS:
            self._watch_idleness(REST_SECONDS - idle)
        else:
            self._exchange, self._headers = None, []
            self._watch_idleness(self._config.timeout_keep_alive - idle)

    # The client's turn, and its end.

    def _owes(self) -> bool:
        exchange = self._exchange  # before the first request there is none
        return exchange is not None and not exchange.answered

    def _still_sends(self) -> bool:
        return not self._arrived

    def _expect(self) -> None:
        """Give the client a while to send a whole head."""
        if self._patience is None:
            self._patience = self._loop.call_later(HEAD_SECONDS_MAX, self._late)

    def _expect_no_more(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _late(self) -> None:
        """Hang up on a client that has not gone on, unless it is still owed an answer."""
        self._patience = None
        if self._owes():
            self._expect()
        elif self._in_head and not self._transport.is_closing():
            late = BodyTimeout("The head of the request did not arrive in time; send the request again.")
            self._transport.write(farewell(late))
            self._transport.close_when_read()
        else:
            # No request has begun, or the body of an answered request does not end.
            self._transport.close_when_read()

    def _disconnect(self) -> None:
        """Tell the application that nothing more comes, and that nothing more is sent."""
        if self._exchange is not None:
            self._exchange.disconnect()
        self._client_connection.end(gone=True)

    def _hang_up(self, refused: Refusal) -> None:
        """End the connection because of the client's bytes, with an answer if the request has none."""
        if self._transport.is_closing():
            return
        begun = not self._in_head and self._exchange is not None and self._exchange.begun
        self._disconnect()
        if not begun:
            self._transport.write(farewell(refused))
        self._transport.close()
        self._flow.something_waits = False
        self._flow.resume_reading()
