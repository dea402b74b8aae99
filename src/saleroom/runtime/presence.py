"""Presence: a process runs its tasks, starts those again that fail, and says every ten seconds that it serves and how."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from saleroom import __version__
from saleroom.area import Task
from saleroom.mqtt.relay import Relay
from saleroom.storage import processes
from saleroom.storage.database import WORK, Database, LastWork
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.processes import BEAT_SECONDS, Report, TaskReport
from saleroom.storage.room import Room, folder_of, room_at

log = structlog.get_logger()

RESTART_SECONDS = 1.0
LEAVE_SECONDS_MAX = 2.0


@dataclass
class _Record:
    """What is known of a task."""

    last: LastWork = field(default_factory=LastWork)
    failures: int = 0
    failed_at: datetime | None = None
    failure: str = ""


class Presence:
    """One process of the house, as all see it. `relay` returns the status of its relay, `origin` is the house's address."""

    def __init__(self, database: Database, relay: Callable[[], str], origin: str) -> None:
        self._database = database
        self._relay = relay
        self._origin = origin
        self._host, self._pid = socket.gethostname(), os.getpid()
        self._name = f"{self._host}-{self._pid}-{secrets.token_hex(4)}"
        self._tasks: dict[str, _Record] = {}

    @asynccontextmanager
    async def running(self, tasks: Mapping[str, Task], relay: Relay | None) -> AsyncIterator[None]:
        """Run the tasks beside the requests; at the end the relay sends the owed events, and the others stop at once."""
        beside = {**tasks, "presence": self._run}
        running = [asyncio.create_task(self.kept_running(name, run)) for name, run in beside.items()]
        try:
            yield
        finally:
            if relay is not None:
                await relay.stop()
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await self._leave()

    async def _run(self) -> None:
        while True:
            room = await asyncio.to_thread(self._room)
            with suppress(DatabaseUnavailable):
                await self._database.write(processes.beat, self._name, self._report(room))
            await asyncio.sleep(BEAT_SECONDS)

    async def _leave(self) -> None:
        """Say that this process has ended. Without the database the others find out by themselves."""
        with suppress(DatabaseUnavailable, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS_MAX):
                await self._database.write(processes.leave, self._name)

    async def kept_running(self, name: str, run: Task) -> None:
        """Run a part as long as the house serves. If it fails, log the bug and start it again."""
        record = self._tasks.setdefault(name, _Record())
        WORK.set(record.last)
        while True:
            try:
                await run()
                return
            except Exception as error:
                record.failures += 1
                record.failed_at = self._database.clock_now()
                record.failure = type(error).__name__  # its words may have a secret in them
                log.exception("a part failed and is started again", part=name)
                await asyncio.sleep(RESTART_SECONDS)

    def _report(self, room: Room | None) -> Report:
        tasks = tuple(
            TaskReport(name, one.last.at, one.failures, one.failed_at, one.failure)
            for name, one in sorted(self._tasks.items())
        )
        return Report(self._host, self._pid, __version__, self._relay(), tasks, room, self._origin)

    def _room(self) -> Room | None:
        try:
            return room_at(folder_of(self._database.url))
        except OSError:
            return None
