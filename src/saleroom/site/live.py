"""The machinery of live pages: the log over server-sent events, as HTML that htmx puts in its place.

After each message a reader's page is as if it were opened now, however many events came since the last message. Pages that
follow the same lots are updated in rounds, a few times a second, and always get the last state. A fragment that many readers
see is rendered and encoded once for all of them.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import structlog
from starlette.types import Send

from saleroom.feed.feed import Feed
from saleroom.feed.follower import Follower
from saleroom.feed.streams import EventStream, chunk, page_time, send_more
from saleroom.http.client_connection import ClientConnection
from saleroom.kernel.identifiers import EventId
from saleroom.log.store import LoggedEvent
from saleroom.site.language import Language
from saleroom.site.rendering import Renderer
from saleroom.storage.faults import DatabaseUnavailable

CACHED_MAX = 2048
PAUSE_SECONDS = 0.25
"""The pause after each round of an audience. The changes of the pause are sent together."""
TOLD_PER_SECOND = 5000
"""How many pages one process updates in a second, which takes a fifth of a processor. Further rounds wait."""
TURN_PAGES = 64
"""How many pages are updated before other work, such as bids, has its turn."""
RETRY_SECONDS = 1.0
OVER = b"event: over\ndata: over\n\n"
"""The last message for a page, which then closes the stream."""
_log = structlog.get_logger(__name__)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
N = TypeVar("N", bound="News")
D = TypeVar("D")


class BoundedCache(OrderedDict[K, V]):
    """A cache of the values that were made last, `CACHED_MAX` of them."""

    def keep(self, key: K, value: V) -> V:
        """Add a value and return it."""
        self[key] = value
        if len(self) > CACHED_MAX:
            self.popitem(last=False)
        return value


class Fragments:
    """Parts of pages, each rendered once for all readers of its language."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._cache: BoundedCache[Hashable, str] = BoundedCache()

    def render(self, language: Language, template: str, key: Hashable, context: dict[str, Any]) -> str:
        """Return `template` as HTML. `key` has everything that the context depends on."""
        whole = (template, language.tag, key)
        html = self._cache.get(whole)
        return self._cache.keep(whole, self._renderer.fragment(language, template, context)) if html is None else html


class News(Protocol):
    """What some events change on the pages of an audience."""

    last: EventId
    """The last of the events."""
    over: bool
    """Whether a log ends with one of them."""

    def add(self, events: Sequence[LoggedEvent]) -> None:
        """Take in later events."""


class LivePage(ABC, Generic[N, D]):
    """The content of one reader's page. It notes the changes that were not sent yet; the note stays small."""

    def __init__(self) -> None:
        self.due: dict[str, int] = {}
        """The lots whose states have to be sent to the page, each with its least version."""

    def owe(self, gid: str, version: int) -> None:
        """Note that a lot has to be sent to the page, as it is at `version` or later."""
        self.due[gid] = max(version, self.due.get(gid, 0))

    @abstractmethod
    def note(self, news: N) -> bool:
        """Note what changes on the page; return whether that is anything."""

    @abstractmethod
    def renew(self) -> None:
        """Note that the page may show what the house has not: a bid that only a lost server had."""

    @abstractmethod
    def html(self, states: Mapping[str, D]) -> str:
        """Return the HTML for lots as they are now, with all that was noted beside them, and forget that.

        It is empty if the page shows all of it already.
        """


class Pace:
    """How often pages are updated in one process. All its audiences share the time for it."""

    def __init__(self) -> None:
        self._free_at = 0.0

    async def turn(self) -> None:
        """Wait until the time for the pages of the last round is over."""
        await asyncio.sleep(self._free_at - time.monotonic())

    def count(self, pages: int) -> None:
        """Count the pages of a round."""
        self._free_at = max(self._free_at, time.monotonic()) + pages / TOLD_PER_SECOND


class Audiences(Generic[N, D]):
    """The audiences of one kind of pages, each while it has pages."""

    def __init__(
        self,
        feed: Feed,
        pace: Pace,
        news: Callable[[], N],
        load: Callable[[Mapping[str, int]], Awaitable[Mapping[str, D]]],
    ) -> None:
        """`load` returns the states of lots as they are now, each of the given version or later."""
        self.feed = feed
        self.pace = pace
        self.news = news
        self.load = load
        self._by_gid: dict[str | None, Audience[N, D]] = {}
        feed.after_rewind.append(self.renew)

    def renew(self) -> None:
        """Update all pages: the house has lost what some of them may show, although no event told them so."""
        for audience in self._by_gid.values():
            audience.renew()

    def join(self, gid: str | None, stream: PageStream[N, D]) -> None:
        """Tell a page what changes from now on."""
        audience = self._by_gid.get(gid)
        if audience is None:
            audience = self._by_gid[gid] = Audience(self)
            self.feed.attach(gid, audience)
        audience.pages.add(stream)

    def leave(self, gid: str | None, stream: PageStream[N, D]) -> None:
        """Tell a page nothing more."""
        audience = self._by_gid[gid]
        audience.pages.discard(stream)
        if not audience.pages:
            self.feed.detach(gid, audience)
            del self._by_gid[gid]


class Audience(Generic[N, D]):
    """The open pages that follow one lot, or the whole log. They are updated in rounds: at once if the last was long ago."""

    def __init__(self, audiences: Audiences[N, D]) -> None:
        self._audiences = audiences
        self.pages: set[PageStream[N, D]] = set()
        self._news: N | None = None
        self._renews = False
        """Whether pages are to be updated without news."""
        self._rounds: asyncio.Task[None] | None = None

    def push(self, events: Sequence[LoggedEvent]) -> None:
        """Keep what the events change for the next round; for the feed only."""
        if self._news is None:
            self._news = self._audiences.news()
        self._news.add(events)
        self._begin_rounds()

    def renew(self) -> None:
        """Update all pages in the next round, which reads the lots again."""
        self._renews = True
        self._begin_rounds()

    def _begin_rounds(self) -> None:
        if self._rounds is None:
            self._rounds = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        """Update the pages, until there is no change or no page left."""
        try:
            while (self._news is not None or self._renews) and self.pages:
                await self._audiences.pace.turn()
                await self._round()
                await asyncio.sleep(PAUSE_SECONDS)
        except Exception:  # noqa: BLE001  # the pages must not stay as they are; their browsers come back
            _log.exception("live pages cannot be told; their streams end")
            for stream in self.pages:
                stream.follower.end()
        finally:
            self._rounds = None

    async def _round(self) -> None:
        news, self._news = self._news, None
        if self._renews:
            self._renews = False
            for stream in self.pages:
                stream.renew()
        waiting = [stream for stream in self.pages if stream.note(news)]
        due: dict[str, int] = {}
        for stream in waiting:
            due |= stream.page.due
        states = await self._states(due)
        self._audiences.pace.count(len(waiting))
        encoded: dict[tuple[str, EventId], bytes] = {}
        for number, stream in enumerate(waiting, 1):
            stream.tell_now(states, encoded)
            if number % TURN_PAGES == 0:
                await asyncio.sleep(0)

    async def _states(self, due: Mapping[str, int]) -> Mapping[str, D]:
        """Return the states of lots, once the database can be reached."""
        while True:
            try:
                return await self._audiences.load(due)
            except DatabaseUnavailable:
                await asyncio.sleep(RETRY_SECONDS)


class PageStream(EventStream, Generic[N, D]):
    """A stream of HTML for one page, whose follower begins it and keeps its place. One that is `renew`ed begins with its state.

    `first` (if given) makes the HTML for the beginning. `beat` (if given) makes it of what changes without an event; it is
    asked every `COMMENT_SECONDS`.
    """

    _connection: ClientConnection | None = None
    """Set while the page can be updated without a turn of this stream's task."""

    def __init__(
        self,
        follower: Follower,
        audiences: Audiences[N, D],
        page: LivePage[N, D],
        first: Callable[[], Awaitable[str]] | None = None,
        beat: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        super().__init__(follower, audiences.feed.now)
        self.page = page
        self._audiences = audiences
        self._first = first
        self._beat = beat
        self._owes = False
        """Whether a change was noted that was not sent to the page."""
        self._last = follower.origin
        """The last event that was sent to the page, or will be."""
        self._over = follower.ended

    async def run(self, connection: ClientConnection, send: Send) -> None:
        """Join the audience; then catch up with it, from the event after which the follower begins."""
        self._audiences.join(self.follower.gid, self)
        try:
            self.follower.park()
            if self._owes:
                self.follower.wake()
            await super().run(connection, send)
        finally:
            self._audiences.leave(self.follower.gid, self)

    def shorten(self, connection: ClientConnection) -> None:
        """Let the audience write to the connection."""
        self._connection = connection

    async def opening(self, origin: EventId) -> bytes:
        """Return the HTML for the beginning, and the message `over` if the page is over already.

        The event of the time has the id to resume after, so that a page that is cut off before anything happens misses
        nothing. An end that comes meanwhile is sent after its state, which `first` may not have seen.
        """
        html = "" if self._first is None else await self._first()
        over = self._over and not self._owes
        return f"id: {origin}\n".encode() + self.time() + _message(html) + (OVER if over else b"")

    def renew(self) -> None:
        """Note that the page may show what the house has not."""
        self.page.renew()
        self._owes = True

    def note(self, news: N | None) -> bool:
        """Note what changes on the page, if there are news; return whether anything has to be sent."""
        if news is not None and self.page.note(news):
            self._owes = True
            self._last = news.last
            self._over = self._over or (self.follower.gid is not None and news.over)
        return self._owes

    def tell_now(self, states: Mapping[str, D], encoded: dict[tuple[str, EventId], bytes]) -> None:
        """Tell the page, or if something waits for its reader, have its task do that. `encoded` is shared by all of a round."""
        connection = self._connection
        if not self._owes:
            return
        if connection is None or not self.follower.idle or not connection.is_free:
            self.follower.wake()
            return
        due = self._take()
        html = self.page.html({gid: states[gid] for gid in due if gid in states})
        key = (html, self._last)
        if key not in encoded:
            text = self._text(html)
            encoded[key] = chunk(text) if text else b""  # an empty chunk would be the end
        connection.write(encoded[key])
        if self._over:
            self.follower.end()

    async def tell(self, events: Sequence[LoggedEvent], send: Send) -> None:
        """Send the changes that `events` make, and what the audience could not send because the reader was slow."""
        if events:
            news = self._audiences.news()
            news.add(events)
            self.note(news)
        if self._owes:
            await send_more(send, b"")  # this waits until the reader has taken what was sent
            text = self._text(self.page.html(await self._owed()))
            if text:
                await send_more(send, text)
            if self._over:
                self.follower.end()

    async def _owed(self) -> Mapping[str, D]:
        """Return the lots that have to be sent. A change that is noted while they are read is told with the others."""
        states: dict[str, D] = {}
        while self._owes:
            states |= await self._audiences.load(self._take())
        return states

    def _take(self) -> dict[str, int]:
        """Return the lots that have to be sent to the page; from now on they count as sent."""
        due, self.page.due, self._owes = self.page.due, {}, False
        return due

    def _text(self, html: str) -> bytes:
        return _message(html, self._last) + (OVER if self._over else b"")

    async def beat(self) -> bytes:
        """Return the time, and what has changed without an event."""
        return self.time() + (b"" if self._beat is None else _message(await self._beat()))

    def time(self) -> bytes:
        """Return the time of the house's clock."""
        return page_time(self.clock())


def _message(html: str, event_id: EventId | None = None) -> bytes:
    """Return HTML as one message of a stream, with the id of its last event; nothing if there is no HTML."""
    if not html:
        return b""
    head = "" if event_id is None else f"id: {event_id}\n"
    return (head + "".join(f"data: {line}\n" for line in html.splitlines() if line.strip()) + "\n").encode()
