"""A server in place of a house, which says what a test tells it to and keeps what it was asked."""

import asyncio
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.patience import SECONDS_MAX

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
"""The head of a stream."""


def started(event: str) -> bytes:
    """Return the beginning of a stream of the log after an event."""
    return (
        STREAM
        + f"retry: 1\n: time 2026-11-27T12:00:00.000000Z\nevent: stream.started\nid: {event}\ndata: {{}}\n\n".encode()
    )


def event(event_id: str, data: str = "{}") -> bytes:
    """Return an event of the log."""
    return f"id: {event_id}\ndata: {data}\n\n".encode()


class StandIn(ABC):
    """A server in a thread of its own, which answers each request by `answer`."""

    def __init__(self) -> None:
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._started.wait(SECONDS_MAX)

    @abstractmethod
    async def answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        """Answer a request with this head; the connection ends afterwards."""

    def stop(self) -> None:
        """End."""
        self.loop.call_soon_threadsafe(self.ends.set)
        self._thread.join(SECONDS_MAX)

    async def _serve(self) -> None:
        self.loop, self.ends = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await self.ends.wait()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.answer((await reader.readuntil(b"\r\n\r\n")).decode(), writer)
        except ConnectionError:
            pass  # the edge has gone
        finally:
            writer.close()


class LyingHouse(StandIn):
    """The server. `script` has the answers by path, one for each request; the last one is given again and again.

    Those by path and event, as `/events after ID`, count before them.

    An answer is the pieces to send; the connection stays open after them if the last piece is empty.
    """

    def __init__(self) -> None:
        self.script: dict[str, list[Sequence[bytes]]] = {"/events": [(started("0"), b"")]}
        self.heads: list[str] = []
        """The heads of all requests."""
        super().__init__()

    async def answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        """Send the pieces of the next answer to this request."""
        self.heads.append(head)
        path, after = head.split(" ")[1], re.search("Last-Event-ID: (.*)\r\n", head)
        unknown: list[Sequence[bytes]] = [(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",)]
        answers = self.script.get(f"{path} after {after[1]}" if after else "", self.script.get(path, unknown))
        pieces = answers.pop(0) if len(answers) > 1 else answers[0]
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if not pieces[-1]:
            await self.ends.wait()


@contextmanager
def lying_house() -> Iterator[LyingHouse]:
    """Serve for the length of a block."""
    house = LyingHouse()
    try:
        yield house
    finally:
        house.stop()
