"""One trial: a house, a broker, subscribers and readers, a storm of bids, a fault in the middle of it, and the verdict."""

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from saleroom.admin import ledger_check
from saleroom.bidding.storage import event_log
from saleroom.storage.database import Database, Transaction
from tests.faults import readers as reading
from tests.faults.bidding import LOTS, BidStorm
from tests.faults.house import SupervisedHouse
from tests.faults.judging import (
    BidCounts,
    EndCounts,
    Row,
    SubscriberCounts,
    cut_short,
    faults,
    judge_closes,
    judge_read,
    judge_receipts,
    judge_records,
    judge_told,
    read_acknowledged,
    read_log,
    read_order,
    read_rows,
    tracebacks,
)
from tests.faults.link import PortForwarder
from tests.faults.places import SmallDisk, TrialDatabase
from tests.faults.readers import StreamReader
from tests.mqtt.equipment import Mosquitto, Subscriber
from tests.patience import SECONDS_MAX, until
from tests.violations import violations

ON_ALL = ("sqlite", "postgresql", "two processes")
ON_SQLITE = ON_ALL[:1]
ON_POSTGRESQL = ON_ALL[1:]
ON_TWO = ON_ALL[2:]
AUTOSAVE = ("persistence true", "autosave_interval 100", "autosave_on_changes true")
QUIET_SECONDS = 30.0
THAWED_SECONDS = 2.0
CUTS_SECONDS_MAX = 300.0


@dataclass
class Scene:
    """The parts of a trial that a fault can act on."""

    house: SupervisedHouse
    storm: BidStorm
    broker: Mosquitto
    to_broker: PortForwarder
    """The house's link to the broker."""
    to_house: PortForwarder
    """A link to the house that some readers use."""
    database_url: str
    step: int
    """How many bids to let pass between two faults."""
    server: Any
    """The embedded PostgreSQL server, if the trial may stop it."""
    disk: SmallDisk | None
    """The small disk that holds the database, if it has one."""
    subscribers: list[Subscriber] = field(default_factory=list)
    readers: list[StreamReader] = field(default_factory=list)
    onlookers: list[Subscriber] = field(default_factory=list)
    """Subscribers that may miss any messages."""
    forgotten: list[tuple[datetime, datetime]] = field(default_factory=list)
    """When a broker was killed: what it had acknowledged shortly before may be lost with it."""
    notes: dict[str, int] = field(default_factory=dict)
    """Other counts."""


Trouble = Callable[[Scene], Awaitable[None]]


@dataclass(frozen=True)
class Trial:
    """A fault, how often it happens, on which databases, and with which subscribers and readers."""

    name: str
    trouble: Trouble
    times: int = 5
    bids: int = 0
    """The least number of bids with which the fault shows."""
    on: tuple[str, ...] = ON_ALL
    hasty: bool = True
    """Whether the house's waits are shortened, so that it is at work again when the next fault comes."""
    dawdles: float = 0
    """Seconds that now and then pass between a bid's rows and their commit."""
    subscribers: tuple[str, ...] = ("mqttv5", "mqttv311")
    """A subscriber for each of these versions of MQTT."""
    readers: int = 0
    """How many readers of server-sent events."""
    cuts: int = 0
    """How often each of those is cut off at least."""
    storm: type[BidStorm] = BidStorm
    lot_seconds: tuple[float, float] | None = None
    """How long each lot lasts, at least and at most; None if lots have no end."""
    on_disk: bool = False
    """Whether the database has a separate small disk, which can be filled, sealed and frozen."""
    broker: tuple[str, ...] = ()
    """Lines of the broker's configuration."""
    states: bool = True
    """Whether the states can be judged."""


@dataclass(frozen=True)
class TrialOutcome:
    """The result of a trial."""

    told: list[SubscriberCounts]
    """One for each subscriber and reader."""
    recorded: BidCounts
    closed: EndCounts
    deaths: int
    repeats: int
    """Requests that bidders sent again."""
    violations: list[str]
    notes: dict[str, int]

    @property
    def faults(self) -> list[str]:
        """Every other fault, in words; empty if all is well."""
        verdicts: list[SubscriberCounts | BidCounts | EndCounts] = [*self.told, self.recorded, self.closed]
        return [f"{n} {name}" for verdict in verdicts for name, n in faults(verdict).items()] + self.violations


@dataclass(frozen=True)
class _Contents:
    """The database's contents at the end."""

    log: dict[str, list[bytes]]
    order: list[str]
    """The events' ids in the order of the table."""
    excused: set[str]
    """Ids of events that may be lost."""
    rows: dict[str, Row]
    violations: list[str]


async def run(
    trial: Trial, folder: Path, where: str, place: TrialDatabase, bids: int, *, pace: float = 0, lots: int = LOTS
) -> TrialOutcome:
    """Run `trial` with at least so many acknowledged bids, on so many lots at a time, and judge it.

    Fails if its fault could not be caused.
    """
    bids = max(bids, trial.bids)
    async with AsyncExitStack() as stack:
        broker = stack.enter_context(_broker(folder, trial.broker))
        to_broker = await _link(stack, broker.port)
        mqtt = f"mqtt://127.0.0.1:{to_broker.port}"
        workers = "2" if where in ON_TWO else "1"
        settings = {"database": place.url, "workers": workers, "mqtt": mqtt}
        house = SupervisedHouse(folder, hasty=trial.hasty, dawdles=trial.dawdles, **settings)
        to_house = await _link(stack, house.port)
        storm = trial.storm(house.url, broker.port, bids, lots, pace=pace, lot_seconds=trial.lot_seconds)
        step = max(1, bids // (trial.times + 1))
        scene = Scene(house, storm, broker, to_broker, to_house, place.url, step, place.server, place.disk)
        for version in trial.subscribers:
            scene.subscribers.append(_subscriber(broker, version))
            stack.callback(scene.subscribers[-1].close)
        await stack.enter_async_context(house.running())
        await storm.begin(stack)
        return await _weather(trial, scene)


async def _weather(trial: Trial, scene: Scene) -> TrialOutcome:
    """Let the storm go through the fault, and judge the result."""
    storm = scene.storm
    scene.readers = reading.several(scene.house, scene.to_house, storm.gids, trial.readers, trial.cuts)
    readings = [asyncio.create_task(reader.run()) for reader in scene.readers]
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(storm.run())
            group.create_task(_trouble(trial, scene))
        shown = await storm.close()
        kept = await _delivered(scene)
    finally:
        for task in readings:
            task.cancel()
        ends = await asyncio.gather(*readings, return_exceptions=True)
    verdicts = list(_judged(trial, scene, kept))
    found = [*kept.violations, *(f"a reader failed: {end}" for end in ends if isinstance(end, Exception))]
    found += _found(scene, shown)
    found += judge_receipts(kept.log, await storm.keys(), storm.receipts)
    await _thaw(scene, kept)
    scene.notes |= {"answered 503": storm.unavailable, "receipts": len(storm.receipts)}
    if scene.readers:
        scene.notes["readers cut off"] = sum(reader.cuts for reader in scene.readers)
    recorded = judge_records(kept.log, storm.accepted)
    closed = judge_closes(kept.log, kept.rows, storm.gids)
    return TrialOutcome(verdicts, recorded, closed, scene.house.deaths, storm.repeats, found, scene.notes)


def _judged(trial: Trial, scene: Scene, kept: _Contents) -> Iterator[SubscriberCounts]:
    """Yield the verdict on each subscriber and reader."""
    for subscriber in scene.subscribers:
        yield judge_told(kept.log, subscriber.messages, states=trial.states, excused=kept.excused)
    if scene.forgotten:
        strictly = [judge_told(kept.log, subscriber.messages) for subscriber in scene.subscribers]
        scene.notes["lost with the broker"] = sum(told.missing for told in strictly)
    for reader in scene.readers:
        due = [name for name in kept.order if reader.gid in {None, name.partition("/")[0]}]
        yield judge_read(kept.log, due, reader.ids, reader.data)


def _found(scene: Scene, shown: list[dict[str, Any]]) -> Iterator[str]:
    """Yield every other fault, in words."""
    for subscriber in scene.subscribers:
        yield from last_states(subscriber, shown)
    for reader in scene.readers:
        if reader.gid and not reader.over:
            yield f"a reader of {reader.gid} was not told the end"
    for end in tracebacks(scene.house.log()):
        yield f"a traceback in the house's log: … {end}"
    for decided in cut_short(scene.storm.unanswered, scene.house.endings):
        yield f"a bid was decided at {decided}, while the house ended in order, and not answered"
    yield from scene.storm.faults


async def _trouble(trial: Trial, scene: Scene) -> None:
    for _ in range(trial.times):
        await scene.storm.more(scene.step)
        await trial.trouble(scene)
    often = "the readers were cut off as often as they should be"
    await until(lambda: all(reader.often_enough for reader in scene.readers), often, CUTS_SECONDS_MAX)
    scene.storm.calm.set()


async def _delivered(scene: Scene) -> _Contents:
    """Wait until nothing is owed and all subscribers and readers are quiet, and return the database's contents."""
    database = Database(scene.database_url)
    try:
        if scene.subscribers:
            least, since = math.inf, time.monotonic()
            while owed := await database.read(event_log.LOG.owed_count):
                if owed < least:
                    least, since = owed, time.monotonic()
                stays = f"{owed} events stay owed; the house says:\n{scene.house.log()[-2000:]}"
                assert time.monotonic() < since + SECONDS_MAX, stays
                await asyncio.sleep(0.05)
        logged, order = await database.read(read_log), await database.read(read_order)
        for subscriber in scene.subscribers:
            await quiet(partial(different_events, subscriber), len(order))
        for reader in scene.readers:
            # The end of an auction's stream counts as one more.
            due = len(order) if reader.gid is None else len(logged[reader.gid]) + 1
            await quiet(partial(count_read, reader), due)
        excused = await database.read(read_acknowledged, scene.forgotten)
        broken = await database.read(violations) + await database.read(unproven)
        return _Contents(logged, order, excused, await database.read(read_rows), broken)
    finally:
        await database.close()


def different_events(subscriber: Subscriber) -> int:
    """Return how many different events a subscriber has got."""
    return len({message.payload for message in subscriber.messages if message.topic.endswith("/events")})


def count_read(reader: StreamReader) -> int:
    """Return how many events a reader has got, and one more if it was told the end."""
    return len(reader.ids) + reader.over


async def quiet(count: Callable[[], int], enough: int, seconds: float = QUIET_SECONDS) -> None:
    """Wait until `count()` is `enough`, or has not risen for a while: anything missing then stays missing."""
    loop = asyncio.get_running_loop()
    seen, since = -1, loop.time()
    while seen < enough and loop.time() - since < seconds:
        if (now := count()) != seen:
            seen, since = now, loop.time()
        await asyncio.sleep(0.1)


async def _thaw(scene: Scene, kept: _Contents) -> None:
    """Let the onlookers read on, and count what was dropped for them; what they get must be right, and in order."""
    for onlooker in scene.onlookers:
        onlooker.thaw()
        await quiet(partial(different_events, onlooker), len(kept.order), THAWED_SECONDS)
        verdict = judge_told(kept.log, onlooker.messages)
        onlooker.close()
        got = [json.loads(sent.payload)["id"] for sent in onlooker.messages]
        dropped = set(kept.order[kept.order.index(got[0]) :]) - set(got)  # it subscribed in the middle of the storm
        scene.notes["dropped for the slow one"] = len(dropped)
        assert dropped and not verdict.doubled + verdict.unknown, (len(dropped), verdict)


def last_states(subscriber: Subscriber, shown: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each auction whose last state differs from the house's."""
    last = {message.topic: message.payload for message in subscriber.messages if message.topic.endswith("/state")}
    for auction in shown:
        payload = last.get(f"saleroom/auctions/{auction['gid']}/state")
        if payload is None or json.loads(payload) != auction:
            yield f"the last state of {auction['gid']} is not the last"


def unproven(tx: Transaction) -> list[str]:
    """Return the faults that the ledgers show."""
    return [f"the ledger: {fault}" for fault in ledger_check.faults_of(tx)]


async def _link(stack: AsyncExitStack, target: int) -> PortForwarder:
    link = PortForwarder(target)
    stack.push_async_callback(link.close)
    await link.open()
    return link


@contextmanager
def _broker(folder: Path, lines: tuple[str, ...]) -> Iterator[Mosquitto]:
    kept = (f"persistence_location {folder}/",) if "persistence true" in lines else ()
    broker = Mosquitto(folder, *lines, *kept)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


def _subscriber(broker: Mosquitto, version: str) -> Subscriber:
    """A subscriber of that version, whose session the broker keeps while it is away."""
    options = ["-V", version, "-i", f"witness-{version}", "-c"]
    return Subscriber(broker.settings, "saleroom/auctions/+/events", "saleroom/auctions/+/state", options=options)
