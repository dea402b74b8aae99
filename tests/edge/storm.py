"""A house in a storm, for edges: one lot whose events come fast, sent to each stream from where it begins."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.edge.lying import event, started
from tests.patience import SECONDS_MAX

LOT = "k3X9mQ2vTa1_"
PATH = f"/auctions/{LOT}/events"
DATA = '{"a":"' + "x" * 300 + '"}'
"""As long as a bid."""
BATCH = 20
"""Events that come at once."""
TIME_SECONDS = 5.0
"""It says the time so often, as an edge counts a house that says nothing for away."""


class StormyHouse:
    """The server. `tell` causes events; each has the next version."""

    def __init__(self) -> None:
        self.version = 0
        self._news = asyncio.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._started.wait(SECONDS_MAX)

    def tell(self, count: int) -> None:
        """Cause `count` events at once."""

        def grow() -> None:
            self.version += count
            news, self._news = self._news, asyncio.Event()
            news.set()

        self._loop.call_soon_threadsafe(grow)

    def stop(self) -> None:
        """End."""
        self._loop.call_soon_threadsafe(self._ends.set)
        self._thread.join(SECONDS_MAX)

    async def _serve(self) -> None:
        self._loop, self._ends = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await self._ends.wait()
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        after = re.search(f"(?:Last-Event-ID: |after=){LOT}/([0-9]+)", head)
        at = int(after[1]) if after else 0 if "after=0" in head or "Last-Event-ID: 0" in head else self.version
        try:
            writer.write(started("0" if at == 0 else f"{LOT}/{at}"))
            while not self._ends.is_set():
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
        except ConnectionError:
            pass
        finally:
            writer.close()


@contextmanager
def stormy_house() -> Iterator[StormyHouse]:
    """Serve for the length of a block."""
    house = StormyHouse()
    try:
        yield house
    finally:
        house.stop()
