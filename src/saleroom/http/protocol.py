"""HTTP before it is a request: one request after another, bounds on what comes before the body, JSON for what is not HTTP.

A connection is read up to the end of one request. What comes after it waits, and beyond one packet it waits with its sender,
until that request has been answered. So nothing that a client sends later touches the answer before, and none piles up here.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any, cast
from urllib.parse import unquote

import httptools

from saleroom.http.answers import ContinueCycle, Flow, UnchunkedCycle, farewell, refusal
from saleroom.http.client_connection import CLIENT_CONNECTION, AnswerTransport, ClientConnection
from saleroom.http.connections import CONNECTIONS, Connections
from saleroom.http.framing import malformed, read_head
from saleroom.http.guard import HEADER_BYTES_MAX
from saleroom.http.internals import (
    HIGH_WATER_LIMIT,
    Config,
    RequestResponseCycle,
    ServerState,
    get_local_addr,
    get_remote_addr,
)
from saleroom.http.problems import BodyTimedOut, HeadersTooLarge
from saleroom.http.requests import HAS_ARRIVED, HEADERS
from saleroom.kernel.errors import Busy, Refused

READ_BYTES_MAX = 16 * 1024
"""What is read from a connection at once, and so what may wait here behind a request."""
HEAD_BYTES_MAX, HEADERS_MAX = 4 * HEADER_BYTES_MAX, 200
"""What may arrive of a head, or between two pieces of a body, before it is complete; the guard is stricter with whole heads."""
HEAD_SECONDS_MAX = 20.0
"""How long a connection may be open, or one that was idle speak, until there is a whole head."""
_END = b"\r\n\r\n"
_NOT_HTTP = "is not HTTP/1.1"
_logger = logging.getLogger("uvicorn.error")
_threads = threading.local()


def _too_large() -> HeadersTooLarge:
    return HeadersTooLarge(
        f"The headers are too large, or more than {HEADERS_MAX}; the fact `limit` gives the bytes allowed for all of them.",
        limit=HEADER_BYTES_MAX,
    )


def _inbox() -> memoryview:
    """Return what all connections of an event loop are read into, one after another."""
    if not hasattr(_threads, "inbox"):
        _threads.inbox = memoryview(bytearray(READ_BYTES_MAX))
    return cast("memoryview", _threads.inbox)


class Http(asyncio.BufferedProtocol):
    """The server's protocol for one connection."""

    cycle: RequestResponseCycle | None = None
    """The request that came last, and its answer."""
    _refused: Refused | None = None
    """Why a head is refused, where the parser lets it through."""
    _in_head = False
    _arrived = True
    """Whether the request that came last is here to its end."""
    _left: int | None = 0
    """How many bytes are left of a body; None where they come in chunks."""
    _unread = 0
    """How many bytes came since the last that meant something."""
    _waiting = b""
    """What came after a request that is not answered yet."""
    _tail = b""
    """The last bytes that were read, where the end of a head or of chunks may have begun in them."""
    _place: str | None = None
    """What the connection counts as; None where there was no place for it."""
    _patience: asyncio.TimerHandle | None = None
    """Runs while it is the client who has to go on."""
    _idle: asyncio.TimerHandle | None = None
    """Runs while nothing is asked."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Take what uvicorn gives to a protocol."""
        self._config = config
        self._server = server_state
        self._state = app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._inbox = _inbox()
        self._headers: list[tuple[bytes, bytes]] = []
        self._parser: Any = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, with answers in one piece; or refuse, where there are too many connections."""
        plain = cast("asyncio.Transport", transport)
        self._transport = AnswerTransport(plain, self._still_sends)
        self._client_connection = ClientConnection(plain)
        self._flow = Flow(plain)
        self._here, self._client = get_local_addr(plain), get_remote_addr(plain)
        self._server.connections.add(cast("Any", self))
        self._connections: Connections | None = self._state.get(CONNECTIONS)
        if self._connections is not None:
            try:
                self._place = self._connections.enter("unknown" if self._client is None else self._client[0])
            except Busy as refused:
                self._transport.write(refusal(refused.message))
                self._transport.end()
                return
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the answer that is under way know."""
        self._server.connections.discard(cast("Any", self))
        self._expect_no_more()
        self._stop_idling()
        self._transport.lost()
        if self._connections is not None and self._place is not None:
            self._connections.leave(self._place)
        self._disconnect()
        self._flow.resume_writing()
        self._parser = None  # which holds this protocol, as this protocol holds it
        self._waiting = b""
        self._client_connection.end(gone=True)

    def shutdown(self) -> None:
        """Finish what is in flight; what would go on for ever ends now."""
        if self.cycle is not None and self._owes() and not self._transport.is_closing():
            self.cycle.keep_alive = False
        else:
            self._transport.end()
        self._client_connection.end(gone=False)

    def pause_writing(self) -> None:
        """Begin to watch a reader that is slower than its answer."""
        self._flow.pause_writing()
        self._transport.watch()

    def resume_writing(self) -> None:
        """Watch it no more."""
        self._flow.resume_writing()
        if not self._transport.is_closing():
            self._transport.unwatch()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where the next bytes go."""
        return self._inbox

    def buffer_updated(self, nbytes: int) -> None:
        """Read on, up to the end of a request; throw away what comes after the last answer of a connection."""
        if self._idle is not None:
            self._stop_idling()
        if not self._transport.is_closing():
            data = bytes(self._inbox[:nbytes])
            self._read(self._waiting + data if self._waiting else data)

    def _read(self, data: bytes) -> None:
        """Parse what has come, up to the end of a request that is to be answered first."""
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
        """Return where, after `at`, the next request may begin at the earliest."""
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
        """Give the parser a piece that holds the end of one request at most; return whether to go on."""
        self._unread += len(piece)
        left = self._left
        refused: Refused
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            # The parser leaves all that follows to another protocol. There is none here, so the head is read without it.
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

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Begin a request. Raises Refused where the one before is to be answered first."""
        if self._owes():
            raise malformed(_NOT_HTTP)
        self._in_head, self._arrived = True, False
        self._url, self._headers = b"", []

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. What follows a body in chunks is none: nobody before the house has looked at it."""
        if self._in_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Begin to answer. Raises Refused."""
        self._method, self._version = self._parser.get_method(), self._parser.get_http_version()
        try:
            self._begin()
        except Refused as refused:
            self._refused = refused
            raise

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body for whoever asks, unless that has been answered already."""
        self._unread = 0
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self._flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """Note that the request is here to its end."""
        if self._in_head:  # its head is to be read once more
            return
        self._arrived, self._unread = True, 0
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.scope[HAS_ARRIVED] = True  # type: ignore[literal-required]  # a key of our own
            cycle.more_body = False
            cycle.message_event.set()

    def _begin(self) -> None:
        """Begin to answer a head, unless it is to be read once more. Raises Refused."""
        headers = dict(reversed(self._headers))
        if self._parser.should_upgrade():
            if self._method == b"CONNECT":
                raise malformed("asks for a connection to somewhere else, and this house is no proxy")
            return
        if len(self._headers) > HEADERS_MAX:
            raise _too_large()
        path, query, self._left = read_head(self._method, self._url, self._version, headers, self._headers)
        self._in_head, self._unread = False, 0
        if self._patience is not None:
            self._expect_no_more()
        self._answer(path, query, headers)

    def _answer(self, path: bytes, query: bytes, headers: dict[bytes, bytes]) -> None:
        """Have the application answer a request."""
        is_old = self._version == "1.0"
        expects = not is_old and self._left != 0 and headers.get(b"expect", b"").lower() == b"100-continue"
        text = path.decode("ascii")
        scope: Any = {
            "type": "http",
            "asgi": {"version": self._config.asgi_version, "spec_version": "2.3"},
            "http_version": self._version,
            "server": self._here,
            "client": self._client,
            "scheme": "http",
            "root_path": "",
            "headers": self._headers,
            "state": self._state.copy(),
            "method": self._method.decode("ascii"),
            "path": unquote(text) if "%" in text else text,
            "raw_path": path,
            "query_string": query,
            CLIENT_CONNECTION: self._client_connection,
            HEADERS: headers,
        }
        kind = UnchunkedCycle if is_old else ContinueCycle if expects else RequestResponseCycle
        self.cycle = cycle = kind(
            scope=scope,
            transport=cast("asyncio.Transport", self._transport),
            flow=self._flow,
            logger=_logger,
            access_logger=_logger,
            access_log=False,
            default_headers=self._server.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=expects,
            keep_alive=not is_old and self._parser.should_keep_alive(),
            on_response=self._answered,
        )
        task = self._loop.create_task(cycle.run_asgi(self._config.loaded_app))
        task.add_done_callback(self._server.tasks.discard)
        self._server.tasks.add(task)

    def _answered(self) -> None:
        """Send the head of an answer without a body, and go on with what has waited."""
        self._transport.flush()
        self._server.total_requests += 1
        self._flow.something_waits = False
        if self._flow.read_paused:
            self._flow.resume_reading()
        if self._transport.is_closing():
            return
        if self._waiting:
            self._read(self._waiting)
        if not self._owes() and not self._transport.is_closing():
            self._idle = self._loop.call_later(self._config.timeout_keep_alive, self._transport.end)

    def _stop_idling(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    # The client's turn, and its end.

    def _owes(self) -> bool:
        cycle = self.cycle  # before the first request there is none
        return cycle is not None and not cycle.response_complete

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
        """Hang up on a client that has not gone on, unless an answer is still owed to it."""
        self._patience = None
        if self._owes():
            self._expect()
        elif self._in_head and not self._transport.is_closing():
            late = BodyTimedOut("The head of the request did not arrive in time; send the request again.")
            self._transport.write(farewell(late))
            self._transport.end()
        else:
            # Nothing was begun, or the body of what has been answered goes on and on.
            self._transport.end()

    def _disconnect(self) -> None:
        """Let whoever answers know that nothing more comes, and that nothing more is sent."""
        if self.cycle is not None:
            self.cycle.disconnected = not self.cycle.response_complete
            self.cycle.message_event.set()

    def _hang_up(self, refused: Refused) -> None:
        """End the connection for what the client has sent, with an answer if the request has none."""
        if self._transport.is_closing():
            return
        begun = not self._in_head and self.cycle is not None and self.cycle.response_started
        self._disconnect()
        if not begun:
            self._transport.write(farewell(refused))
        self._transport.close()
        self._flow.something_waits = False
        self._flow.resume_reading()
