"""One trial: three machines under bids, a break in the middle of them, and the verdict from outside."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import astuple, dataclass, field
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from saleroom.bidding.storage import event_log
from saleroom.storage.database import Database
from tests.failover.bidding import ClusterReader, ClusterStorm
from tests.failover.cluster import Cluster
from tests.faults.judging import (
    BidCounts,
    EndCounts,
    SubscriberCounts,
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
from tests.faults.trial import count_read, different_events, last_states, quiet, unproven
from tests.mqtt.equipment import Subscriber
from tests.patience import SECONDS_MAX
from tests.violations import violations

V = TypeVar("V", BidCounts, EndCounts)
AUCTIONS = 6
PACE_SECONDS = 0.3
LOT_SECONDS = (6.0, 16.0)
STEP = 60
"""How many bids to let pass before a break."""


@dataclass
class Scene:
    """The parts of a trial that a break can act on."""

    cluster: Cluster
    storm: ClusterStorm
    breaks: list[float] = field(default_factory=list)
    """The instants of the breaks, by the loop's clock."""
    forgotten: list[tuple[datetime, datetime]] = field(default_factory=list)
    """When a broker was killed: what it had acknowledged shortly before may be lost with it."""
    notes: dict[str, int] = field(default_factory=dict)

    def mark(self) -> None:
        """Note that the break happens now."""
        self.breaks.append(asyncio.get_running_loop().time())


Trouble = Callable[[Scene], Awaitable[None]]


@dataclass(frozen=True)
class Trial:
    """A break, and how long bids may wait after it."""

    name: str
    trouble: Trouble
    seconds_max: float
    small_disks: bool = False
    """Whether each PostgreSQL has a disk of its own, which can be filled."""
    clocks: Sequence[float] = ()
    """By how many seconds the clocks of the machines are ahead."""
    slow_links: bool = False
    """Whether the standbys reach the primary by a link that can be slowed down."""
    control: bool = False
    """Whether the standbys are asynchronous: the trial must find lost bids, otherwise it could find none at all."""


@dataclass
class TrialOutcome:
    """The result of a trial."""

    recorded: BidCounts
    closed: EndCounts = EndCounts(0, 0, 0, 0, 0, 0)  # noqa: RUF009  # a frozen value
    streams: list[SubscriberCounts] = field(default_factory=list)
    subscribers: list[SubscriberCounts] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    """Every other fault, in words."""
    pauses: list[tuple[float, float]] = field(default_factory=list)
    """For each break the longest time without an acknowledged bid, in seconds: on all lots, and on one."""
    repeats: int = 0
    notes: dict[str, int] = field(default_factory=dict)

    @property
    def faults(self) -> list[str]:
        """Every fault; empty if all is well."""
        verdicts: list[BidCounts | EndCounts | SubscriberCounts] = [
            self.recorded,
            self.closed,
            *self.streams,
            *self.subscribers,
        ]
        return [f"{n} {name} ({type(v).__name__})" for v in verdicts for name, n in faults(v).items()] + self.others


def together(outcomes: Sequence[TrialOutcome]) -> TrialOutcome:
    """Return the outcomes of several clusters as one."""

    def added(verdicts: Sequence[V]) -> V:
        return type(verdicts[0])(*map(sum, zip(*map(astuple, verdicts), strict=True)))

    notes = {name for one in outcomes for name in one.notes}
    return TrialOutcome(
        recorded=added([one.recorded for one in outcomes]),
        closed=added([one.closed for one in outcomes]),
        streams=[verdict for one in outcomes for verdict in one.streams],
        subscribers=[verdict for one in outcomes for verdict in one.subscribers],
        others=[fault for one in outcomes for fault in one.others],
        pauses=[pause for one in outcomes for pause in one.pauses],
        repeats=sum(one.repeats for one in outcomes),
        notes={name: sum(one.notes.get(name, 0) for one in outcomes) for name in sorted(notes)},
    )


async def run(trial: Trial, folder: Path, count: int, say: Callable[[str], object]) -> TrialOutcome:
    """Run `trial` with so many breaks, one after the other, and judge it. `say` is told what happens."""
    async with AsyncExitStack() as stack:
        cluster = Cluster(
            folder,
            asynchronous=trial.control,
            small_disks=trial.small_disks,
            clocks=trial.clocks,
            slow_links=trial.slow_links,
        )
        await cluster.start(say)
        urls = [f"http://{machine.address}:8080" for machine in cluster.machines.values()]
        # The lots of a control outlast its break: one that is lost with it would be bid on for ever.
        seconds = (600.0, 600.0) if trial.control else LOT_SECONDS
        storm = ClusterStorm("", 0, 0, auctions=AUCTIONS, lot_seconds=seconds, pace=PACE_SECONDS, urls=urls)
        scene = Scene(cluster, storm)
        subscribers = [await asyncio.to_thread(_subscriber, cluster, kind) for kind in ("core", "edge")]
        for subscriber in subscribers:
            stack.callback(subscriber.close)
        say("bids")
        await storm.begin(stack)
        gids = [None, None, None, *storm.gids[:3]]
        readers = [ClusterReader(urls, gid, number) for number, gid in enumerate(gids)]
        readers += [ClusterReader([cluster.edge_url], gid, 0) for gid in gids]
        readings = [asyncio.create_task(reader.run()) for reader in readers]
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(storm.run())
                watching = group.create_task(_watch(cluster))
                await _trouble(trial, scene, count, say)
                watching.cancel()
            say("the verdict")
            if trial.control:
                return await _lost(scene)
            return await _judged(scene, subscribers, readers, await storm.close())
        finally:
            for task in readings:
                task.cancel()
            await asyncio.gather(*readings, return_exceptions=True)


async def _trouble(trial: Trial, scene: Scene, count: int, say: Callable[[str], object]) -> None:
    for number in range(1, count + 1):
        await scene.storm.more(STEP)
        say(f"break {number} of {count}")
        await trial.trouble(scene)
        await scene.cluster.healed()
        await scene.storm.more(STEP)
    scene.storm.calm.set()


async def _watch(cluster: Cluster) -> None:
    """Fail as soon as a service has ended that nobody killed."""
    while True:
        for machine in cluster.machines.values():
            machine.check()
        await asyncio.sleep(1)


async def _lost(scene: Scene) -> TrialOutcome:
    database = Database(await scene.cluster.url())
    try:
        return TrialOutcome(judge_records(await database.read(read_log), scene.storm.accepted))
    finally:
        await database.close()


async def _judged(
    scene: Scene, subscribers: list[Subscriber], readers: list[ClusterReader], shown: list[dict[str, Any]]
) -> TrialOutcome:
    """Wait until nothing is owed and all are quiet, and compare everything with the log."""
    storm = scene.storm
    database = Database(await scene.cluster.url())
    try:
        end = time.monotonic() + SECONDS_MAX
        while owed := await database.read(event_log.LOG.owed_count):
            assert time.monotonic() < end, f"{owed} events stay owed\n{scene.cluster.told()}"
            await asyncio.sleep(0.2)
        log, order = await database.read(read_log), await database.read(read_order)
        for subscriber in subscribers:
            await quiet(partial(different_events, subscriber), len(order))
        for reader in readers:
            due = len(order) if reader.gid is None else len(log[reader.gid]) + 1
            await quiet(partial(count_read, reader), due)
        excused = await database.read(read_acknowledged, scene.forgotten)
        others = await database.read(violations) + await database.read(unproven)
        closed = judge_closes(log, await database.read(read_rows), storm.gids)
    finally:
        await database.close()
    others += judge_receipts(log, await storm.keys(), storm.receipts)
    others += [line for one in subscribers for line in last_states(one, shown)]
    others += [f"a reader of {one.gid} was not told the end" for one in readers if one.gid and not one.over]
    for machine in scene.cluster.machines.values():
        said = [machine.log(name) for name in ("house", "edge") if machine.has(name)]
        others += [f"a traceback of {machine.name}: … {end}" for log in said for end in tracebacks(log)]
    brought_back = bool(scene.forgotten)
    strictly = sum(judge_told(log, one.messages).missing for one in subscribers)
    if brought_back:
        scene.notes["lost with the broker"] = strictly
    return TrialOutcome(
        recorded=judge_records(log, storm.accepted),
        closed=closed,
        streams=[judge_read(log, _due(order, one.gid), one.ids, one.data) for one in readers],
        subscribers=[
            # After its bridge was away, the edge repeats states and events from before, as the README of the recipe says.
            judge_told(log, one.messages, states=not brought_back and one is subscribers[0], excused=excused)
            for one in subscribers
        ],
        others=[*others, *storm.faults],
        pauses=list(_pauses(scene)),
        repeats=storm.repeats,
        notes=scene.notes | {"receipts": len(storm.receipts), "told late": storm.told_late},
    )


def _due(order: list[str], gid: str | None) -> list[str]:
    return [name for name in order if gid in {None, name.partition("/")[0]}]


def _pauses(scene: Scene) -> Iterator[tuple[float, float]]:
    """Yield for each break the longest time without an acknowledged bid after it: on all lots, and on one."""
    for broken, end in pairwise([*scene.breaks, math.inf]):
        answered = [one for one in scene.storm.acceptances if broken <= one.answered < end]
        places = [[one.answered for one in answered if one.place == place] for place in range(AUCTIONS)]
        yield _longest(broken, [one.answered for one in answered]), max(_longest(broken, times) for times in places)


def _longest(since: float, times: list[float]) -> float:
    return max(later - earlier for earlier, later in pairwise([since, *sorted(times)])) if times else math.inf


def _subscriber(cluster: Cluster, kind: str) -> Subscriber:
    options = ["-V", "mqttv5", "-i", f"witness-{kind}", "-c"]
    topics = "saleroom/auctions/+/events", "saleroom/auctions/+/state"
    return Subscriber(cluster.broker(kind), *topics, as_service=True, options=options)
