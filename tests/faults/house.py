"""A house that is started again on the same port whenever it dies, as a service manager would."""

import asyncio
import json
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil

from tests.faults import mortal
from tests.mqtt.equipment import free_port
from tests.patience import SECONDS_MAX, until
from tests.process import ServeProcess

LOAD_KEY = "a-key-for-bidders"
HASTE = {
    "saleroom.mqtt.relay:LEASE_SECONDS": 1,
    "saleroom.mqtt.relay:RENEW_SECONDS": 0.2,
    "saleroom.mqtt.relay:STANDBY_SECONDS": 0.1,
    "saleroom.mqtt.relay:BACKOFF_SECONDS_MAX": 0.5,
    "saleroom.mqtt.connection:ACKNOWLEDGE_SECONDS_MAX": 3.0,
    "saleroom.mqtt.connection:CONNECT_SECONDS_MAX": 3.0,
    "saleroom.storage.duty:LEASE_SECONDS": 1,
    "saleroom.storage.duty:RENEW_SECONDS": 0.2,
    "saleroom.storage.duty:STANDBY_SECONDS": 0.1,
    "saleroom.storage.duty:IDLE_SECONDS": 0.1,
    "saleroom.settlement.service.online.online_looking:POLL_SECONDS": 0.1,
}
"""Shorter waits, so that the relay is at work again when the next fault comes, and not still waiting for a lease to run out."""


class MortalProcess(ServeProcess):
    """`saleroom serve` that can be made to die at a named point."""

    program = Path(mortal.__file__)


class SupervisedHouse:
    """`saleroom serve` under supervision; `deaths` counts how often its process, or one of its processes, was killed.

    `endings` are the spans in which it was told to end in order, from the signal until it was gone.
    """

    def __init__(self, folder: Path, *, hasty: bool = True, dawdles: float = 0, **settings: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.deaths = 0
        self.endings: list[tuple[datetime, datetime]] = []
        self.logs: list[str] = []
        self._folder = folder
        self._armed = folder / "armed"
        constants = json.dumps(HASTE if hasty else {})
        tested = {"test_armed": str(self._armed), "test_constants": constants, "test_dawdles": str(dawdles)}
        self._settings = {"load_key": LOAD_KEY, **settings, **tested}
        self.several = settings.get("workers", "1") != "1"
        self._served: ServeProcess | None = None
        self._lives = 0
        self._ending: datetime | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator["SupervisedHouse"]:
        """Serve within the block. It must end in order."""
        await self._start()
        self._watching = asyncio.create_task(self._watch())
        try:
            yield self
        finally:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            await asyncio.to_thread(self._stop)

    async def dies_at(self, point: str) -> None:
        """Let it die when it next reaches `point`, and wait until it serves again."""
        await asyncio.to_thread(mortal.arm, self._armed, point)
        came = f"the house came to the point where {mortal.POINTS[point]}"
        seen = self._lives
        await until(lambda: not self._armed.exists(), came, SECONDS_MAX)
        if self.several:
            self.deaths += 1
        else:
            await self._back(seen)

    async def killed(self) -> None:
        """Kill it now: its process, or a random one of several, or all of them together with their parent."""
        if self.several and random.random() < 0.75:
            await until(lambda: bool(self.processes()), "one of its processes runs", SECONDS_MAX)
            self.kill_one(random.choice(self.processes()))
            return
        seen = self._lives
        assert self._served is not None, "it was started"
        for process in {*self.processes(), self._served.process.pid}:
            with suppress(psutil.NoSuchProcess):
                psutil.Process(process).send_signal(signal.SIGKILL)
        await self._back(seen)

    async def ended(self) -> None:
        """End it in order, as a service manager does, and wait until it serves again."""
        assert self._served is not None, "it was started"
        seen, self._ending = self._lives, datetime.now(UTC)
        self._served.process.send_signal(signal.SIGTERM)
        await self._back(seen)

    def kill_one(self, process: int) -> None:
        """Kill one of its several processes."""
        psutil.Process(process).send_signal(signal.SIGKILL)
        self.deaths += 1

    def processes(self) -> list[int]:
        """Return the ids of the processes that serve."""
        assert self._served is not None, "it was started"
        try:
            serving = [child.pid for child in psutil.Process(self._served.process.pid).children()]
        except psutil.NoSuchProcess:  # it died while we looked
            return []
        return serving if self.several else [self._served.process.pid]

    def log(self) -> str:
        """Return its log over all its starts."""
        return "\n".join([*self.logs, "" if self._served is None else self._served.log()])

    async def _start(self) -> None:
        started = asyncio.to_thread(MortalProcess, self._folder, "--port", str(self.port), **self._settings)
        self._served = await started

    async def _watch(self) -> None:
        while True:
            assert self._served is not None, "it was started"
            if self._served.process.poll() is None:
                await asyncio.sleep(0.01)
                continue
            due = -signal.SIGKILL if self._ending is None else 0
            assert self._served.process.returncode == due, self._served.told()
            await asyncio.to_thread(self._served.wait)
            self.logs.append(self._served.log())
            if self._ending is None:
                self.deaths += 1
            else:
                self.endings.append((self._ending, datetime.now(UTC)))
                self._ending = None
            await self._start()
            self._lives += 1

    async def _back(self, seen: int) -> None:
        await until(lambda: self._lives > seen or self._watching.done(), "the house serves again", SECONDS_MAX)
        if self._watching.done():
            await self._watching

    def _stop(self) -> None:
        assert self._served is not None, "it was started"
        try:
            if self._served.process.poll() is None:
                code = self._served.terminate()
                assert code == 0, self._served.told()
        finally:
            self._served.kill()
