"""The world of one seed: processes of a house on one database, a broker, a clock, and faults."""

from __future__ import annotations

import asyncio
import random
import traceback
from collections.abc import Awaitable, Callable
from contextvars import Context, ContextVar, copy_context
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from saleroom.accounts.service.throttle import RateLimit
from saleroom.bidding.api.devices import PUBLICATIONS, RATE_BURST, RATE_PER_SECOND, CommandHandler
from saleroom.bidding.area import tasks
from saleroom.bidding.service import reading
from saleroom.bidding.service.admission import GATE
from saleroom.bidding.service.closing import EARLIEST_ENDS, Closer
from saleroom.bidding.service.desk import Desk
from saleroom.bidding.storage.auctions import CHANGED
from saleroom.bidding.storage.event_log import LOG
from saleroom.feed.feed import Feed
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import MqttSettings
from saleroom.runtime.presence import Presence
from saleroom.sales.api import publications as of_sales
from saleroom.sales.area import tasks as sale_tasks
from saleroom.sales.service.clocks import Clocks, earliest_ends
from saleroom.sales.service.keeping import Keeper
from saleroom.sales.service.people.admission import gate
from saleroom.sales.storage.sales import LOG as SALE_LOG
from saleroom.storage.batching import SharedRead
from saleroom.storage.faults import DatabaseUnavailable
from tests.bidding.domain.playing import T0
from tests.simulation.broker import PREFIX, Broker
from tests.simulation.evenings import kind_of
from tests.simulation.judge import Breach, Judge
from tests.simulation.loop import STRAND, Strand, VirtualLoop
from tests.simulation.plan_entries import Plan, PlannedTrouble
from tests.simulation.storage import File, SimDatabase
from tests.simulation.troubles import Trouble
from tests.simulation.turns import Turns

WORLD: ContextVar[World] = ContextVar("world")
PROCESS: ContextVar[Process] = ContextVar("process")
RESTARTS = 0.7
"""Seconds until a process that has crashed is started again."""
_ARMED = frozenset(
    {
        Trouble.CRASH_BEFORE_COMMIT,
        Trouble.CRASH_AFTER_COMMIT,
        Trouble.CRASH_BEFORE_MARK,
        Trouble.CRASH_AFTER_MARK,
        Trouble.COMMIT_LOST,
        Trouble.COMMIT_UNKNOWN,
    }
)


class World:
    """See the module. `failed` is done with the first breach; `lines` has a trace of the run if it is wanted."""

    def __init__(self, plan: Plan, file: File, loop: VirtualLoop, *, traces: bool = False) -> None:
        self.plan = plan
        self.file = file
        self.loop = loop
        self.failed: asyncio.Future[None] = loop.create_future()
        self.lines: list[str] = []
        self.over = False
        self.calm = False
        """Whether no more faults come."""
        self.database_away = False
        self.slow_commits = False
        self.turns = Turns()
        self._traces = traces
        self._offset = timedelta()
        self.judge = Judge(file.begun, file.last_row, self.fail, file.last_of_sale)
        self.judge.trace = self.trace
        self.broker = Broker(self)
        self.processes: dict[int, Process] = {}
        self.processes_ever: list[Process] = []
        self.users: list[int] = []
        """Users' numbers in the database, in the order of `PEOPLE`."""
        self.tokens: list[str] = []
        """The token that each of them has."""
        self.gids: dict[int, str] = {}
        """By lot."""
        self.sells = kind_of(plan.seed) in ("live", "timed")
        """Whether all lots are those of a published sale."""
        self._away: dict[str, int] = {}

    def clock(self) -> datetime:
        """Return the time of the database's clock, which is the house's."""
        return T0 + timedelta(seconds=self.loop.time()) + self._offset

    def chance(self, name: str) -> random.Random:
        """Return the random numbers of `name` alone: leaving out another's entry changes nothing for it."""
        return random.Random(f"{self.plan.seed} {name}")

    def trace(self, line: str) -> None:
        """Note what happened."""
        if self._traces:
            process = PROCESS.get(None)
            self.lines.append(f"{self.loop.time():9.4f} {'' if process is None else process.name:4} {line}")

    def fail(self, breach: Exception) -> None:
        """Stop with the first breach."""
        if not self.failed.done():
            self.trace(f"BREACH {breach}")
            self.failed.set_exception(breach)

    def current(self) -> Process:
        """Return the process of the current context."""
        return PROCESS.get()

    def later(self, at: float, act: Callable[[], object]) -> None:
        """Schedule a call at an instant, outside all processes."""
        self.loop.call_at(at, act, context=self.context())

    def context(self) -> Context:
        """Return a context outside all processes."""
        context = Context()
        context.run(WORLD.set, self)
        return context

    def start(self, number: int) -> None:
        """Start process `number` of the house, or restart it if it has died."""
        if not self.over:
            process = self.processes[number] = Process(self, number, len(self.processes_ever) + 1)
            self.processes_ever.append(process)
            process.start()

    def serving(self, number: int | None = None) -> list[Process]:
        """Return the processes that accept requests, or that one if it does."""
        return [one for one in self.processes.values() if one.up and number in (None, one.number)]

    def strike(self, fault: PlannedTrouble) -> None:
        """Let a fault happen."""
        self.trace(f"{fault}")
        process = self.processes[fault.process]
        what, until = fault.what, self.loop.time() + fault.seconds
        if what in _ARMED:
            # A process dies once; a connection that breaks once may well break again.
            times = 1 if what not in (Trouble.COMMIT_LOST, Trouble.COMMIT_UNKNOWN) else 1 + int(fault.seconds) // 3
            process.armed[what] = process.armed.get(what, 0) + times
        elif what is Trouble.KILLED:
            process.die(fault.seconds)
        elif what is Trouble.STOPPED:
            process.stop(fault.seconds)
        elif what is Trouble.OUTAGE:
            for one in self.processes.values():
                one.die(fault.seconds)
        elif what is Trouble.SLOW:
            process.strand.pause(fault.seconds)
        elif what is Trouble.CLOSER_LATE:
            for one in self.processes.values():
                one.closer.pause(fault.seconds)
        elif what is Trouble.CLOCK_BACK:
            self._offset -= timedelta(seconds=fault.seconds)
        elif what is Trouble.ACK_LOST:
            self.broker.acks_to_lose += 1
        elif what is Trouble.RESET:
            self.broker.cut()
        else:
            self._lasting(what, until)

    def _lasting(self, what: Trouble, until: float) -> None:
        """Begin a fault that ends by itself at `until`, unless the same one began again meanwhile."""
        changes: dict[Trouble, tuple[Callable[[], object], Callable[[], object]]] = {
            Trouble.DATABASE_AWAY: (
                lambda: self._set("database_away", True),
                lambda: self._set("database_away", False),
            ),
            Trouble.SLOW_COMMITS: (lambda: self._set("slow_commits", True), lambda: self._set("slow_commits", False)),
            Trouble.BROKER_AWAY: (lambda: self.broker.away(forgets=False), lambda: setattr(self.broker, "up", True)),
            Trouble.BROKER_FORGETS: (lambda: self.broker.away(forgets=True), lambda: setattr(self.broker, "up", True)),
            Trouble.SILENCE: (
                lambda: setattr(self.broker, "silent", True),
                lambda: setattr(self.broker, "silent", False),
            ),
        }
        begin, end = changes[what]
        name = "broker" if what in (Trouble.BROKER_AWAY, Trouble.BROKER_FORGETS) else what.value
        self._away[name] = self._away.get(name, 0) + 1

        def over() -> None:
            self._away[name] -= 1
            if not self._away[name]:
                end()

        begin()
        self.later(until, over)

    def _set(self, name: str, value: bool) -> None:
        setattr(self, name, value)


class Process:
    """One process of the house: the parts of `saleroom.compose`, wired as there, until it dies."""

    def __init__(self, world: World, number: int, incarnation: int) -> None:
        self.world = world
        self.number = number
        self.name = f"{number}.{incarnation}"
        self.up = False
        self.armed: dict[Trouble, int] = {}
        self.strand = Strand(world.loop)
        self.closer = Strand(world.loop, self.strand)
        self.context = self._context(self.strand)
        self.database = SimDatabase(self)
        self.desk = Desk(self.database)
        self.showing = SharedRead(self.database, reading.shown)
        self.feed = Feed(self.database, LOG, 100)
        self._closer = Closer(self.database)
        services: Any = SimpleNamespace(desk=self.desk, database=self.database)
        commands = CommandHandler(services, PREFIX)
        commands._rates = RateLimit(RATE_PER_SECOND, RATE_BURST, world.loop.time)
        published = (PUBLICATIONS, of_sales.PUBLICATIONS) if world.sells else (PUBLICATIONS,)
        self.relay = Relay(self.database, published, MqttSettings("broker", 1883), commands)
        self.sale_feed = Feed(self.database, SALE_LOG, 100)
        self.database.provide(GATE, gate)
        self.database.provide(EARLIEST_ENDS, earliest_ends)
        self.relay._lease._holder = self.name
        self._tasks: list[asyncio.Task[Any]] = []

    def _context(self, strand: Strand) -> Context:
        context = self.world.context()
        context.run(STRAND.set, strand)
        context.run(PROCESS.set, self)
        return context

    def start(self) -> None:
        """Begin to serve."""
        self._task(self._serve(), self.context)

    async def _serve(self) -> None:
        """As the lifespan in `saleroom.compose` does, first do the work that fell due while no process served."""
        running = dict(tasks(self.database, self._closer, self.feed, self.relay))
        if self.world.sells:
            running |= sale_tasks(self.database, Keeper(self.database), Clocks(self.database), self.sale_feed)
            self.database.after_commit(SALE_LOG.appended, lambda _: self.relay.wake())
        self.database.after_commit(LOG.appended, lambda _: self.relay.wake())
        self.database.after_commit(CHANGED, lambda _: self._tell_others())
        try:
            await self._closer.settle()
        except DatabaseUnavailable:
            self.die()
            return
        self.up = True
        presence = Presence(self.database, lambda: self.relay.status, "http://house.example")
        for name, run in running.items():
            context = self._context(self.closer) if name == "closer" else copy_context()
            self._task(presence.kept_running(name, self._watched(name, run)), context)

    def _tell_others(self) -> None:
        """As `storage/notices.py` does on PostgreSQL; every third is lost."""
        for other in self.world.serving():
            if other is not self and self.world.judge.commits % 3:
                self.world.loop.call_later(0.005, other.look, context=other.context)

    def look(self) -> None:
        """Hear that another process has committed something."""
        self.feed.wake()
        self.sale_feed.wake()
        self.relay.wake()

    def _watched(self, name: str, run: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def watched() -> None:
            try:
                await run()
            except Exception as error:
                if not self.world.over:
                    self.world.fail(Breach("no internal error", f"{name} failed: {told(error)}"))
                raise

        return watched

    def _task(self, work: Any, context: Context) -> None:
        self._tasks.append(self.world.loop.create_task(work, context=context))

    def serve(self, work: Callable[[Process], Awaitable[Any]]) -> asyncio.Future[Any]:
        """Do something in this process; the future is never done if the process dies before the answer."""
        future: asyncio.Future[Any] = self.world.loop.create_future()

        async def serve() -> None:
            try:
                answer = await work(self)
            except Exception as error:  # noqa: BLE001  # handed to the caller
                answer = error
            if not future.done():
                future.set_result(answer)

        if not self.world.over:
            self._task(serve(), self.context)
        return future

    def takes(self, trouble: Trouble) -> bool:
        """Whether this fault is planned for the process, here and now."""
        left = self.armed.get(trouble, 0)
        if left and not self.world.calm:
            self.armed[trouble] = left - 1
            self.world.trace(trouble.value)
            return True
        return False

    def die(self, seconds: float = RESTARTS) -> None:
        """End at once, as by `kill -9`, and restart in so many seconds."""
        if self.strand.dead:
            return
        self.world.trace(f"process {self.name} dies")
        self.strand.dead, self.up = True, False
        cast("Any", self.database._engine).abandon()
        if self.world.turns.holder is self:
            self.world.turns.give_back()
        self.world.broker.lost_process(self)
        self.world.later(self.world.loop.time() + seconds, lambda: self.world.start(self.number))

    def stop(self, seconds: float) -> None:
        """End as by SIGTERM: finish the work under way, disconnect from the broker, hand on the lease."""
        if not self.up:
            return
        self.up = False

        async def stop() -> None:
            await self.relay.stop()
            self.die(seconds)

        self._task(stop(), self.context)


def told(error: Exception) -> str:
    """Return an error with its traceback."""
    return "".join(traceback.format_exception(error))
