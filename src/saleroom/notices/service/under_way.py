"""Posts under way: one at a time to each address, a fair share for each user, all ended when the house ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import structlog

from saleroom.outbox import store
from saleroom.outbox.hooks import HookClient
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable

AT_ONCE = 50
OF_USER_AT_ONCE = 3
"""The most posts for one user at a time: slow servers of one do not hold up those of others."""

_log = structlog.get_logger()


class UnderWay:
    """The posts of one channel that are under way, by their addresses in the outbox. `close` it at the end."""

    def __init__(self, database: Database, channel: str, client: HookClient) -> None:
        """`client` is what they are posted by."""
        self._database = database
        self._channel = channel
        self._client = client
        self._tasks: dict[str, tuple[int, asyncio.Task[None]]] = {}
        """By the address: for which user, and the task."""
        self.wake: Callable[[], None] = lambda: None
        """Called when a post has ended."""

    @property
    def addresses(self) -> frozenset[str]:
        """The addresses that something is under way to."""
        return frozenset(self._tasks)

    async def wait(self, poll_seconds: float) -> float:
        """Return how long to wait before more can begin: 0 if a word is due. Raises DatabaseUnavailable."""
        seconds = await self._database.read(store.waiting_at, self._channel)
        if seconds is None or len(self._tasks) >= AT_ONCE:
            return poll_seconds
        return 0.0 if seconds <= 0 else min(poll_seconds, max(seconds, 0.05))

    def begin(self, user: int, address: str, post: Callable[[], Awaitable[None]]) -> None:
        """Begin a post, unless something is under way to the address, or enough for the user or in all."""
        of_user = Counter(user for user, _ in self._tasks.values())[user]
        if address in self._tasks or of_user >= OF_USER_AT_ONCE or len(self._tasks) >= AT_ONCE:
            return
        task = asyncio.create_task(self._run(address, post))
        self._tasks[address] = user, task
        task.add_done_callback(lambda _: self._ended(address))

    async def _run(self, address: str, post: Callable[[], Awaitable[None]]) -> None:
        try:
            await post()
        except (DatabaseUnavailable, store.LetterChanged):
            pass  # what has begun waits for its next try
        except Exception:  # noqa: BLE001  # one post never ends the others
            _log.exception("a post failed", channel=self._channel, address=address)

    def _ended(self, address: str) -> None:
        self._tasks.pop(address, None)
        self.wake()

    async def drain(self) -> None:
        """Wait for what is under way."""
        while self._tasks:
            await asyncio.gather(*(task for _, task in self._tasks.values()), return_exceptions=True)
            await asyncio.sleep(0)

    async def close(self) -> None:
        """End what is under way, which counts as tried, and all connections."""
        for _, task in list(self._tasks.values()):
            task.cancel()
        await self.drain()
        await self._client.close()
