"""The keeper of sales: begins and closes those whose time has come. Each process runs one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import structlog

from saleroom.bidding.domain.auction import Auction
from saleroom.sales.service.managing import settle
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable

log = structlog.get_logger()

LOOK_SECONDS = 15.0
"""How long a process may not see the acts of another one; it sees its own at once."""
RETRY_SECONDS = 1.0


class Keeper:
    """Begins and closes the sales that are due, and sleeps until the next opening or until a lot of a sale is over."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._woken = asyncio.Event()

    def heard(self, changed: Sequence[Auction]) -> None:
        """Look soon if a lot of a sale has just come to its end; call it after a commit, in the event loop's thread."""
        if any(auction.sale_id is not None and auction.over for auction in changed):
            self._woken.set()

    def wake(self) -> None:
        """Look soon: a sale has just changed."""
        self._woken.set()

    async def run(self) -> None:
        """Settle until cancelled. The database may go away and come back."""
        waits = False
        while True:
            self._woken.clear()
            try:
                next_seconds = await self._database.write(settle)
                seconds = LOOK_SECONDS if next_seconds is None else min(next_seconds, LOOK_SECONDS)
                waits = False
            except DatabaseUnavailable as error:
                if not waits:
                    log.error("sales wait for the database", reason=str(error))
                waits, seconds = True, RETRY_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
