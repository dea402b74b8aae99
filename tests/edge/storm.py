"""A house in a storm, for edges: one lot whose events come fast, sent to each stream from where it begins."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.edge.lying import StandIn, event, started

LOT = "k3X9mQ2vTa1_"
PATH = f"/auctions/{LOT}/events"
DATA = '{"a":"' + "x" * 300 + '"}'
"""As long as a bid."""
BATCH = 20
"""Events that come at once."""
TIME_SECONDS = 5.0
"""It says the time so often, as an edge counts a house that says nothing for away."""


class StormyHouse(StandIn):
    """The server. `tell` causes events; each has the next version."""

    def __init__(self) -> None:
        self.version = 0
        self._news = asyncio.Event()
        super().__init__()

    def tell(self, count: int) -> None:
        """Cause `count` events at once."""

        def grow() -> None:
            self.version += count
            news, self._news = self._news, asyncio.Event()
            news.set()

        self.loop.call_soon_threadsafe(grow)

    async def answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        """Send the events from where the stream begins, as they come, and the time."""
        after = re.search(f"(?:Last-Event-ID: |after=){LOT}/([0-9]+)", head)
        at = int(after[1]) if after else 0 if "after=0" in head or "Last-Event-ID: 0" in head else self.version
        writer.write(started("0" if at == 0 else f"{LOT}/{at}"))
        while not self.ends.is_set():
            news = self._news
            while PATH in head and at < self.version:
                until = min(at + BATCH, self.version)
                writer.write(b"".join(event(f"{LOT}/{number}", DATA) for number in range(at + 1, until + 1)))
                await writer.drain()
                at = until
            with suppress(TimeoutError):
                async with asyncio.timeout(TIME_SECONDS):
                    await news.wait()
            writer.write(b": time 2026-11-27T12:00:00.000000Z\n")


@contextmanager
def stormy_house() -> Iterator[StormyHouse]:
    """Serve for the length of a block."""
    house = StormyHouse()
    try:
        yield house
    finally:
        house.stop()
