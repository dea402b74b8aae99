"""A server for a house in a thread of the tests. It ends at once: uvicorn's own takes 0.2 s, in which nothing happens."""

import asyncio
import socket
from contextlib import suppress

import uvicorn

TICK_SECONDS = 1.0


class PromptServer(uvicorn.Server):
    """Uvicorn's server, which is told of its end instead of looking ten times a second whether it has come."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve."""
        self._loop, self._ends = asyncio.get_running_loop(), asyncio.Event()
        await super().startup(sockets)

    def end(self) -> None:
        """Finish the requests in flight, and end. Any thread may say so, once the server serves, and say it again."""
        self.should_exit = True
        with suppress(RuntimeError):  # its loop is closed already
            self._loop.call_soon_threadsafe(self._ends.set)

    async def main_loop(self) -> None:
        """Renew the date in the answers each second, as uvicorn does each tenth time."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ends.wait(), TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End as uvicorn does, without its pause of a tenth of a second for the connections without requests."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0)  # in which those connections are lost
        await self._wait_tasks_to_complete()
        await self.lifespan.shutdown()
