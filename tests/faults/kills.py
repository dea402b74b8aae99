"""What the trials share in which people work on while the house is killed: of a live sale, and of the money."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import cycle

import aiohttp

from tests.faults.bidding import ANSWER_SECONDS_MAX
from tests.faults.house import SupervisedHouse
from tests.faults.trial import ON_ALL
from tests.patience import SECONDS_MAX


@dataclass(frozen=True)
class KillTrial:
    """How often the house is killed, and on which databases."""

    name: str
    kills: int
    on: tuple[str, ...] = ON_ALL
    on_disk: bool = False


@dataclass(kw_only=True)
class People(ABC):
    """People who do not give up: each request is repeated under its key until it is answered."""

    url: str
    faults: list[str] = field(default_factory=list)
    """The breaches that they saw."""
    repeats: int = 0
    """How often a request was sent again because its answer never came, or was 503."""
    calm: asyncio.Event = field(default_factory=asyncio.Event)
    _http: aiohttp.ClientSession = field(init=False, repr=False)

    async def begin(self, stack: AsyncExitStack) -> None:
        """Open the connections; they close with `stack`."""
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX)
        self._http = aiohttp.ClientSession(self.url, headers={"X-Requested-With": "test"}, timeout=timeout)
        stack.push_async_callback(self._http.close)

    @abstractmethod
    async def run(self) -> None:
        """Work until it is calm."""

    @abstractmethod
    def answered(self) -> int:
        """Return how many acts have been answered."""

    async def more(self, acts: int) -> None:
        """Wait until so many more acts are answered."""
        enough = self.answered() + acts
        async with asyncio.timeout(SECONDS_MAX):
            while self.answered() < enough:
                await asyncio.sleep(0.01)


async def work_through_kills(
    people: People,
    house: SupervisedHouse,
    kills: int,
    points: Sequence[str],
    acts_between: int,
    look: Callable[[], Awaitable[list[str]]],
) -> None:
    """Let people work while the house dies at these points and at any other place in turn; `look` for faults each time."""

    async def kill() -> None:
        places = cycle((*points, None))
        for _ in range(kills):
            await people.more(acts_between)
            point = next(places)
            await (house.killed() if point is None else house.dies_at(point))
            people.faults += await look()
        await people.more(acts_between)
        people.calm.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(people.run())
        group.create_task(kill())
