"""A duty that one process of the house has at a time: it does rounds while it holds the lease, and others stand by."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.leases import Lease

LEASE_SECONDS = 30
RENEW_SECONDS = 10.0
STANDBY_SECONDS = 2.0
IDLE_SECONDS = 2.0
RETRY_SECONDS = 1.0

_log = structlog.get_logger()


class Duty:
    """Calls `round_` again and again. It returns the seconds until the next round, which `wake` lets begin at once.

    Rounds of two processes may overlap after a lease was lost; nothing may depend on the lease alone. While `needed` returns
    False, no round begins, and nothing is written for the lease.
    """

    def __init__(
        self,
        database: Database,
        lease: str,
        round_: Callable[[], Awaitable[float]],
        needed: Callable[[Transaction], bool] | None = None,
    ) -> None:
        self._needed = needed
        self._database = database
        self._name = lease
        self._lease = Lease(lease, f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}", LEASE_SECONDS)
        self._round = round_
        self._woken = asyncio.Event()
        self._waits = False
        """Whether the database was unavailable in the last round, which has been logged."""

    def wake(self) -> None:
        """Begin the next round soon; call it in the event loop's thread."""
        self._woken.set()

    async def run(self) -> None:
        """Do rounds until cancelled. The database may go away and come back."""
        try:
            while True:
                await self._wait(await self._try())
        finally:
            with suppress(DatabaseUnavailable):
                await self._lease.release(self._database)

    async def _try(self) -> float:
        self._woken.clear()
        try:
            if self._needed is not None and not await self._database.read(self._needed):
                return IDLE_SECONDS
            if not await self._lease.hold(self._database):
                return STANDBY_SECONDS
            renewing = asyncio.create_task(self._renew())
            try:
                seconds = await self._round()
            finally:
                renewing.cancel()
                await asyncio.gather(renewing, return_exceptions=True)
        except DatabaseUnavailable as error:
            if not self._waits:
                _log.warning("a duty waits for the database", duty=self._name, reason=str(error))
            self._waits = True
            return RETRY_SECONDS
        self._waits = False
        return min(seconds, RENEW_SECONDS)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            with suppress(DatabaseUnavailable):
                await self._lease.hold(self._database)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
