"""The house behind an edge, known from outside alone: its streams, its clock, and when it was last heard."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import Self

import structlog

from saleroom.bidding.domain.errors import TakenDown
from saleroom.edge.addresses import Address
from saleroom.kernel.errors import Busy, Refusal, UnknownEvent
from saleroom.kernel.identifiers import EventId
from saleroom.logs import LogThrottle
from saleroom.tools.errors import NoAnswer
from saleroom.tools.event_stream import Comment, EventStreamParser, Message, NotAnEventStream
from saleroom.tools.http_client import RETRY_SECONDS_MAX, HttpClient, Response

log = structlog.get_logger(__name__)

OPEN_SECONDS_MAX = 10.0
"""How long a house may take until a stream begins."""
AVOID_SECONDS = 5.0
"""How long an address of the house is asked only if no other is left, after it gave no answer."""
TELL_SECONDS = 10.0
NAME = "saleroom edge"


class Over(Exception):
    """The house says that nothing more comes at this address."""


class HouseStream:
    """A stream that a house has begun. `retry_seconds` is the pause before the next one that it asks for."""

    def __init__(self, house: House, response: Response) -> None:
        self._house = house
        self._response = response
        self._parser = EventStreamParser()

    @property
    def retry_seconds(self) -> float | None:
        """The seconds after which to come back, within reason; None if the house has not said."""
        told = self._parser.retry_ms
        return None if told is None else min(told / 1000, RETRY_SECONDS_MAX)

    async def batches(self) -> AsyncIterator[list[Message]]:
        """Yield the messages that came together, until the stream ends. Raises NoAnswer."""
        try:
            async for items in self._response.events(self._parser):
                self._house.hear(items)
                yield [item for item in items if isinstance(item, Message)]
        except NotAnEventStream:
            raise not_a_stream() from None


class House:
    """A house at one or more addresses, each of which serves the same. Use it as a context."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._avoided: dict[HttpClient, float] = {}
        self._clock: tuple[datetime, float] | None = None
        """An instant of the house's clock, and this process's monotonic clock when it was heard."""
        self._heard = float("-inf")
        self._reason = ""
        self._throttle = LogThrottle(self._log, TELL_SECONDS)
        self.streams = 0
        """How many of its streams are open."""
        self.failures = 0
        """How often a stream could not be opened, or broke off."""

    async def __aenter__(self) -> Self:
        """Prepare the clients."""
        self._stack = AsyncExitStack()
        self._clients = [
            await self._stack.enter_async_context(
                HttpClient(url, NAME, total_seconds_max=OPEN_SECONDS_MAX, connections_max=0, follow_redirects=False)
            )
            for url in self._urls
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        await self._stack.aclose()

    @asynccontextmanager
    async def stream(self, address: Address, after: EventId | None) -> AsyncIterator[HouseStream]:
        """Open a stream, without anything that a reader has sent but its place. Raises Over, Refusal, NoAnswer."""
        path, headers = address.request(after)
        client = self._choose()
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(OPEN_SECONDS_MAX):
                    response = await stack.enter_async_context(client.open("GET", path, headers, endless=True))
                    _check(address, response)
            except TimeoutError:
                self._fail(client, "no answer in time")
                raise NoAnswer("no answer in time", "Timeout") from None
            except NoAnswer as fault:
                self._fail(client, str(fault))
                raise
            self.streams += 1
            try:
                yield HouseStream(self, response)
            except NoAnswer as fault:
                self._fail(client, str(fault))
                raise
            finally:
                self.streams -= 1

    def hear(self, items: Sequence[Message | Comment]) -> None:
        """Take note that the house was heard, and of its clock."""
        now = time.monotonic()
        self._heard = now
        for item in items:
            if isinstance(item, Comment):
                told = item.text.removeprefix("time ") if item.text.startswith("time ") else ""
            else:
                told = item.data if item.name == "time" else ""
            if told:
                with suppress(ValueError, OverflowError):
                    found = datetime.fromisoformat(told).astimezone(UTC)
                    if found.year < MAXYEAR:  # later its sum with what has passed would be no date
                        self._clock = found, now

    def now(self) -> datetime:
        """Return the time of the house's clock, as far as it was heard. Raises Busy before that."""
        if self._clock is None:
            raise cannot_be_reached()
        instant, then = self._clock
        return instant + timedelta(seconds=time.monotonic() - then)

    def silent_seconds(self) -> float:
        """Return for how long the house was not heard; infinity if it never was."""
        return time.monotonic() - self._heard

    def refuses(self, address: Address, refused: Refusal) -> None:
        """Take note that the house refuses a stream that every house has."""
        self._count(f"{address.path} is answered by {refused.code}; is this the address of an auction house?")

    def _choose(self) -> HttpClient:
        """Return one of the house's addresses by chance, so that edges spread; one that failed just now only if all have."""
        now = time.monotonic()
        good = [one for one in self._clients if now - self._avoided.get(one, float("-inf")) > AVOID_SECONDS]
        return random.choice(good or self._clients)

    def _fail(self, client: HttpClient, reason: str) -> None:
        self._avoided[client] = time.monotonic()
        self._count(f"{client.url}: {reason}")

    def _count(self, reason: str) -> None:
        self.failures += 1
        self._reason = reason
        self._throttle.count()

    def _log(self, failures: int) -> None:
        log.warning("a stream of the house cannot be had", reason=self._reason, failures=failures)


def cannot_be_reached() -> Busy:
    """Return the refusal of a reader whose stream the house cannot give now."""
    return Busy("The house cannot be reached just now; try again in a moment.")


def not_a_stream() -> NoAnswer:
    """Return the error for an answer that no house gives."""
    return NoAnswer("it answers, but not as an auction house does", "NotAHouse")


def _check(address: Address, response: Response) -> None:
    """Raise what an answer means that is no stream: Over, a refusal for the reader, or NoAnswer."""
    match response.status:
        case 200 if response.content_type == "text/event-stream" and not response.compressed:
            return
        case 204:
            raise Over
        case 400:  # everything in the request but the event's id is the edge's own
            raise UnknownEvent
        case 404:
            raise address.unknown
        case 410:
            raise TakenDown
        case 200:
            raise not_a_stream()
        case other:
            raise NoAnswer(f"it answers {other}", "Status")
