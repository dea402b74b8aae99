"""A model of a large house: what one thing costs comes from a file of the bench, and simpy lets the things wait for each other.

Time is in seconds. A core does one thing at a time, in slices, so that short work is not stuck behind long work. The house of
the model decides like the real one: a process has one thread, its desk decides one batch at a time, and the bids that come
meanwhile are the next batch.
"""

from __future__ import annotations

import random
import statistics
from collections import deque
from collections.abc import Generator, Sequence
from functools import cache
from typing import Any

import simpy
from msgspec import Struct

from bench import BenchError
from bench.results import Results
from saleroom.bidding.service.closing import BATCH as LOTS_MAX
from saleroom.bidding.service.desk import AT_DOOR_MAX, BATCH_MAX, FAIL_SECONDS_MAX, WAITING_MAX
from saleroom.feed.streams import spread_of

SLICE = 0.001
PLACES = WAITING_MAX + AT_DOOR_MAX
"""Bids that can wait in a process: those in the line of the desk, and those before its door."""
FEW, MANY = "pg-hot-connections-1", "pg-hot-connections-512"
"""The two measurements that tell what a transaction costs beside its bids."""
Steps = Generator[simpy.Event, Any, None]


class Work(Struct, frozen=True):
    """Seconds of a core that something takes in the house and in PostgreSQL."""

    house: float
    database: float


class Costs(Struct, frozen=True):
    """What one thing costs, from one file of the bench."""

    request: float
    """Of a bid, the part of the house's time that is HTTP."""
    hot: Work
    """A bid among many on one lot, with its request."""
    spread: Work
    """A bid among many on as many lots, with its request."""
    transaction: Work
    """A transaction, beside its bids."""
    commit_wait: float
    """How long a commit waits for the disk."""
    close: Work
    """One of many lots that close at once."""
    wal_hot: float
    wal_spread: float
    wal_close: float
    """Bytes of PostgreSQL's log for each."""
    delivery: float
    """House: one event to one follower."""
    connect: float
    """House: a follower that comes."""
    follower_bytes: float
    lot_page: Work
    home_page: Work
    relayed_per_s: float
    """Events that one relay sends, with the state of each lot."""


def costs(results: Results) -> Costs:
    """Return the costs that a file of the bench tells. Raises BenchError with the row to measure if one is missing."""

    def told(name: str) -> float:
        values = results.figure(name)
        if not values:
            raise BenchError(f"the file has no {name}: see docs/scale.md for the rows to measure")
        return statistics.median(values)

    def work(name: str) -> Work:
        return Work(told(f"{name}.server_cpu_us") / 1e6, told(f"{name}.database_cpu_us") / 1e6)

    alone, many = work(FEW), work(MANY)
    return Costs(
        request=min(told("pg-show-hot.server_cpu_us") / 1e6, 0.6 * many.house),
        hot=many,
        spread=work("pg-spread"),
        transaction=Work(max(0.0, alone.house - many.house), max(0.0, alone.database - many.database)),
        commit_wait=max(0.0, 1 / max(results.figure(FEW)) - alone.house - alone.database),
        close=work("pg-closing"),
        wal_hot=told("pg-hot.wal_bytes"),
        wal_spread=told("pg-spread.wal_bytes"),
        wal_close=told("pg-closing.wal_bytes"),
        delivery=told("sse.house_cpu_ms") / 1000 / SUBSCRIBERS,
        connect=told("sse.house_connect_us") / 1e6,
        follower_bytes=told("sse.house_kib") * 1024,
        lot_page=work("pg-lot-page"),
        home_page=work("pg-home-page"),
        relayed_per_s=told("mqtt-house-spread"),
    )


SUBSCRIBERS = 5_000
"""Of the measurement `sse`."""


class Machine:
    """Cores that houses and PostgreSQL share, or not: `database` may be another machine."""

    def __init__(self, env: simpy.Environment, cores: int, database: simpy.Resource | None = None) -> None:
        self.env = env
        self.cores = simpy.Resource(env, cores)
        self.database = database or self.cores
        self.gate: simpy.Event | None = None
        """While PostgreSQL stands still: what tells that it goes on."""

    def work(self, seconds: float, on: simpy.Resource, loop: simpy.Resource | None = None) -> Steps:
        """Take so much time of one core, in slices; of a house's thread too."""
        while seconds > 0:
            part = min(SLICE, seconds)
            if loop is None:
                with on.request() as core:
                    yield core
                    yield self.env.timeout(part)
            else:
                with loop.request() as thread, on.request() as core:
                    yield thread & core
                    yield self.env.timeout(part)
            seconds -= part


class House:
    """One process of a house: its thread, and its desk."""

    def __init__(self, machine: Machine, costs: Costs, bid: Work, lot: simpy.Resource | None = None) -> None:
        """With `lot` all bids are on one lot, whose row the transactions of all processes lock in turn."""
        self.machine, self.costs, self.bid = machine, costs, bid
        self.env = machine.env
        self.loop = simpy.Resource(self.env, 1)
        self.lot = lot or simpy.Resource(self.env, 1)
        self.waiting: deque[simpy.Event] = deque()
        self.refused = 0
        self.longest = 0
        self.waited: list[tuple[float, float]] = []
        """When each bid was answered, and how long after it was sent."""
        self._idle: simpy.Event | None = None
        self.env.process(self._decide())

    def place(self) -> Steps:
        """Send a bid, and again after a refusal for want of a place or of the database, until it is decided."""
        sent = self.env.now
        while True:
            yield from self.machine.work(self.costs.request, self.machine.cores, self.loop)
            if len(self.waiting) < PLACES:
                decided = self.env.event()
                self.waiting.append(decided)
                self.longest = max(self.longest, len(self.waiting))
                if self._idle is not None and not self._idle.triggered:
                    self._idle.succeed()
                if (yield decided):
                    self.waited.append((self.env.now, self.env.now - sent))
                    return
            self.refused += 1
            yield self.env.timeout(_CHANCE.uniform(1.0, 4.0))

    def _decide(self) -> Steps:
        while True:
            if not self.waiting:
                self._idle = self.env.event()
                yield self._idle
            batch = [self.waiting.popleft() for _ in range(min(BATCH_MAX, len(self.waiting)))]
            with self.lot.request() as locked:
                yield locked
                house = self.costs.transaction.house + len(batch) * max(0.0, self.bid.house - self.costs.request)
                yield from self.machine.work(house, self.machine.cores, self.loop)
                if self.machine.gate is not None and not (yield from self._outlasts(self.machine.gate, batch)):
                    continue
                database = self.costs.transaction.database + len(batch) * self.bid.database
                yield from self.machine.work(database, self.machine.database)
                yield self.env.timeout(self.costs.commit_wait)
            for decided in batch:
                decided.succeed(value=True)

    def _outlasts(self, gate: simpy.Event, batch: Sequence[simpy.Event]) -> Generator[simpy.Event, Any, bool]:
        """Wait for the database. If it stands still for too long, refuse this batch and all that wait."""
        yield gate | self.env.timeout(FAIL_SECONDS_MAX)
        if gate.triggered:
            return True
        for decided in (*batch, *self.waiting):
            decided.succeed(value=False)
        self.waiting.clear()
        return False


_CHANCE = random.Random(19)


@cache
def closed_loop(
    costs: Costs, bid: Work, *, connections: int, processes: int = 1, cores: int = 2, seconds: float = 0.6
) -> tuple[float, float, float]:
    """Return bids per second and their p50 and p99 (seconds) if each connection bids again as soon as it is answered."""
    env = simpy.Environment()
    machine = Machine(env, cores)
    lot = simpy.Resource(env, 1) if bid is costs.hot else None
    houses = [House(machine, costs, bid, lot) for _ in range(processes)]

    def bidder(house: House) -> Steps:
        while True:
            yield from house.place()

    for number in range(connections):
        env.process(bidder(houses[number % processes]))
    warm = 0.3
    env.run(warm + seconds)
    waited = sorted(wait for house in houses for at, wait in house.waited if at > warm)
    return len(waited) / seconds, waited[len(waited) // 2], waited[len(waited) * 99 // 100]


@cache
def open_loop(costs: Costs, bid: Work, *, rate: float, seconds: float = 1.5) -> tuple[float, float]:
    """Return p50 and p99 (seconds) of bids that come at `rate` to one process, on a core of its own beside PostgreSQL's."""
    env = simpy.Environment()
    house = House(Machine(env, 2), costs, bid)
    env.process(_arrivals(env, house, rate, seconds))
    env.run(seconds)
    waited = sorted(wait for _, wait in house.waited)
    return waited[len(waited) // 2], waited[len(waited) * 99 // 100]


def _arrivals(env: simpy.Environment, house: House, rate: float, until: float) -> Steps:
    chance = random.Random(7)
    while env.now < until:
        env.process(house.place())
        yield env.timeout(chance.expovariate(rate))


class Backlog(Struct, frozen=True):
    """A pause of the database, as one process of the house sees it."""

    longest: int
    refused: int
    drained: float
    """Seconds from the end of the pause until no bid waits that was sent before."""
    course: tuple[tuple[float, int], ...]
    """How many waited, at seconds after the begin of the pause."""


@cache
def failover(costs: Costs, bid: Work, *, rate: float, pause: float) -> Backlog:
    """Return what a pause of the database does to a process to which bids come at `rate`."""
    env = simpy.Environment()
    machine = Machine(env, 2)
    house = House(machine, costs, bid)
    lead, rest = 0.5, 12.0
    course: list[tuple[float, int]] = []

    def database() -> Steps:
        yield env.timeout(lead)
        machine.gate = env.event()
        yield env.timeout(pause)
        machine.gate.succeed()
        machine.gate = None

    def watch() -> Steps:
        while True:
            course.append((env.now - lead, len(house.waiting)))
            yield env.timeout(0.1)

    env.process(database())
    env.process(watch())
    env.process(_arrivals(env, house, rate, lead + pause + 0.5))
    env.run(lead + pause + rest)
    late = [at for at, wait in house.waited if at - wait < lead + pause]
    return Backlog(house.longest, house.refused, max(late) - lead - pause, tuple(course))


class Wave(Struct, frozen=True):
    """Followers that come back to one process of an edge."""

    spread: float
    peak_per_s: float
    busy_share: float
    longest_wait: float
    course: tuple[tuple[float, int], ...]
    """How many wait for their answer, at seconds."""


def reconnects(costs: Costs, *, followers: int, spread: float | None = None) -> Wave:
    """Return what it takes that so many followers of a process come back within `spread`; by default that of the house.

    They come a hundred at a time, which is fine enough for waits of seconds.
    """
    spread = spread_of(followers) if spread is None else spread
    group = 100
    env = simpy.Environment()
    loop = simpy.Resource(env, 1)
    waits: list[float] = []
    waiting = 0
    course: list[tuple[float, int]] = []

    def come(at: float) -> Steps:
        nonlocal waiting
        yield env.timeout(at)
        waiting += group
        with loop.request() as thread:
            yield thread
            yield env.timeout(group * costs.connect)
        waiting -= group
        waits.append(env.now - at)

    def watch() -> Steps:
        while True:
            course.append((env.now, waiting))
            yield env.timeout(max(0.1, spread / 100))

    chance = random.Random(3)
    for _ in range(followers // group):
        env.process(come(chance.uniform(0.0, spread)))
    env.process(watch())
    env.run(max(spread, followers * costs.connect) + 1.0)
    return Wave(spread, followers / spread, min(1.0, followers * costs.connect / spread), max(waits), tuple(course))


@cache
def closing(costs: Costs, *, lots: int, rate: float) -> tuple[float, float]:
    """Return the seconds until `lots` that end at once are closed, and p99 of bids that come at `rate` meanwhile."""
    env = simpy.Environment()
    house = House(Machine(env, 2), costs, costs.spread)

    def closer() -> Steps:
        for first in range(0, lots, LOTS_MAX):
            some = min(LOTS_MAX, lots - first)
            yield from house.machine.work(some * costs.close.house, house.machine.cores, house.loop)
            yield from house.machine.work(some * costs.close.database, house.machine.database)
            yield env.timeout(costs.commit_wait)

    closes = env.process(closer())
    if rate:
        env.process(_arrivals(env, house, rate, float("inf")))
    env.run(closes)
    waited = sorted(wait for _, wait in house.waited)
    return env.now, waited[len(waited) * 99 // 100] if waited else 0.0
