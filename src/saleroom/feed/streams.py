"""Server-sent events: the log as it grows, of one aggregate or of all (docs/live.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from random import SystemRandom
from typing import Protocol, TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from saleroom.feed.follower import WAITING_MAX, Follower
from saleroom.http.client_connection import CLIENT_CONNECTION, ClientConnection
from saleroom.http.endpoints import Call
from saleroom.http.forms import Field, checked
from saleroom.http.requests import header
from saleroom.kernel.errors import Fault, Invalid
from saleroom.kernel.identifiers import EVENT_ID_PATTERN, EventId, parse_event_id
from saleroom.kernel.instants import instant
from saleroom.log.store import LoggedEvent

COMMENT_SECONDS = 15.0
_CHANCE = SystemRandom()
RETRY_SECONDS_MIN = 1.0
SPREAD_SECONDS_MIN = 4.0
SPREAD_SECONDS_MAX = 60.0
RECONNECTS_PER_SECOND = 250
"""How many followers of a process come back in a second after a restart; more, if the longest spread is not enough."""
CHUNK_EVENTS_MAX = 64
BUFFER_BYTES_MAX = 32 * 1024
"""How much is buffered for one reader, here and as much in the kernel."""
STARTED = "stream.started"
AFTER = (
    Field(
        name="after",
        to="after",
        parse=checked(parse_event_id),
        schema={"type": "string", "pattern": f"^({EVENT_ID_PATTERN})$"},
        about="The id of the event to go on after, or 0 for the beginning; without it, what happens from now on.",
    ),
)
_encode = msgspec.json.Encoder().encode
_LAST_ID = b"last-event-id"
_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),  # nginx would wait for more
]


class LogStreams(Protocol):
    """What can be followed: the log of a house, or on an edge the same log as a house sends it."""

    async def follow(self, gid: str | None, after: EventId | None) -> Follower:
        """Return a follower of one aggregate, or of all, from behind the event `after` or from now on. Raises Refusal."""

    def now(self) -> datetime:
        """Return the time of the house's clock."""


F = TypeVar("F", bound=LogStreams)


async def follow(call: Call[F]) -> Response:
    """Answer with the events of the aggregate in the path, such as an auction, or with all events if it names none."""
    gid = call.identifier or None
    after = _after(call, gid)
    follower = await call.services.follow(gid, after)
    if follower.ended:
        follower.close()
        return Response(status_code=204)  # at which a browser's EventSource does not come back
    return EventStream(follower, call.services.now, source=call.request.url.path if after is None else None)


def _after(call: Call[F], gid: str | None) -> EventId | None:
    """Return the event to begin after. The header counts before the address, as a browser keeps the address unchanged."""
    name, sent = "Last-Event-ID", header(call.request.scope, _LAST_ID)
    found = parse_event_id(sent) if sent else call.query.get("after")
    if not sent:
        name = "after"
    if isinstance(found, EventId) and found.version and gid not in (None, found.gid):
        found = Fault("event_id", "must be the id of an event of what is followed")
    if isinstance(found, Fault):
        raise Invalid({name: [found]})
    return found


class EventStream(Response):
    """The answer that goes on as long as its reader stays; for HEAD it ends after its headers.

    With `source`, the address of the stream, a separate event names the event after which the stream begins.
    """

    def __init__(self, follower: Follower, clock: Callable[[], datetime], *, source: str | None = None) -> None:
        self.follower = follower
        self._source = source
        self.clock = clock
        self._spread = 0.0
        """The spread that the reader was last told of."""
        self.status_code = 200
        self.raw_headers = [*_HEADERS]
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the follower's events, until it or the connection ends."""
        connection: ClientConnection = scope[CLIENT_CONNECTION]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body"})
                return
            connection.narrow(BUFFER_BYTES_MAX)
            connection.at_end(self.follower.end)
            self.follower.on_cut = connection.abort  # an orderly end would wait for a reader that does not read
            if scope["http_version"] == "1.1":  # before that there are no chunks
                self.shorten(connection)
            await self.run(connection, send)
        finally:
            self.follower.close()
        await send({"type": "http.response.body"})

    async def run(self, connection: ClientConnection, send: Send) -> None:
        """Send all there is, until the follower or the connection ends."""
        follower = self.follower
        await send_more(send, self._retry() + await self.opening(follower.origin))
        self._is_due = False
        timer = self._timer(follower)
        try:
            while not connection.gone:
                events = await follower.next()
                await self.tell(events, send)
                if follower.ended and not events:
                    return
                if self._is_due:
                    await send_more(send, self._retry() + await self.beat())
                    self._is_due = False
                    timer = self._timer(follower)
        finally:
            timer.cancel()

    def _retry(self) -> bytes:
        """Return the line that says when to come back after the connection has ended; empty if the last one still holds.

        The time is random within a spread that grows with the number of followers, as all of them come back at once.
        """
        spread = spread_of(len(self.follower.feed))
        if self._spread and self._spread / 2 < spread < self._spread * 2:
            return b""
        self._spread = spread
        return f"retry: {round(1000 * _CHANCE.uniform(RETRY_SECONDS_MIN, spread))}\n".encode()

    def shorten(self, connection: ClientConnection) -> None:
        """Send events without a turn of this stream's task if nothing waits for the reader: as one chunk, made once for all."""

        def deliver(events: Sequence[LoggedEvent]) -> bool:
            if len(events) > CHUNK_EVENTS_MAX or not connection.is_free:
                return False
            connection.write(_latest.of(events, self.frame))
            return True

        self.follower.deliver = deliver

    def _timer(self, follower: Follower) -> asyncio.TimerHandle:
        def due() -> None:
            self._is_due = True
            follower.wake()

        return asyncio.get_running_loop().call_later(COMMENT_SECONDS, due)

    async def tell(self, events: Sequence[LoggedEvent], send: Send) -> None:
        """Send `events`, in order."""
        for start in range(0, len(events), CHUNK_EVENTS_MAX):
            await send_more(send, b"".join(map(self.frame, events[start : start + CHUNK_EVENTS_MAX])))

    def frame(self, event: LoggedEvent) -> bytes:
        """Return an event as it is sent."""
        return frame(event)

    async def opening(self, origin: EventId) -> bytes:
        """Return the text before all events of a stream that begins after `origin`."""
        return self.time() + (b"" if self._source is None else started(self._source, origin, self.clock()))

    async def beat(self) -> bytes:
        """Return the text that is sent every `COMMENT_SECONDS`."""
        return self.time()

    def time(self) -> bytes:
        """Return the time of the house's clock as a comment, without an empty line, which some clients take for an event."""
        return f": time {instant(self.clock())}\n".encode()


def page_time(now: datetime) -> bytes:
    """Return the time of the house's clock for a page, as an event because htmx ignores comments."""
    return f"event: time\ndata: {instant(now)}\n\n".encode()


def spread_of(followers: int) -> float:
    """Return within how many seconds so many followers of a process should come back."""
    return min(SPREAD_SECONDS_MAX, max(SPREAD_SECONDS_MIN, followers / RECONNECTS_PER_SECOND))


def started(source: str, origin: EventId, now: datetime) -> bytes:
    """Return the event at the beginning of a stream, for a reader that sent no id. With its id the reader can resume there.

    Some clients remember an id only if data comes with it, and some take an id without data for an event. Its name keeps
    it from a browser's `onmessage`; its data is a CloudEvent, for clients that read every event as one.
    """
    said = {
        "specversion": "1.0",
        "id": str(origin),
        "source": source,
        "type": STARTED,
        "time": instant(now),
        "datacontenttype": "application/json",
        "sequence": origin.version,
        "data": {},
    }
    return b"event: %s\nid: %s\ndata: %s\n\n" % (STARTED.encode(), str(origin).encode(), _encode(said))


async def send_more(send: Send, text: bytes) -> None:
    """Send a part of an answer that goes on."""
    await send({"type": "http.response.body", "body": text, "more_body": True})


def chunk(text: bytes) -> bytes:
    """Return a part of an answer as it is sent by HTTP/1.1."""
    return b"%x\r\n%s\r\n" % (len(text), text)


class _LatestChunk:
    """The chunk that was made last. The feed hands the same list of events to all who follow the same."""

    def __init__(self) -> None:
        self._made: tuple[Sequence[LoggedEvent], bytes] = ((), b"")

    def of(self, events: Sequence[LoggedEvent], frame: Callable[[LoggedEvent], bytes]) -> bytes:
        """Return these events as one chunk; `frame` returns one of them as it is sent."""
        known, made = self._made
        if known is not events:
            made = chunk(b"".join(map(frame, events)))
            self._made = events, made
        return made


_latest = _LatestChunk()


@lru_cache(WAITING_MAX)
def frame(event: LoggedEvent) -> bytes:
    """Return an event as it is sent, made once for all readers. msgspec's JSON has no line breaks."""
    return b"id: %s/%d\ndata: %s\n\n" % (event.gid.encode(), event.version, event.payload)
