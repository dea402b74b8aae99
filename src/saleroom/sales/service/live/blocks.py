"""The blocks that somebody follows in this process: each is read once after a change, for all who follow it.

It follows states, not events: a follower who misses some sees the last one. Commits of this process and notices of others wake
it; without any it looks once a second, so that a lost notice does no harm.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable, Iterable
from contextlib import suppress
from typing import Protocol

import structlog
from msgspec import Struct

from saleroom.bidding.domain.auction import Auction
from saleroom.kernel.errors import Refusal
from saleroom.sales.service.live import hall
from saleroom.sales.service.live.hall import Hall
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable

PAUSE_SECONDS = 0.02
"""The pause after each look. The changes of the pause are told together."""
LOOK_SECONDS = 1.0
RETRY_SECONDS = 1.0
TURN_FOLLOWERS = 64
"""How many followers are told before other work, such as bids, has its turn."""
_log = structlog.get_logger(__name__)


class State(Struct, eq=False):
    """A state of a block. `made` keeps what was made of it for many readers, by kind, language and the like."""

    hall: Hall
    made: dict[Hashable, bytes]


class BlockFollower(Protocol):
    """A follower of a block."""

    def push(self, state: State) -> None:
        """Take the state of the block, after each change and in order. It must be quick."""

    def end(self) -> None:
        """Follow no more: the block cannot be read."""


class _Watch:
    def __init__(self) -> None:
        self.followers: set[BlockFollower] = set()
        self.state: State | None = None
        self.is_due = True
        self.ready = asyncio.Event()


class Blocks:
    """The followed blocks of one process; `run` it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._watches: dict[str, _Watch] = {}
        self._woken = asyncio.Event()
        self.reads = 0
        """How often a block was read."""

    def join(self, gid: str, follower: BlockFollower) -> None:
        """Tell a follower each state from now on."""
        self._watches.setdefault(gid, _Watch()).followers.add(follower)
        self._woken.set()

    def leave(self, gid: str, follower: BlockFollower) -> None:
        """Tell a follower nothing more."""
        watch = self._watches.get(gid)
        if watch is not None:
            watch.followers.discard(follower)
            if not watch.followers:
                del self._watches[gid]

    async def state(self, gid: str) -> State | None:
        """Return the present state of a block for one of its followers, once it can be read; None if it cannot."""
        watch = self._watches.get(gid)
        if watch is None:
            return None
        await watch.ready.wait()
        return watch.state

    def heard(self, changed: Iterable[Auction]) -> None:
        """Look at the blocks of the sales of these auctions; called after the commit."""
        numbers = {one.sale_id for one in changed} - {None}
        for watch in self._watches.values():
            if watch.state is not None and watch.state.hall.sale_id in numbers:
                watch.is_due = True
                self._woken.set()

    def wake(self) -> None:
        """Look at all blocks: a sale may have changed, here or in another process."""
        for watch in self._watches.values():
            watch.is_due = True
        self._woken.set()

    async def run(self) -> None:
        """Tell all followers what changes."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS if self._watches else None):
                    await self._woken.wait()
            if not self._woken.is_set():
                self.wake()
            self._woken.clear()
            began = time.monotonic()
            for gid, watch in list(self._watches.items()):
                if watch.is_due:
                    await self._look(gid, watch)
            # As long a pause as that took: bids get half of the time, however many follow.
            await asyncio.sleep(max(PAUSE_SECONDS, time.monotonic() - began))

    async def _look(self, gid: str, watch: _Watch) -> None:
        watch.is_due = False
        self.reads += 1
        try:
            found = await self._database.read(hall.shown, gid)
        except DatabaseUnavailable:
            watch.is_due = True
            self._woken.set()
            await asyncio.sleep(RETRY_SECONDS)
            return
        except Refusal:
            self._end(gid, watch)
            return
        except Exception:  # noqa: BLE001  # the pages must not stay as they are; their browsers come back
            _log.exception("a block cannot be read; its streams end")
            self._end(gid, watch)
            return
        if watch.state is None or watch.state.hall != found:
            watch.state = State(found, {})
            watch.ready.set()
            await _tell(watch, watch.state)

    def _end(self, gid: str, watch: _Watch) -> None:
        self._watches.pop(gid, None)
        watch.ready.set()
        for follower in watch.followers:
            follower.end()


async def _tell(watch: _Watch, state: State) -> None:
    for number, follower in enumerate(list(watch.followers), 1):
        follower.push(state)
        if number % TURN_FOLLOWERS == 0:
            await asyncio.sleep(0)
