"""The order in which transactions use the database: the sale first, then logins, then everything else; few costly reads.

Both databases have few places: SQLite one writer and some reading threads, PostgreSQL the connections of the pool.
`Turns` assigns them. Each rank has its own queue, and a share of the places that no lower rank can take.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from enum import IntEnum
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from saleroom.kernel.errors import Busy
from saleroom.storage.faults import HangUp

R = TypeVar("R")

READ_SECONDS_MAX = 5.0
"""How long a read for a client may take; then it is stopped."""
WAIT_SECONDS_MAX = 15.0
"""How long a client may wait for a turn; after that most clients have given up."""
PASSED_MAX = 3
"""How many turns in a row higher ranks take while a lower one waits; the next turn is the lower one's."""
LOOK_SECONDS = 0.1
_TOO_MANY = "Too many requests at once; nothing was changed; try again in a moment."
_TOO_LONG = "This took too long and was stopped; ask for less, or try again later."


class Rank(IntEnum):
    """The purpose of a transaction; lower values are served first.

    HOUSE: the sale itself: the desk, the closer, the feed and the relay. Each of them asks for one turn at a time.
    LOGIN: logins, registrations, sessions. ORDINARY: everything else that clients ask for.
    COSTLY: reads of a great part of the house, such as a search.
    """

    HOUSE = 0
    LOGIN = 1
    ORDINARY = 2
    COSTLY = 3


WAITING_MAX = {Rank.LOGIN: 256, Rank.ORDINARY: 1024, Rank.COSTLY: 32}
"""How many may wait in each queue; beyond that the answer is `busy` at once. The house's own work is never refused."""


class Asker(Protocol):
    """The client for which a transaction runs."""

    @property
    def gone(self) -> bool:
        """Whether the client has hung up."""

    async def key(self) -> str:
        """Return the key that shares are counted by, such as a user or an address."""


ASKER: ContextVar[Asker | None] = ContextVar("asker", default=None)
"""The client for which the present task works; None is the house itself."""


def begin_for_all(work: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
    """Return a task that works for the house, not for the client of the request in which it began."""
    context = copy_context()
    context.run(ASKER.set, None)
    return asyncio.create_task(work, context=context)


class Place(Struct, frozen=True):
    """A place in use; give it back to `leave`."""

    rank: Rank
    key: str


class _Waiter(Struct, frozen=True):
    future: asyncio.Future[None]
    asker: Asker | None
    until: float

    def stays(self) -> bool:
        """Whether the client still waits. One that has left or waited too long gets its exception."""
        if self.future.done():
            return False
        if self.asker is not None and self.asker.gone:
            self.future.set_exception(HangUp())
        elif time.monotonic() > self.until:
            self.future.set_exception(Busy(_TOO_MANY))
        return not self.future.done()


class Occupancy(Struct, frozen=True):
    """How full places are: their number, how many are taken, and how many transactions wait for one, by rank."""

    places: int
    taken: int
    waiting: dict[Rank, int]

    def plus(self, other: Occupancy) -> Occupancy:
        """Return how full these places and others are together."""
        waiting = {rank: number + other.waiting[rank] for rank, number in self.waiting.items()}
        return Occupancy(self.places + other.places, self.taken + other.taken, waiting)


class _Line:
    """The queue of one rank. Keys take turns, so that a storm from one key holds up no other."""

    def __init__(self, waiting_max: float) -> None:
        self._waiting_max = waiting_max
        self._by_key: dict[str, deque[_Waiter]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def join(self, key: str, waiting: _Waiter) -> None:
        """Wait at the end. Raises Busy if the queue is full and this key has its share of it."""
        if self._count >= self._waiting_max:
            self._forget_who_left()
        own = self._by_key.get(key, ())
        if self._count >= self._waiting_max and len(own) >= self._waiting_max // (len(self._by_key) + (not own)):
            raise Busy(_TOO_MANY)
        self._by_key.setdefault(key, deque()).append(waiting)
        self._count += 1

    def take(self, may: Callable[[str], bool]) -> tuple[str, _Waiter] | None:
        """Return the next one whose key `may` have a turn, with its key; None if nobody waits."""
        for key in [key for key in self._by_key if may(key)]:
            line = self._by_key.pop(key)
            while line:
                waiting = line.popleft()
                self._count -= 1
                if waiting.stays():
                    if line:
                        self._by_key[key] = line  # at the end: the other keys come first
                    return key, waiting
        return None

    def _forget_who_left(self) -> None:
        left = {key: deque(one for one in line if one.stays()) for key, line in self._by_key.items()}
        self._by_key = {key: line for key, line in left.items() if line}
        self._count = sum(map(len, self._by_key.values()))


class Turns:
    """The places of a database, or of its one writer.

    Of ten places COSTLY has at most two, COSTLY and ORDINARY together at most six, with LOGIN at most eight. A third of
    the places of a rank is open to any key; beyond that no key has more than a third.
    """

    def __init__(self, places: int) -> None:
        self._most = {
            Rank.HOUSE: places,
            Rank.LOGIN: max(1, places * 4 // 5),
            Rank.ORDINARY: max(1, places * 3 // 5),
            Rank.COSTLY: max(1, places // 5),
        }
        self._share = {rank: 1 if most == 1 else most // 3 for rank, most in self._most.items()}
        self._share[Rank.HOUSE] = places
        self._taken = dict.fromkeys(Rank, 0)
        """By each rank and those below it."""
        self._by_key: Counter[Place] = Counter()
        self._lines = {rank: _Line(WAITING_MAX.get(rank, float("inf"))) for rank in Rank}
        self._passed = dict.fromkeys(Rank, 0)
        """How many turns in a row other ranks have had while this rank waited."""
        self._looks = False

    def occupancy(self) -> Occupancy:
        """Return how full the places are."""
        waiting = {rank: len(line) for rank, line in self._lines.items()}
        return Occupancy(self._most[Rank.HOUSE], self._taken[Rank.HOUSE], waiting)

    async def take(self, rank: Rank, asker: Asker | None) -> Place:
        """Return a place once it is free; give it back to `leave`. Raises Busy or HangUp."""
        if self._is_next(rank) and self._by_key[Place(rank, "")] < self._share[rank]:
            return self._begin(rank, "")  # the key is not needed
        key = "" if asker is None or rank is Rank.HOUSE else await asker.key()
        if self._is_next(rank) and self._has_share(rank, key):
            return self._begin(rank, key)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        until = float("inf") if rank is Rank.HOUSE else time.monotonic() + WAIT_SECONDS_MAX
        self._lines[rank].join(key, _Waiter(future, asker, until))
        self._look_soon()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.leave(Place(rank, key))
            raise
        return Place(rank, key)

    def leave(self, place: Place) -> None:
        """Give the place to the next one, after all tasks that are ready now have run.

        So the desk, which asks for its next turn at once, is in the queue when that is decided.
        """
        for rank in range(place.rank + 1):
            self._taken[Rank(rank)] -= 1
        self._by_key[place] -= 1
        if not self._by_key[place]:
            del self._by_key[place]
        if any(self._lines.values()):
            self._look_soon()

    def _look_soon(self) -> None:
        if not self._looks:
            self._looks = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        """Assign the free places."""
        self._looks = False
        while self._give():
            pass

    def _give(self) -> bool:
        for rank in (*self._overdue(), *Rank):
            if self._lines[rank] and self._has_room(rank):
                found = self._lines[rank].take(lambda key, rank=rank: self._has_share(rank, key))  # type: ignore[misc]  # bound at once
                if found is not None:
                    key, waiting = found
                    self._begin(rank, key)
                    waiting.future.set_result(None)
                    return True
        return False

    def _is_next(self, rank: Rank) -> bool:
        """Whether a new transaction of this rank need not wait."""
        if not self._has_room(rank):
            return False
        if not any(self._lines.values()):
            return True
        return not self._overdue() and not any(self._lines[Rank(r)] for r in range(rank + 1))

    def _overdue(self) -> list[Rank]:
        """The ranks that were passed over too often, the highest first."""
        return [
            rank for rank in Rank if self._passed[rank] >= PASSED_MAX and self._lines[rank] and self._has_room(rank)
        ]

    def _has_room(self, rank: Rank) -> bool:
        return all(self._taken[Rank(r)] < self._most[Rank(r)] for r in range(rank + 1))

    def _has_share(self, rank: Rank, key: str) -> bool:
        return not key or self._by_key[Place(rank, key)] < max(1, self._share[rank])

    def _begin(self, rank: Rank, key: str) -> Place:
        place = Place(rank, key)
        for r in Rank:
            if r <= rank:
                self._taken[r] += 1
            elif self._lines[r]:
                self._passed[r] += 1
        self._passed[rank] = 0
        self._by_key[place] += 1
        return place


async def within_limits(asker: Asker, seconds_max: float, work: Coroutine[Any, Any, R]) -> R:
    """Return the result of `work`; stop it if it takes too long (Busy) or the client has gone (HangUp).

    Short work costs one timer.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds_max
    limit = asyncio.timeout(None)

    def look() -> None:
        if asker.gone or loop.time() > until:
            limit.reschedule(loop.time())
        else:
            timers[0] = loop.call_later(LOOK_SECONDS, look)

    timers = [loop.call_later(LOOK_SECONDS, look)]
    try:
        async with limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
        raise (HangUp() if asker.gone else Busy(_TOO_LONG)) from None
    finally:
        timers[0].cancel()
