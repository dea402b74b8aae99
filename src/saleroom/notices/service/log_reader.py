"""A reader of the log of auctions that uses each event once, from a stored place on, in however many processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

from saleroom.bidding.storage.event_log import LOG
from saleroom.log.frontier import Frontier
from saleroom.log.store import LogMismatch
from saleroom.outbox import places
from saleroom.storage.database import Database, Transaction

LOOK_BACK = 1000
_LOOKS_AT_START = 2
"""An old rollback is recognized at the second look."""

T = TypeVar("T")
_log = structlog.get_logger()


class LogReader(Generic[T]):
    """Reads the log as far as it is complete, page by page, and moves its place in the transaction that uses a page."""

    def __init__(
        self,
        database: Database,
        name: str,
        read: Callable[[Transaction, int, int], tuple[int, T]],
        use: Callable[[Transaction, int, int, T], bool],
    ) -> None:
        """`name` is that of the place.

        `read` takes the place and how far the log is complete, and returns where the page ends and what follows from it. `use`
        takes the place, that end and what follows; it moves the place, and returns False if another process has done so.
        """
        self._database = database
        self._name = name
        self._read = read
        self._use = use
        self._frontier: Frontier | None = None

    async def catch_up(self) -> bool:
        """Use all events up to which the log is complete; False if the log has gone back. Raises DatabaseUnavailable."""
        try:
            await self._catch_up()
        except LogMismatch:
            # The place was in the same database, so it has gone back with the log.
            _log.warning("the log is not the one that was read; it is read from the stored place on", reader=self._name)
            self._frontier = None
            return False
        return True

    async def _catch_up(self) -> None:
        place = await self._database.read(places.find, self._name)
        if place is None:
            await self._begin()
            return
        if self._frontier is None or self._frontier.head < place:
            self._frontier = Frontier([place], 0) if place else Frontier([], 0)
        await self._look(self._frontier)
        while place < self._frontier.complete:
            after, found = await self._database.read(self._read, place, self._frontier.complete)
            if not await self._database.write(self._use, place, after, found):
                self._frontier = None  # another process is at it
                return
            place = after

    async def _begin(self) -> None:
        """Begin at the end of the log: what happened before is no news."""
        frontier = Frontier(await self._database.read(LOG.numbers, LOOK_BACK), LOOK_BACK)
        for _ in range(_LOOKS_AT_START):
            await self._look(frontier)
        await self._database.write(places.begin, self._name, frontier.complete)

    async def _look(self, frontier: Frontier) -> None:
        more = True
        while more:
            tail = await self._database.read(LOG.tail, frontier.seen, frontier.missing)
            frontier.advance(tail)
            more = tail.more
