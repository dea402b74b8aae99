"""Processor time of two revisions by turns, storm by storm: a difference of one or two per cent shows beside other work.

All sides have a house and a database of their own at the same time. In each turn every house bears a storm, in random order,
and is judged beside the others of this turn: what slows the machine down for a second slows all of them.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack

import uvloop
from msgspec import Struct

from bench import BenchError, data, violations
from bench.bidding import last_bid, recorded
from bench.results import Reading
from bench.servers import House
from bench.stage import Stage
from bench.storms import CONNECTIONS, Storms

TURNS = 60
"""The turns of a round."""
WARM_UPS = 5
"""How many storms each house bears before, uncounted."""
_CPU_OF_PROCESS = 2


class Side(Struct, frozen=True):
    """The command of a house, and the template of its database."""

    saleroom: tuple[str, ...]
    template: str


def take(stage: Stage, kind: str, sides: Mapping[str, Side], *, auctions: int, path: str) -> dict[str, list[Reading]]:
    """Return the microseconds of each side's house for an accepted bid, or for an answer at `path` if there is one.

    PostgreSQL's own time is not in it. Raises BenchError if a house answers otherwise.
    """
    first = stage.first_amount()
    with ExitStack() as stack:
        urls = {name: stack.enter_context(stage.database(kind, side.template)) for name, side in sides.items()}
        before = {name: data.on(url, last_bid) for name, url in urls.items()}
        storms: dict[str, Storms] = {}
        with ExitStack() as houses:
            pids = {}
            for name, side in sides.items():
                folder = stage.folder / name
                folder.mkdir(exist_ok=True)
                house = houses.enter_context(House(folder, urls[name], saleroom=side.saleroom))
                storms[name], pids[name] = Storms(stage, house, auctions, first, path=path), house.pid
            found = uvloop.run(_by_turns(storms, pids, path=path, auctions=auctions))
        for name, url in urls.items():
            accepted = data.on(url, lambda connection, name=name: recorded(connection, before[name]))  # type: ignore[misc]  # it cannot see the default
            faults = data.on(url, violations.find)
            faults |= violations.between_client_and_database(storms[name].answers[201], accepted, 0)
            found[name][-1].violations = faults
    return found


def told(readings: Sequence[Reading]) -> str:
    """Return the median of many readings as text."""
    return f"{statistics.median(one.value for one in readings):.1f} µs, the median of {len(readings)} storms"


async def _by_turns(
    storms: Mapping[str, Storms], pids: Mapping[str, int], *, path: str, auctions: int
) -> dict[str, list[Reading]]:
    found: dict[str, list[Reading]] = {name: [] for name in storms}
    async with AsyncExitStack() as stack:
        for one in storms.values():
            await stack.enter_async_context(one)
            # A lot that is read for the first time is not in memory, which would show in the first turns only.
            for _ in range(max(WARM_UPS, auctions // CONNECTIONS + 1 if path else 0)):
                await one.storm()
        for _ in range(TURNS):
            for name in random.sample(list(storms), len(storms)):
                begun = cpu_seconds(pids[name])
                answers = await storms[name].storm()
                spent = cpu_seconds(pids[name]) - begun
                count = answers[200 if path else 201]
                if not count:
                    raise BenchError("no bid was accepted")
                found[name].append(Reading(value=1e6 * spent / count))
    return found


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process with all its threads, as exact as the kernel knows it (clock_getcpuclockid)."""
    return time.clock_gettime(~pid << 3 | _CPU_OF_PROCESS)
