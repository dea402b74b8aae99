"""A house over HTTP: lots from `GET /auctions`, then server-sent events, resumed after the last one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import NoReturn, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from saleroom.tools.connection_errors import why
from saleroom.tools.http_client import LIST_BYTES_MAX, TooMuch, body, is_packed, retry_after, session
from saleroom.tools.watch import lots
from saleroom.tools.watch.channel import CannotWatch, Pauses, Plan, tls_context
from saleroom.tools.watch.sale import Sale
from saleroom.tools.watch.sse import Comment, Message, Parser, TooLong

T = TypeVar("T")

CONNECT_SECONDS_MAX = 10.0
SILENCE_SECONDS_MAX = 45.0
"""A house comments every 15 seconds: whoever is silent for three times as long is gone."""
ANSWER = aiohttp.ClientTimeout(total=120.0, sock_connect=CONNECT_SECONDS_MAX, sock_read=SILENCE_SECONDS_MAX)
"""For all that is no stream: one that drips in comes to an end."""
LOTS_PAGES_MAX = 20
"""Pages of 100 lots read at the start. Other lots are asked for when something happens to them."""
_GID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EVENT_ID = re.compile(rf"0|{_GID.pattern}/[0-9]{{1,10}}")
_OPEN_LOTS = "/auctions?status=open&limit=100"


class _Passing(Exception):
    """The house cannot answer now."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


LOST = (aiohttp.ClientError, TimeoutError, OSError, _Passing)


class HttpWatch:
    """Fills a sale over HTTP."""

    def __init__(self, plan: Plan, sale: Sale) -> None:
        self._plan = plan
        self._sale = sale
        self._pauses = Pauses()
        self._last = plan.after
        self._looked = False
        self._reached = False

    async def run(self) -> None:
        """Watch until the one lot is over, without end where all are watched. Raises CannotWatch."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS_MAX, sock_read=SILENCE_SECONDS_MAX)
        tls = tls_context(self._plan.ca_file) if self._plan.url.startswith("https:") else True
        async with session(timeout, aiohttp.TCPConnector(ssl=tls)) as self._http:
            while True:
                try:
                    if await self._follow():
                        return
                    reason, at_least = "the house ended the stream", 0.0
                except LOST as error:
                    if isinstance(error, _Passing):
                        reason, at_least = str(error), error.retry_after
                    else:
                        reason, at_least = why(error), 0.0
                    if not self._reached:
                        raise CannotWatch(f"{self._plan.url} cannot be watched: {reason}") from None
                if self._last is None:
                    # Without an id to go on from, the next stream begins at its own beginning.
                    self._sale.notice("no event had come yet: what happens until the next connection is not shown")
                    self._looked = False
                seconds = self._pauses.next(at_least)
                self._sale.lost(reason, seconds)
                await asyncio.sleep(seconds)

    async def _follow(self) -> bool:
        """Read one stream to its end. Return whether the lot is over; raises CannotWatch, or one of LOST."""
        gid = self._plan.gid
        if gid is not None and not self._looked:
            await self._look(gid)
            self._looked = True
            if self._last is None:
                if self._sale.over:
                    return True
                self._last = f"{gid}/{self._sale.lots[gid].version}"
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self._last is not None:
            headers["Last-Event-ID"] = self._last
        path = "/events" if gid is None else f"/auctions/{gid}/events"
        async with self._http.get(self._url(path), headers=headers) as response:
            if response.status == 204:
                return True
            if response.status == 400:
                raise CannotWatch(f"the house does not know the event {self._last}, after which to go on; begin anew")
            self._check(response, "text/event-stream")
            return await self._read(response)

    async def _read(self, response: aiohttp.ClientResponse) -> bool:
        """Read a stream to its end; return whether the lot is over."""
        parser = Parser()
        self._reached = True
        self._sale.connected(f"live from {self._plan.url}")
        try:
            async for chunk in response.content.iter_any():
                self._pauses.reset()
                for item in parser.feed(chunk):
                    if isinstance(item, Comment):
                        self._comment(item.text)
                    elif await self._message(item):
                        return True
                if parser.retry_ms is not None:
                    self._pauses.least = parser.retry_ms / 1000
                # Only now is it sure that the stream has begun, so that nothing falls between it and the lots.
                if not self._looked:
                    await self._look_around()
        except TooLong:
            self._no_house()
        return False

    async def _message(self, message: Message) -> bool:
        """Take an event in; return whether it was the last one of the one lot. One with a name is about the stream itself."""
        # The id goes into a header and the gid into an address, when the house is asked again.
        if message.id and _EVENT_ID.fullmatch(message.id) is None:
            self._no_house()
        if message.data and not message.name:
            try:
                event = lots.read_event(message.data)
            except msgspec.DecodeError:
                self._no_house()
            if _GID.fullmatch(event.gid) is None:
                self._no_house()
            if self._plan.states and self._looked and event.gid not in self._sale.lots:
                await self._look(event.gid)
            self._sale.event(message.data.replace("\n", " "), event)
            if event.ends and event.gid == self._plan.gid:
                return True
        self._last = message.id or None
        return False

    def _comment(self, text: str) -> None:
        """Set the clock, if that is what the comment is for."""
        name, _, value = text.partition(" ")
        if name == "time":
            try:
                self._sale.clock.heard(msgspec.convert(value.strip(), lots.Instant))
            except msgspec.ValidationError:
                self._no_house()

    async def _look_around(self) -> None:
        """Read the lots that are open."""
        self._looked = True
        path: str | None = _OPEN_LOTS
        for _ in range(LOTS_PAGES_MAX if self._plan.states else 0):
            if path is None:
                return
            page = await self._ask(path, lots.read_page)
            for lot in page.auctions:
                self._sale.state(lot)
            path = page.next and f"{_OPEN_LOTS}&cursor={quote(page.next, safe='')}"

    async def _look(self, gid: str) -> None:
        """Read one lot."""
        self._sale.state(await self._ask(f"/auctions/{gid}", lots.read_lot))

    async def _ask(self, path: str, read: Callable[[bytes], T]) -> T:
        """Return what is at `path`, which must be there. Raises CannotWatch, or one of LOST."""
        async with self._http.get(self._url(path), timeout=ANSWER) as response:
            self._check(response, "application/json")
            try:
                return read(await body(response, LIST_BYTES_MAX))
            except (msgspec.DecodeError, TooMuch):
                self._no_house()

    def _check(self, response: aiohttp.ClientResponse, content_type: str) -> None:
        """Raise _Passing for a house that is busy, CannotWatch for an answer that no house gives."""
        status = response.status
        if status == 429 or status >= 500:
            raise _Passing(f"the house answers {status}", retry_after(response) or 0.0)
        if status == 404 and self._plan.gid is not None and response.content_type == "application/json":
            raise CannotWatch(f"there is no lot {self._plan.gid} in {self._plan.url}")
        if status != 200 or response.content_type != content_type or is_packed(response):
            self._no_house()

    def _no_house(self) -> NoReturn:
        raise CannotWatch(f"{self._plan.url} answers, but not as an auction house does; check the address")

    def _url(self, path: str) -> URL:
        # Joined by hand: a house may be below a path of its host.
        return URL(f"{self._plan.url}{path}", encoded=True)
