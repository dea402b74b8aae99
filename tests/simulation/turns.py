"""One writer at a time, in any process: the effect of SQLite's lock and PostgreSQL's row locks."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any


class Turns:
    """Writers take turns in the order in which they came; one that dies leaves its place."""

    def __init__(self) -> None:
        self.holder: Any = None
        self._waiting: deque[tuple[Any, asyncio.Future[None]]] = deque()

    async def take(self, process: Any) -> None:
        """Wait for the turn of `process`."""
        if self.holder is None:
            self.holder = process
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((process, future))
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.give_back()
            raise

    def give_back(self) -> None:
        """Let the next one write."""
        self.holder = None
        while self._waiting and self.holder is None:
            process, future = self._waiting.popleft()
            if not process.strand.dead and not future.done():
                self.holder = process
                future.set_result(None)
