"""`python -m tests.failover.slow_link FROM_PORT TO_PORT ADDRESS FILE`: a way to a port of this machine that can be slow.

The other machines reach PostgreSQL by it. What it passes on, either way, comes as many seconds later as the file says.
"""

import asyncio
import contextlib
import sys
from pathlib import Path

ROOM = 64
"""How many pieces are under way on one connection; more have to wait."""


async def serve(near: int, far: int, address: str, file: Path) -> None:
    """Pass connections on until killed."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                answers, there = await asyncio.wait_for(asyncio.open_connection(address, far), 5)
                ways = (_pass(reader, there, file), _pass(answers, writer, file))
                tasks = [asyncio.create_task(way) for way in ways]
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.wait(tasks, timeout=1)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                there.transport.abort()
        finally:
            writer.transport.abort()

    async with await asyncio.start_server(connected, address, near) as server:
        await server.serve_forever()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, file: Path) -> None:
    clock = asyncio.get_running_loop().time
    under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(ROOM)

    async def deliver() -> None:
        while True:
            due, data = await under_way.get()
            await asyncio.sleep(due - clock())
            if not data:
                return
            writer.write(data)
            await writer.drain()

    async def take() -> None:
        data = b"."
        while data:
            data = await reader.read(65536)
            await under_way.put((clock() + delay(file), data))

    async with asyncio.TaskGroup() as group:
        group.create_task(deliver())
        group.create_task(take())


def delay(file: Path) -> float:
    """Return the seconds that the file says; none without the file."""
    with contextlib.suppress(OSError, ValueError):
        return float(file.read_text())
    return 0.0


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])))
