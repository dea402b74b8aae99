"""One trial: a house, a broker, those who listen, a storm of bids, some trouble in the middle of it, and the verdict."""

import asyncio
import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from saleroom.storage import log
from saleroom.storage.database import Database
from tests.delivery.equipment import Mosquitto, Subscriber, until
from tests.faults import readers as reading
from tests.faults.bidding import Storm
from tests.faults.house import SECONDS_MAX, House, quiet_port
from tests.faults.judging import (
    Log,
    Recorded,
    Told,
    faults,
    judge_read,
    judge_records,
    judge_told,
    read_acknowledged,
    read_log,
    read_order,
)
from tests.faults.link import Link
from tests.faults.readers import Reader
from tests.violations import violations

ON_ALL = ("sqlite", "postgresql", "two processes")
ON_SQLITE = ON_ALL[:1]
ON_POSTGRESQL = ON_ALL[1:]
ON_TWO = ON_ALL[2:]
AUTOSAVE = ("persistence true", "autosave_interval 100", "autosave_on_changes true")
QUIET_SECONDS = 10.0
THAWED_SECONDS = 2.0
CUTS_SECONDS_MAX = 300.0


@dataclass
class Scene:
    """What a trouble can lay its hands on."""

    house: House
    storm: Storm
    broker: Mosquitto
    to_broker: Link
    """The house's way to the broker."""
    to_house: Link
    """A way to the house that some readers take."""
    database_url: str
    step: int
    """How many bids to let pass between two faults."""
    server: Any
    """The embedded PostgreSQL server, where the trial may stop it."""
    subscribers: list[Subscriber] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)
    onlookers: list[Subscriber] = field(default_factory=list)
    """Subscribers that may miss what they like."""
    forgotten: list[tuple[datetime, datetime]] = field(default_factory=list)
    """When a broker was killed: what it had acknowledged shortly before may be lost with it."""
    notes: dict[str, int] = field(default_factory=dict)
    """What else was counted."""


Trouble = Callable[[Scene], Awaitable[None]]


@dataclass(frozen=True)
class Trial:
    """A fault, how often it comes, where, and who listens meanwhile."""

    name: str
    trouble: Trouble
    times: int = 5
    on: tuple[str, ...] = ON_ALL
    hasty: bool = True
    """Whether the house's waits are shortened, so that it is at work again when the next fault comes."""
    dawdles: float = 0
    """Seconds that now and then pass between a bid's rows and their commit."""
    subscribers: tuple[str, ...] = ("mqttv5", "mqttv311")
    """One for each of these versions of MQTT."""
    readers: int = 0
    """How many readers of server-sent events."""
    cuts: int = 0
    """How often each of those is cut off at least."""
    storm: type[Storm] = Storm
    broker: tuple[str, ...] = ()
    """Lines of the broker's configuration."""
    states: bool = True
    """Whether the states can be judged."""


@dataclass(frozen=True)
class Outcome:
    """What came of a trial."""

    told: list[Told]
    """One for each subscriber and reader."""
    recorded: Recorded
    deaths: int
    repeats: int
    """Requests that bidders sent again."""
    violations: list[str]
    notes: dict[str, int]

    @property
    def faults(self) -> list[str]:
        """Whatever should not be, in words; nothing is what there should be."""
        verdicts: list[Told | Recorded] = [*self.told, self.recorded]
        return [f"{n} {name}" for verdict in verdicts for name, n in faults(verdict).items()] + self.violations


async def run(
    trial: Trial, folder: Path, where: str, database_url: str, bids: int, *, pace: float = 0, server: Any = None
) -> Outcome:
    """Run `trial` with at least so many acknowledged bids, and judge it. Fails where its fault could not be brought about."""
    async with AsyncExitStack() as stack:
        broker = stack.enter_context(_broker(folder, trial.broker))
        to_broker = await _link(stack, broker.port)
        mqtt = f"mqtt://127.0.0.1:{to_broker.port}"
        workers = "2" if where in ON_TWO else "1"
        settings = {"database": database_url, "workers": workers, "mqtt": mqtt}
        house = House(folder, hasty=trial.hasty, dawdles=trial.dawdles, **settings)
        to_house = await _link(stack, house.port)
        storm = trial.storm(house.url, broker.port, bids, pace=pace)
        step = max(1, bids // (trial.times + 1))
        scene = Scene(house, storm, broker, to_broker, to_house, database_url, step, server)
        for version in trial.subscribers:
            scene.subscribers.append(_subscriber(broker, version))
            stack.callback(scene.subscribers[-1].close)
        await stack.enter_async_context(house.running())
        await storm.begin(stack)
        return await _weather(trial, scene)


async def _weather(trial: Trial, scene: Scene) -> Outcome:
    """Let the storm go through the trouble, and judge what came of it."""
    storm = scene.storm
    scene.readers = reading.several(scene.house, scene.to_house, storm.gids, trial.readers, trial.cuts)
    readings = [asyncio.create_task(reader.run()) for reader in scene.readers]
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(storm.run())
            group.create_task(_trouble(trial, scene))
        shown = await storm.close()
        logged, order, excused, found = await _delivered(scene)
    finally:
        for task in readings:
            task.cancel()
        ends = await asyncio.gather(*readings, return_exceptions=True)
    found += [f"a reader failed: {end}" for end in ends if isinstance(end, Exception)]
    told = [
        judge_told(logged, subscriber.messages, states=trial.states, excused=excused)
        for subscriber in scene.subscribers
    ]
    if scene.forgotten:
        strictly = [judge_told(logged, subscriber.messages) for subscriber in scene.subscribers]
        scene.notes["lost with the broker"] = sum(told.missing for told in strictly)
    for reader in scene.readers:
        due = [name for name in order if reader.gid in {None, name.partition("/")[0]}]
        told.append(judge_read(logged, due, reader.ids, reader.data))
    found += [line for subscriber in scene.subscribers for line in _last_states(subscriber, shown)]
    found += [
        f"a reader of {reader.gid} was not told the end" for reader in scene.readers if reader.gid and not reader.over
    ]
    found += [f"a traceback in the house's log: … {end}" for end in _tracebacks(scene.house.log())]
    found += storm.faults
    await _thaw(scene, logged)
    if scene.readers:
        scene.notes["readers cut off"] = sum(reader.cuts for reader in scene.readers)
    return Outcome(told, judge_records(logged, storm.accepted), scene.house.deaths, storm.repeats, found, scene.notes)


async def _trouble(trial: Trial, scene: Scene) -> None:
    for _ in range(trial.times):
        await scene.storm.more(scene.step)
        await trial.trouble(scene)
    often = "the readers were cut off as often as they should be"
    await until(lambda: all(reader.often_enough for reader in scene.readers), often, CUTS_SECONDS_MAX)
    scene.storm.calm.set()


async def _delivered(scene: Scene) -> tuple[dict[str, list[bytes]], list[str], set[str], list[str]]:
    """Wait until nothing is owed and all who listen are quiet.

    Returns the log, the ids in the order of the table, those that may be lost, and the violations that the rows show.
    """
    database = Database(scene.database_url)
    try:
        if scene.subscribers:
            least, since = math.inf, time.monotonic()
            while owed := await database.read(log.owed_count):
                if owed < least:
                    least, since = owed, time.monotonic()
                stays = f"{owed} events stay owed; the house says:\n{scene.house.log()[-2000:]}"
                assert time.monotonic() < since + SECONDS_MAX, stays
                await asyncio.sleep(0.05)
        logged, order = await database.read(read_log), await database.read(read_order)
        for subscriber in scene.subscribers:
            await _quiet(partial(_different, subscriber), len(order))
        for reader in scene.readers:
            # The end of an auction's stream counts as one more.
            due = len(order) if reader.gid is None else len(logged[reader.gid]) + 1
            await _quiet(partial(_read, reader), due)
        excused = await database.read(read_acknowledged, scene.forgotten)
        return logged, order, excused, await database.read(violations)
    finally:
        await database.close()


def _different(subscriber: Subscriber) -> int:
    return len({message.payload for message in subscriber.messages if message.topic.endswith("/events")})


def _read(reader: Reader) -> int:
    return len(reader.ids) + reader.over


async def _quiet(count: Callable[[], int], enough: int, seconds: float = QUIET_SECONDS) -> None:
    """Wait until `count()` is `enough`, or has not risen for a while: what is missing then stays missing."""
    loop = asyncio.get_running_loop()
    seen, since = -1, loop.time()
    while seen < enough and loop.time() - since < seconds:
        if (now := count()) != seen:
            seen, since = now, loop.time()
        await asyncio.sleep(0.1)


async def _thaw(scene: Scene, logged: Log) -> None:
    """Let the onlookers read on, and note what they have missed; what they get must be right, and in order."""
    for onlooker in scene.onlookers:
        onlooker.thaw()
        await _quiet(partial(_different, onlooker), sum(map(len, logged.values())), THAWED_SECONDS)
        told = judge_told(logged, onlooker.messages)
        onlooker.close()
        scene.notes["dropped for the slow one"] = told.missing
        assert told.missing and not told.doubled + told.unknown, told


def _last_states(subscriber: Subscriber, shown: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each auction whose last state is not what the house shows."""
    last = {message.topic: message.payload for message in subscriber.messages if message.topic.endswith("/state")}
    for auction in shown:
        payload = last.get(f"saleroom/auctions/{auction['gid']}/state")
        if payload is None or json.loads(payload) != auction:
            yield f"the last state of {auction['gid']} is not the last"


def _tracebacks(logged: str) -> list[str]:
    """Return the end of each traceback."""
    blocks = re.findall(r"^Traceback .*\n((?:[ ].*\n)+.*)$", logged, re.MULTILINE)
    return [" / ".join(line.strip() for line in block.splitlines()[-7:]) for block in blocks]


async def _link(stack: AsyncExitStack, target: int) -> Link:
    link = Link(target)
    stack.push_async_callback(link.close)
    await link.open()
    return link


@contextmanager
def _broker(folder: Path, lines: tuple[str, ...]) -> Iterator[Mosquitto]:
    kept = (f"persistence_location {folder}/",) if "persistence true" in lines else ()
    broker = Mosquitto(folder, *lines, *kept, port=quiet_port())
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


def _subscriber(broker: Mosquitto, version: str) -> Subscriber:
    """A subscriber of that version, whose session the broker keeps while it is away."""
    options = ["-V", version, "-i", f"witness-{version}", "-c"]
    return Subscriber(broker.settings, "saleroom/auctions/+/events", "saleroom/auctions/+/state", options=options)
