"""Readers of the events, as over server-sent events: cut off by themselves or by a death, they ask for the later events."""

from __future__ import annotations

import asyncio
from typing import Any

from saleroom.kernel.identifiers import BEGINNING, EventId
from saleroom.log.store import LoggedEvent
from tests.simulation.sale_model import SALE
from tests.simulation.world import Process, World


class SimulatedReader:
    """Follows one lot, or with `lot` None the whole log; there is one for each. The sale is followed as lot 0."""

    def __init__(self, world: World, lot: int | None) -> None:
        self._world = world
        self._lot = lot
        self._last = BEGINNING
        self._count = 0
        self._chance = world.chance(f"reader {lot}")

    async def run(self) -> None:
        """Read until the simulated world ends."""
        while not self._world.over:
            serving = self._world.serving()
            gid = self._gid()
            if serving and (self._lot is None or gid is not None):
                await self._read(self._chance.choice(serving), gid)
            await asyncio.sleep(0.25)

    def _gid(self) -> str | None:
        """Return what it follows; None for everything, or if it is not there yet."""
        return SALE if self._lot == 0 else None if self._lot is None else self._world.gids.get(self._lot)

    async def _read(self, process: Process, gid: str | None) -> None:
        after = EventId(gid or "", 0) if self._last is BEGINNING and gid is not None else self._last
        follower = await self._answer(
            process, lambda one: (one.sale_feed if gid == SALE else one.feed).follow(gid, after)
        )
        if follower is None:
            return
        while not self._world.over and self._chance.random() > 0.04 / (1 + 9 * self._world.calm):
            got = await self._answer(process, lambda _: follower.next())
            if got is None:
                break
            for event in got:
                self._take(event)
            if follower.ended and not got:
                await asyncio.sleep(3.0)
                break

        async def close(_: Process) -> None:
            follower.close()

        await self._answer(process, close)

    async def _answer(self, process: Process, ask: Any) -> Any:
        """Return the answer of the process; None if it dies, or does not know."""
        future = process.serve(ask)
        while not process.strand.dead:
            await asyncio.wait({future}, timeout=1.0)
            if future.done():
                answer = future.result()
                return None if isinstance(answer, Exception) else answer
        return None

    def _take(self, event: LoggedEvent) -> None:
        judge = self._world.judge
        if judge.payloads.get((event.gid, event.version)) != event.payload:
            judge.fail("nothing is published that is not committed", f"a reader has {event}")
        if self._lot is not None and event.version != self._count + 1:
            judge.fail("a feed has no gap and no repeat", f"lot {self._lot}: {event.version} after {self._count}")
        if self._lot is None and judge.order[self._count : self._count + 1] != [(event.gid, event.version)]:
            judge.fail("a feed has no gap and no repeat", f"all: {event.gid}/{event.version} at place {self._count}")
        self._count += 1
        self._last = EventId(event.gid, event.version)

    def lacks(self) -> int:
        """Return how many events of the log this reader lacks."""
        if self._lot is None:
            return len(self._world.judge.order) - self._count
        gid = self._gid()
        return 0 if gid is None else self._world.judge.last_versions()[gid] - self._count
