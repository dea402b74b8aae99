"""Notices between the processes on one PostgreSQL database: the log has grown.

A notice carries no data and may be lost: a process that receives one looks at the log. It is sent after the commit and on
a separate connection, because `NOTIFY` inside a transaction makes all commits of the server wait for each other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

import asyncpg
import structlog

from saleroom.storage.database import Database
from saleroom.storage.postgresql import DRIVER_ERRORS, in_words

CHANNEL = "saleroom_log"
APART_SECONDS = 0.005
"""The time between two notices of all processes together, as each of them wakes every process."""
APART_SECONDS_MAX = 0.05
"""The longest time between two notices of one process, however many there are."""
RETRY_SECONDS = 1.0
CHECK_SECONDS = 30.0

log = structlog.get_logger()


class Notices:
    """One per process on PostgreSQL; `run` it. `heard` is called in the event loop whenever the log may have grown."""

    def __init__(self, database: Database, heard: Callable[[], None]) -> None:
        self._database = database
        self._heard = heard
        self._woken = asyncio.Event()
        self._lost = False
        self._others: dict[int, float] = {}
        """The other processes that have been heard, by the numbers of their sessions, and when."""

    def apart(self) -> float:
        """Return how long to wait after a notice: longer with more processes, so that the wake-ups grow with them alone.

        Each process is heard at least every `CHECK_SECONDS`.
        """
        known = time.monotonic() - 2 * CHECK_SECONDS
        self._others = {sender: at for sender, at in self._others.items() if at > known}
        return min(APART_SECONDS_MAX, APART_SECONDS * (1 + len(self._others)))

    def announce(self) -> None:
        """Say that this process has committed something; call it in the event loop's thread."""
        self._woken.set()

    async def run(self) -> None:
        """Listen and announce. A new connection counts as a notice, because some may have been lost with the one before."""
        while True:
            try:
                await self._connected()
            except (*DRIVER_ERRORS, OSError) as error:
                self._tell(error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _connected(self) -> None:
        """Listen and announce until the connection is lost. Raises an error of the driver, or OSError."""
        _, options = self._database.url.get_dialect()().create_connect_args(self._database.url)
        connection = await asyncpg.connect(**options, timeout=CHECK_SECONDS)
        try:
            own = connection.get_server_pid()

            def heard(_connection: object, sender: int, _channel: str, _payload: str) -> None:
                if sender != own:
                    self._others[sender] = time.monotonic()
                    self._heard()

            connection.add_termination_listener(lambda _: self._woken.set())
            # Losing a notice in a crash of the server does no harm.
            await connection.execute("SET synchronous_commit = off")
            await connection.add_listener(CHANNEL, heard)
            self._lost = False
            self._heard()
            while not connection.is_closed():
                self._woken.clear()
                # Also sent if nothing was committed for a while: this finds a connection that is dead without notice.
                await connection.execute(f"NOTIFY {CHANNEL}", timeout=CHECK_SECONDS)
                await asyncio.sleep(self.apart())
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_SECONDS):
                        await self._woken.wait()
        finally:
            connection.terminate()

    def _tell(self, error: Exception) -> None:
        if not self._lost:
            log.warning("what other processes commit is noticed only once a second for now", reason=in_words(error))
        self._lost = True
