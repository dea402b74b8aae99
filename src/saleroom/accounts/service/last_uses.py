"""Last uses: when tokens were used, written beside the requests and rarely; and the end of sessions that nobody uses."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

from saleroom.accounts.storage import access_tokens
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable

WRITE_SECONDS = 60.0
COARSE = timedelta(minutes=5)
"""A later use is not written before: thousands of bids by one token are one row written."""
SLACK = COARSE + timedelta(seconds=2 * WRITE_SECONDS)
"""By how much a written use may be older than the use itself."""
AT_ONCE = 200
"""Tokens that one transaction reads or writes."""
WAITING_MAX = 100_000
"""Tokens of which a process remembers that they were used."""


class LastUses:
    """The tokens that one process has seen in use since it last wrote them. `idle` None: sessions end by their age alone."""

    def __init__(self, idle: timedelta | None) -> None:
        self._idle = idle
        self._seen: set[str] = set()

    def saw(self, digests: list[str]) -> None:
        """Remember that live tokens were used. Adding to a set is all that it costs a bid."""
        if len(self._seen) < WAITING_MAX:
            self._seen.update(digests)

    async def begin(self, database: Database) -> None:
        """Have sessions from before the setting count from now. Without the database nothing happens."""
        if self._idle is not None:
            with suppress(DatabaseUnavailable):
                await database.write(_begin)

    async def run(self, database: Database) -> None:
        """Write uses and end idle sessions every minute, until cancelled. Without the database, the next minute comes."""
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            with suppress(DatabaseUnavailable):
                await self.write(database)

    async def write(self, database: Database) -> None:
        """Write the uses, a few at a time, as bids wait for each transaction; then end the sessions that are idle."""
        seen, self._seen = sorted(self._seen), set()
        for place in range(0, len(seen), AT_ONCE):
            numbers = await database.read(_stale, seen[place : place + AT_ONCE])
            if numbers:
                await database.write(_touch, numbers)
        if self._idle is not None:
            while await database.write(_end_idle, self._idle + SLACK) >= AT_ONCE:
                pass


def _stale(tx: Transaction, digests: list[str]) -> list[int]:
    return access_tokens.stale(tx, digests, tx.now() - COARSE)


def _touch(tx: Transaction, numbers: list[int]) -> None:
    access_tokens.touch(tx, numbers, tx.now())


def _end_idle(tx: Transaction, idle: timedelta) -> int:
    return access_tokens.delete_idle_sessions(tx, tx.now() - idle, AT_ONCE)


def _begin(tx: Transaction) -> None:
    access_tokens.begin_idle_times(tx, tx.now())
