"""The machinery of live pages: the log over server-sent events, as HTML that htmx puts in its place.

After each event a reader's page is as if it were opened now. So it does not matter how many events were missed or
were taken together. A fragment that many readers see is rendered once for all of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from starlette.types import Send

from saleroom.feed.feed import Follower
from saleroom.feed.streams import EventStream, send_more
from saleroom.kernel.identifiers import EventId
from saleroom.kernel.instants import instant
from saleroom.log.store import LoggedEvent
from saleroom.site.language import Language
from saleroom.site.rendering import Renderer

CACHED_MAX = 2048
PAUSE_SECONDS = 0.2
"""The pause after each change that is sent. The changes of the pause are sent together."""
OVER = b"event: over\ndata: over\n\n"
"""The last message for a page, which then closes the stream."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Render = Callable[[Sequence[LoggedEvent]], Awaitable[str]]
"""From new events to the HTML that they change on a page; empty if they change nothing."""


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
        whole = (template, language.tag, str(language.locale), key)
        html = self._cache.get(whole)
        return self._cache.keep(whole, self._renderer.fragment(language, template, context)) if html is None else html


class PageStream(EventStream):
    """A stream of HTML. `render` makes it of events, `first` (if given) of the page as it is at the beginning.

    `beat` (if given) makes it of what changes without an event; it is asked every `COMMENT_SECONDS`.
    """

    def __init__(
        self,
        follower: Follower,
        clock: Callable[[], datetime],
        render: Render,
        first: Callable[[], Awaitable[str]] | None = None,
        beat: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        super().__init__(follower, clock)
        self._render = render
        self._first = first
        self._beat = beat
        self._over = follower.ended

    async def opening(self, origin: EventId) -> bytes:
        """Return the HTML for the beginning, and the message `over` if the page is over already.

        The event of the time has the id to resume after, so that a page that is cut off before anything happens misses
        nothing.
        """
        html = "" if self._first is None else await self._first()
        return f"id: {origin}\n".encode() + self.time() + _message(html) + (OVER if self._over else b"")

    async def tell(self, events: Sequence[LoggedEvent], send: Send) -> None:
        """Send the changes that `events` make to the page."""
        if not events:
            return
        html = await self._render(events)
        last = events[-1]
        text = _message(html, f"{last.gid}/{last.version}") if html else b""
        if last.last:
            text += OVER
        if text:
            await send_more(send, text)
            await asyncio.sleep(PAUSE_SECONDS)

    async def beat(self) -> bytes:
        """Return the time, and what has changed without an event."""
        return self.time() + (b"" if self._beat is None else _message(await self._beat()))

    def time(self) -> bytes:
        """Return the time of the house's clock, as an event because htmx ignores comments."""
        return f"event: time\ndata: {instant(self.clock())}\n\n".encode()


def _message(html: str, event_id: str | None = None) -> bytes:
    """Return HTML as one message of a stream, with the id of its last event; nothing if there is no HTML."""
    if not html:
        return b""
    head = "" if event_id is None else f"id: {event_id}\n"
    return (head + "".join(f"data: {line}\n" for line in html.splitlines() if line.strip()) + "\n").encode()
