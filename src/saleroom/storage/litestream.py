"""Commits on SQLite that wait until Litestream has copied them beyond this machine (docs/backup.md).

Litestream copies the database by itself. Here it also gives an answer: once its control socket says so, everything that was
committed before the question is in the replica.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import aiohttp
import structlog
from msgspec import Struct

from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.turns import begin_for_all

_log = structlog.get_logger(__name__)

SYNC_SECONDS_MAX = 10.0
"""How long a commit waits for its copy. After it the write is in doubt: it is in the database here, perhaps nowhere else."""
PAUSE_SECONDS = 0.05
"""The pause before it is asked again."""
_DONE, _UNKNOWN = 200, 404


class Fault(Struct, frozen=True):
    """Why something is not copied yet, and whether that may pass by itself."""

    why: str
    passes: bool = True


class Litestream:
    """The copy of one database, asked over Litestream's control socket (version 0.5 or newer).

    Tell it of each commit by `committed`; `copied` then waits for the copy. Commits that come during a question share the
    next one.
    """

    def __init__(self, socket: Path, database: str) -> None:
        """Take the socket and the file of the database; Litestream's configuration must have the same path."""
        self.is_away = False
        """Whether the last question failed."""
        self._socket = socket
        self._database = str(Path(database).absolute())
        self._commits = 1
        """Commits of this process, and one for all that came before it."""
        self._copied = 0
        """How many of them are in the copy."""
        self._asking: asyncio.Task[Fault | None] | None = None
        self._session: aiohttp.ClientSession | None = None

    def committed(self) -> None:
        """Note that a transaction was committed, or may have been."""
        self._commits += 1

    async def copied(self) -> None:
        """Return once all that was committed up to now is in the copy.

        Raises DatabaseUnavailable if Litestream cannot be asked, cannot copy, or takes longer than `SYNC_SECONDS_MAX`.
        """
        wanted = self._commits
        while self._copied < wanted:
            if self._asking is None:
                self._asking = begin_for_all(self._ask())
            if (fault := await asyncio.shield(self._asking)) is not None:
                raise DatabaseUnavailable(f"Litestream: {fault.why}")

    async def back(self) -> None:
        """If the last question failed, ask again. Raises as `copied` does: nothing is begun that would be in doubt at once."""
        if self.is_away:
            await self.copied()

    async def close(self) -> None:
        """Close the connection. A question under way ends with it."""
        if self._asking is not None:
            self._asking.cancel()
        if self._session is not None:
            await self._session.close()

    async def _ask(self) -> Fault | None:
        """Ask until all that is committed now is in the copy, or return why it is not."""
        commits = self._commits
        until = time.monotonic() + SYNC_SECONDS_MAX
        try:
            while (fault := await self.look()) is not None:
                # A restart of Litestream and a hiccup of its store pass. Once it is known to be away, nobody waits for it.
                if self.is_away or not fault.passes or time.monotonic() > until:
                    if not self.is_away:
                        _log.error(
                            "Litestream does not copy the database; nothing is written until it does", reason=fault.why
                        )
                    self.is_away = True
                    return fault
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self._asking = None
        self._copied = commits
        if self.is_away:
            _log.warning("Litestream copies the database again")
        self.is_away = False
        return None

    async def look(self) -> Fault | None:
        """Ask once; return None if all that is committed is in the copy, and otherwise why not."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(str(self._socket), limit=1),
                timeout=aiohttp.ClientTimeout(total=SYNC_SECONDS_MAX),
            )
        asked = {"path": self._database, "wait": True, "timeout": round(SYNC_SECONDS_MAX)}
        try:
            async with self._session.post("http://litestream/sync", json=asked) as answer:
                said = await answer.json(content_type=None)
                status = answer.status
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            reason = getattr(error, "os_error", error)  # aiohttp's own words speak of TLS
            return Fault(f"it does not answer at {self._socket}: {str(reason) or 'no answer in time'}")
        if not isinstance(said, dict):
            return Fault(f"{self._socket} is not its control socket", passes=False)
        if status == _UNKNOWN:
            return Fault(f"its configuration has no database {self._database}", passes=False)
        if status != _DONE:
            return Fault(f"it answers {status}: {said.get('error', 'no reason')}")
        if 0 < said.get("txid", 0) <= said.get("replicated_txid", 0):
            return None
        return Fault("its replica is behind")  # its own rounds have read more since, or the replica was lost
