"""A sale watched over HTTP: lots from `GET /auctions`, then server-sent events, resumed after the last one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar
from urllib.parse import quote

import msgspec

from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import GID, parse_event_id
from saleroom.tools.amounts import KEYS_PATH, currency_of
from saleroom.tools.errors import NoAnswer, ToolError, not_a_house
from saleroom.tools.event_stream import Comment, EventStreamParser, Message, NotAnEventStream
from saleroom.tools.http_client import HttpClient, Response, UnfitBody
from saleroom.tools.watch import messages
from saleroom.tools.watch.channel import Pauses, WatchOptions, tls_context
from saleroom.tools.watch.sale import Sale

T = TypeVar("T")

REQUEST_SECONDS_MAX = 120.0
"""The bound of a request that is no stream, even if its answer comes byte by byte."""
LOTS_PAGES_MAX = 20
"""Pages of 100 lots read at the start. A later lot is asked for when an event about it comes."""
_OPEN_LOTS = "/auctions?status=open&limit=100"


class HouseBusy(NoAnswer):
    """The house cannot answer now; it asks to wait `retry_after` seconds."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason, "Busy")
        self.retry_after = retry_after


class HttpWatch:
    """Fills a sale over HTTP: one lot, or all lots of a house."""

    WHAT = "lot"

    def __init__(self, options: WatchOptions, sale: Sale) -> None:
        self._gid = options.gid
        self._stream = "/events" if options.gid is None else f"/auctions/{options.gid}/events"
        self._options = options
        self._sale = sale
        self._pauses = Pauses()
        self._last = options.after
        self._looked = False
        """Whether the lots have been read since the sale was last without events."""
        self._reached = False
        self._asked = options.currency is not None
        """Whether the currency is known, or the house was asked for it."""

    async def run(self) -> None:
        """Watch until the one lot is over, or without end if all lots are watched. Raises ToolError."""
        url = self._options.url
        tls = tls_context(self._options.ca_file) if url.startswith("https:") else None
        async with HttpClient(url, "saleroom watch", total_seconds_max=REQUEST_SECONDS_MAX, tls=tls) as self._client:
            while True:
                at_least = 0.0
                try:
                    if await self._follow():
                        return
                    reason = "the house ended the stream"
                except NoAnswer as error:
                    if not self._reached:
                        raise ToolError(f"{url} cannot be watched: {error}") from None
                    reason = str(error)
                    if isinstance(error, HouseBusy):
                        at_least = error.retry_after
                if self._last is None:
                    # Without an id to resume after, the next stream begins with the events of then.
                    self._sale.notice("no event had come yet: what happens until the next connection is not shown")
                    self._looked = False
                seconds = self._pauses.next(at_least)
                self._sale.lost(reason, seconds)
                await asyncio.sleep(seconds)

    async def _follow(self) -> bool:
        """Read one stream to its end. Return whether the lot is over. Raises ToolError, and NoAnswer to try again."""
        gid = self._gid
        if not self._asked:
            await self._ask_currency()
        if gid is not None and not self._looked:
            await self._look(gid)
            self._looked = True
            if self._last is None:
                if self._sale.over:
                    return True
                self._last = f"{gid}/{self._sale.version_of(gid)}"
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self._last is not None:
            headers["Last-Event-ID"] = self._last
        async with self._client.open("GET", self._stream, headers, endless=True) as response:
            if response.status == 204:
                return True
            if response.status == 400:
                raise ToolError(f"the house does not know the event {self._last}, after which to resume; begin again")
            self._check(response, "text/event-stream")
            self._reached = True
            self._sale.connected(f"live from {self._options.url}")
            try:
                return await self._read(response)
            except (NotAnEventStream, msgspec.DecodeError):
                raise not_a_house(self._options.url) from None

    async def _read(self, response: Response) -> bool:
        """Read a stream to its end; return whether the lot is over."""
        parser = EventStreamParser()
        async for items in response.events(parser):
            self._pauses.reset()
            for item in items:
                if isinstance(item, Comment):
                    self._sale.clock.hear(item.text)
                elif await self._take(item):
                    return True
            if parser.retry_ms is not None:
                self._pauses.least = parser.retry_ms / 1000
            # The stream has certainly begun, so that no event falls between it and the lots.
            if not self._looked:
                await self._look_around()
        return False

    async def _take(self, message: Message) -> bool:
        """Take an event in; return whether it is the last event of the one lot. A message with a name is about the stream."""
        # The id goes into a header and the gid into an address when the house is asked again.
        if message.id and isinstance(parse_event_id(message.id), Fault):
            raise not_a_house(self._options.url)
        if message.data and not message.name:
            event = messages.read_event(message.data)
            if GID.fullmatch(event.gid) is None:
                raise not_a_house(self._options.url)
            if await self._wants(event):
                self._sale.event(message.data.replace("\n", " "), event)
                if event.ends and event.gid == self._gid:
                    return True
        self._last = message.id or None
        return False

    async def _wants(self, event: messages.LotEvent) -> bool:
        """Return whether an event is to be shown, once its lot is known."""
        if self._options.states and self._looked and event.gid not in self._sale.lots:
            await self._look(event.gid)
        return True

    async def _ask_currency(self) -> None:
        """Ask the house for its currency; an older house tells none. Raises NoAnswer."""
        async with self._client.open("GET", KEYS_PATH) as response:
            if response.status == 200:
                with suppress(UnfitBody):
                    self._sale.write_money(currency_of(await response.body()))
        self._asked = True

    async def _look_around(self) -> None:
        """Read the lots that are open."""
        self._looked = True
        path: str | None = _OPEN_LOTS
        for _ in range(LOTS_PAGES_MAX if self._options.states else 0):
            if path is None:
                return
            page = await self._get(path, messages.read_page)
            for lot in page.auctions:
                self._sale.state(lot)
            path = page.next and f"{_OPEN_LOTS}&cursor={quote(page.next, safe='')}"

    async def _look(self, gid: str) -> None:
        """Read one lot."""
        self._sale.state(await self._get(f"/auctions/{gid}", messages.read_lot))

    async def _get(self, path: str, read: Callable[[bytes], T]) -> T:
        """Return the JSON at `path`. Raises ToolError, and NoAnswer to try again."""
        async with self._client.open("GET", path) as response:
            self._check(response, "application/json")
            try:
                return read(await response.body())
            except (msgspec.DecodeError, UnfitBody):
                raise not_a_house(self._options.url) from None

    def _check(self, response: Response, content_type: str) -> None:
        """Raise HouseBusy, or ToolError for an answer that no house gives."""
        gid, url = self._gid, self._options.url
        if response.status == 429 or response.status >= 500:
            raise HouseBusy(f"the house answers {response.status}", response.retry_after or 0.0)
        if response.status == 404 and gid is not None and response.content_type == "application/json":
            raise ToolError(f"there is no {self.WHAT} {gid} in {url}")
        if response.status != 200 or response.content_type != content_type or response.compressed:
            raise not_a_house(url)
