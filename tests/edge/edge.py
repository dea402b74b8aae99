"""A running edge for tests: the real one over real HTTP, in a thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx

from saleroom.edge import application
from saleroom.edge.house import House
from saleroom.edge.hub import Hub
from saleroom.http.event_loop import EventLoop
from saleroom.http.protocol import Http
from saleroom.runtime import serving
from saleroom.settings import Settings
from tests.fixtures_house import NO_TLS, START_SECONDS_MAX
from tests.patience import SECONDS_MAX
from tests.prompt_server import PromptServer

R = TypeVar("R")


class Edge:
    """An edge before a house at `url`. `base` is its own address."""

    def __init__(self, url: str, **settings: Any) -> None:
        self._settings = Settings(house=(url,), **settings)
        self.hub = Hub(House(self._settings.house), self._settings.followers_max)
        """Its inside; ask it by `inside`."""
        self._started = threading.Event()
        self._socket = serving.listen("127.0.0.1", 0)
        self.base = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, name="edge", daemon=True)
        self._thread.start()
        assert self._started.wait(START_SECONDS_MAX), "the edge does not start"
        self.plain = httpx.Client(base_url=self.base, verify=NO_TLS, timeout=SECONDS_MAX)

    def inside(self, ask: Callable[[Hub], R]) -> R:
        """Return what `ask` returns in the event loop of the edge."""

        async def asked() -> R:
            return ask(self.hub)

        return asyncio.run_coroutine_threadsafe(asked(), self._loop).result(SECONDS_MAX)

    def stop(self) -> None:
        """End in order."""
        self.plain.close()
        self._server.end()
        self._thread.join(START_SECONDS_MAX)
        self._socket.close()
        assert not self._thread.is_alive(), "the edge does not stop"

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=EventLoop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        made = application.application(self._settings, self.hub)
        self._server = PromptServer(serving._config(made, Http, 1))
        task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not task.done():
            await asyncio.sleep(0.005)
        self._started.set()
        await task


@contextmanager
def edge_of(url: str, **settings: Any) -> Iterator[Edge]:
    """Serve an edge for the length of a block."""
    edge = Edge(url, **settings)
    try:
        yield edge
    finally:
        edge.stop()


def streams(edge: Edge) -> int:
    """Return how many streams of the house the edge has open beside that of all events."""
    return edge.inside(lambda hub: hub.house.streams) - 1
