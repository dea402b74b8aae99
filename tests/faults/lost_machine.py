"""A machine is lost with all its files, again and again: the house on SQLite comes back from the replica of Litestream.

Only what Litestream had copied is left, as after a fire. Bids were answered, and events told, once they were there.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from saleroom.storage.database import Database
from tests.faults import mortal
from tests.faults.bidding import BidStorm
from tests.faults.house import HASTE, LOAD_KEY, MortalProcess
from tests.faults.judging import faults, judge_read, judge_receipts, judge_records, judge_told, read_log, read_order
from tests.faults.places import TrialDatabase
from tests.faults.readers import StreamReader
from tests.faults.trial import ON_SQLITE, count_read, different_events, quiet, unproven
from tests.litestream import LitestreamProcess
from tests.mqtt.equipment import Mosquitto, Subscriber, free_port
from tests.patience import SECONDS_MAX, until
from tests.violations import violations

LOTS = 8
READERS = 4
BIDS_BETWEEN = 20
PACE_SECONDS = 0.05
FROZEN_SECONDS_MAX = 0.5
FROZEN = "frozen"
BLOWS = (FROZEN, "bid decided", FROZEN, "bid committed", None)
"""What happens before the machine is lost, in turn: Litestream has stood still, the house dies at a point, or nothing."""


@dataclass(frozen=True)
class MachineTrial:
    """How often the machine is lost. The house waits for Litestream, or as a control it does not."""

    name: str
    losses: int
    waits: bool = True
    on: tuple[str, ...] = ON_SQLITE
    on_disk: bool = False


FULL = MachineTrial("litestream: machine lost", 100)
CONTROL = MachineTrial("litestream not waited for: machine lost", 10, waits=False)
SHORT = MachineTrial("litestream: machine lost", len(BLOWS))
SHORT_CONTROL = MachineTrial("litestream not waited for: machine lost", 2, waits=False)


@dataclass
class MachineOutcome:
    """What came of a trial; `faults` is empty if every promise was kept."""

    losses: int
    bids: int
    lost: int
    """Bids that were acknowledged and are gone."""
    repeats: int
    told: int
    """Events that readers and a subscriber got, with repeats."""
    receipts: int
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = f"lost: {self.lost}, sent again: {self.repeats}, told: {self.told}, receipts: {self.receipts}"
        return f"machines lost: {self.losses}, bids: {self.bids}, {counts}"


class Machine:
    """A machine with a house and Litestream in one folder, and the replica beside it."""

    def __init__(self, folder: Path, mqtt: str, *, waits: bool) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = ""
        self._files = folder / "machine"
        self._armed = self._files / "armed"
        self._database = self._files / "saleroom.db"
        self._socket = self._files / "litestream.sock"
        self._copier = LitestreamProcess(folder, self._database, self._socket)
        tested = {"test_armed": str(self._armed), "test_constants": json.dumps(HASTE), "test_dawdles": "0"}
        waiting = {"litestream_socket": str(self._socket)} if waits else {}
        self._settings = {"load_key": LOAD_KEY, "database": self.database_url, "mqtt": mqtt} | waiting | tested
        self._house: MortalProcess | None = None

    @property
    def database_url(self) -> str:
        """The URL of its database."""
        return f"sqlite:///{self._database}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Machine]:
        """Serve within the block. The house must end in order."""
        await asyncio.to_thread(self._start)
        try:
            yield self
            code = await asyncio.to_thread(self._served.terminate)
            assert code == 0, self._served.told()
        finally:
            self.log += self._served.log()
            await asyncio.to_thread(self._kill)

    async def lost(self, blow: str | None) -> None:
        """Lose the machine after a blow, and set up another one from the replica."""
        if blow == FROZEN:
            self._copier.freeze()
        elif blow is not None:
            await asyncio.to_thread(mortal.arm, self._armed, blow)
            came = f"the house came to the point where {mortal.POINTS[blow]}"
            await until(lambda: self._served.process.poll() is not None, came, SECONDS_MAX)
        await asyncio.sleep(random.uniform(0, FROZEN_SECONDS_MAX) if blow in (FROZEN, None) else 0)
        await asyncio.to_thread(self._lose)
        await asyncio.to_thread(self._start)

    def _lose(self) -> None:
        self._kill()
        self.log += self._served.log()
        shutil.rmtree(self._files)

    @property
    def _served(self) -> MortalProcess:
        assert self._house is not None, "it was started"
        return self._house

    def _kill(self) -> None:
        self._copier.kill()
        if self._house is not None:
            self._house.kill()

    def _start(self) -> None:
        self._files.mkdir()
        self._copier.restore()
        self._copier.start()
        self._house = MortalProcess(self._files, "--port", str(self.port), **self._settings)


async def run(trial: MachineTrial, folder: Path, where: str, place: TrialDatabase) -> MachineOutcome:
    """Run `trial` and judge it; where and place do not matter, as the machine has its own files."""
    del where, place
    async with AsyncExitStack() as stack:
        broker = Mosquitto(folder)
        broker.start()
        stack.callback(broker.kill)
        subscriber = Subscriber(
            broker.settings, "saleroom/auctions/+/events", options=["-V", "mqttv5", "-i", "x", "-c"]
        )
        stack.callback(subscriber.close)
        machine = Machine(folder, f"mqtt://127.0.0.1:{broker.port}", waits=trial.waits)
        storm = BidStorm(machine.url, broker.port, trial.losses * BIDS_BETWEEN, LOTS, pace=PACE_SECONDS)
        await stack.enter_async_context(machine.running())
        await storm.begin(stack)
        if not trial.waits:
            await asyncio.sleep(2)  # Litestream copies by itself each second: the lots stay, and only bids are lost
        gids = [None] * (READERS // 2) + storm.gids[: READERS // 2]
        readers = [StreamReader(machine.url, gid, 0) for gid in gids] if trial.waits else []
        reading = [asyncio.create_task(reader.run()) for reader in readers]
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(storm.run())
                group.create_task(_lose(trial, machine, storm))
            keys = await storm.keys()
            return await _judged(trial, machine, storm, keys, readers, subscriber)
        finally:
            for task in reading:
                task.cancel()
            ends = await asyncio.gather(*reading, return_exceptions=True)
            storm.faults += [f"a reader failed: {end}" for end in ends if isinstance(end, Exception)]


async def _lose(trial: MachineTrial, machine: Machine, storm: BidStorm) -> None:
    for blow in islice(cycle(BLOWS), trial.losses):
        await storm.more(BIDS_BETWEEN)
        await machine.lost(blow)
    storm.calm.set()


async def _judged(
    trial: MachineTrial,
    machine: Machine,
    storm: BidStorm,
    keys: dict[str, object],
    readers: list[StreamReader],
    subscriber: Subscriber,
) -> MachineOutcome:
    database = Database(machine.database_url)
    try:
        log, order = await database.read(read_log), await database.read(read_order)
        broken = [*await database.read(violations), *await database.read(unproven)]
    finally:
        await database.close()
    for reader in readers:
        await quiet(partial(count_read, reader), len(order if reader.gid is None else log[reader.gid]))
    recorded = judge_records(log, storm.accepted)
    found = [*broken, *storm.faults, *judge_receipts(log, keys, storm.receipts)]
    found += [f"{number} bids {name}" for name, number in faults(recorded).items()]
    told = 0
    if trial.waits:
        await quiet(partial(different_events, subscriber), len(order))
        verdicts = [judge_told(log, subscriber.messages, states=False)]
        for reader in readers:
            due = [name for name in order if reader.gid in {None, name.partition("/")[0]}]
            verdicts.append(judge_read(log, due, reader.ids, reader.data))
        told = sum(verdict.received for verdict in verdicts)
        found += [f"told: {number} {name}" for verdict in verdicts for name, number in faults(verdict).items()]
    if not trial.waits:
        found = [] if recorded.lost else ["no answered bid was lost without the wait, so the trial shows nothing"]
    return MachineOutcome(trial.losses, recorded.bids, recorded.lost, storm.repeats, told, len(storm.receipts), found)
