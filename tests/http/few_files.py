"""A server in a process that may open 40 files. It prints its port, and greets anyone who connects."""

import asyncio
import resource
import sys
from typing import cast

from saleroom.http.event_loop import EventLoop
from saleroom.runtime import serving

FILES_MAX = 40
GREETING = b"welcome"


class Greeting(asyncio.Protocol):
    """Greets the client, and waits until it leaves."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the greeting."""
        cast("asyncio.Transport", transport).write(GREETING)


async def _serve() -> None:
    listener = serving.listen("127.0.0.1", 0)
    server = await asyncio.get_running_loop().create_server(Greeting, sock=listener, backlog=serving.BACKLOG)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, FILES_MAX))
    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(_serve())
