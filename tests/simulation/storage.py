"""The real storage on a real file of SQLite, run inline: each transaction at one instant, its commit a little later.

All processes of a world share the file and its engines: a connection holds nothing beyond its transaction, and SQLAlchemy's
compiled statements serve every seed.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlalchemy import Connection, Engine, make_url

from saleroom.accounts.service import sweeper
from saleroom.storage import sqlite
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.migrations import migrate
from saleroom.storage.turns import Rank
from tests.memory import folder_in_memory
from tests.simulation.troubles import Trouble

if TYPE_CHECKING:
    from tests.simulation.world import Process

R = TypeVar("R")
Asked = tuple[Callable[..., Any], tuple[Any, ...]]
ASKED: ContextVar[Asked] = ContextVar("asked")
MARKS = ("hold_and", "mark_cleared")
TOKENS_SWEPT = "sweep_tokens"
"""How the use case is named here that deletes expired tokens: others that sweep have the same name."""
HOUSEKEEPING = ("hold", "take", "release", "sweep", TOKENS_SWEPT)
OFTEN_IDLE = ("settle_due", "settle", "follow")


class File:
    """A file of SQLite with the tables, emptied for each seed; in memory, if the machine has a folder for that."""

    def __init__(self, within: str | None = None) -> None:
        self._folder = folder_in_memory("saleroom-simulation-", within)
        self.path = self._folder / "saleroom.db"
        self._template = self._folder / "template.db"
        self.url = f"sqlite:///{self.path}"
        asyncio.run(_migrated(f"sqlite:///{self._template}"))
        url = make_url(self.url).set(drivername="sqlite")
        self.writer: Engine = sqlite._engine(url, writes=True, brief=True)
        self.reader: Engine = sqlite._engine(url, writes=False, brief=True)
        self._looks: sqlite3.Connection | None = None

    def fresh(self) -> None:
        """Empty the database."""
        self._let_go()
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        shutil.copy(self._template, self.path)
        self._looks = sqlite3.connect(self.path, isolation_level=None)

    def begun(self) -> Connection:
        """Return a connection that has begun to read; the caller closes it."""
        connection = self.reader.connect()
        connection.begin()
        return connection

    def last_row(self) -> int:
        """Return the number of the last event of the log, 0 if there is none."""
        assert self._looks is not None
        return int(self._looks.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])

    def last_of_sale(self) -> int:
        """Return the number of the last event of the log of sales, 0 if there is none."""
        assert self._looks is not None
        return int(self._looks.execute("SELECT coalesce(max(id), 0) FROM sale_events").fetchone()[0])

    def remove(self) -> None:
        """Remove the file and its folder."""
        self._let_go()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _let_go(self) -> None:
        self.writer.dispose()
        self.reader.dispose()
        if self._looks is not None:
            self._looks.close()


class SimDatabase(Database):
    """The real database over `Inline`, which learns from it which use case a transaction is for."""

    def __init__(self, process: Process) -> None:
        super().__init__(process.world.file.url, clock=process.world.clock)
        self._engine = Inline(process)

    async def transact(
        self, use_case: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any], *, writes: bool
    ) -> tuple[R, Transaction]:
        ASKED.set((use_case, args))
        return await super().transact(use_case, args, kwargs, writes=writes)

    async def _in_turn(self, rank: Rank | None, work: Callable[[Connection], R], *, writes: bool, brief: bool) -> R:
        cast("Any", work).asked = ASKED.get()  # while it waits for its turn, others ask in the same context
        return await super()._in_turn(rank, work, writes=writes, brief=brief)


class Inline(sqlite.Sqlite):
    """Transactions of one process, with the faults that the world has planned for it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._world = process.world
        self._chance = process.world.chance(f"database of {process.name}")
        self._open: Connection | None = None

    def look_at_file(self) -> None:
        """Look at nothing: no seed moves the file."""

    async def run(self, work: Callable[[Connection], R], *, writes: bool, brief: bool) -> R:
        """Run `work` in a transaction. Raises DatabaseUnavailable if the world has planned it."""
        self._refuse_if_away()
        if not writes:
            with self._world.file.begun() as connection:
                answer = work(connection)
            await self._dawdle((0.0, 0.0, 0.001))
            return answer
        use_case, args = cast("Any", work).asked
        if use_case.__name__ == "settle_due":
            await self._dawdle((0.0, 0.002, 0.02))  # no timer is exact, and a bid may come first
        await self._world.turns.take(self._process)
        try:
            answer = await self._write(work, TOKENS_SWEPT if use_case is sweeper.sweep else use_case.__name__, args)
        finally:
            if self._world.turns.holder is self._process:
                self._world.turns.give_back()
        await self._dawdle((0.0, 0.0, 0.001, 0.01))
        return answer

    async def _write(self, work: Callable[[Connection], R], use_case: str, args: tuple[Any, ...]) -> R:
        self._refuse_if_away()
        now = self._world.clock()
        self._open = self._world.file.writer.connect()
        try:
            self._open.begin()
            try:
                answer = work(self._open)
            except Exception as error:
                self._end(commits=False)
                self._world.judge.refused(use_case, args, error, now)
                raise
            slow = (0.3, 1.5, 4.0) if self._world.slow_commits else (0.0, 0.0, 0.0, 0.002, 0.02)
            await self._dawdle(slow)
            told, tx = cast("tuple[Any, Transaction]", answer)
            matters = use_case not in HOUSEKEEPING and (use_case not in OFTEN_IDLE or bool(tx.notes))
            await self._before_commit(use_case, matters=matters)
            self._end(commits=True)
            self._world.judge.committed(use_case, args, told, now)
            await self._after_commit(use_case, matters=matters)
            return answer
        finally:
            self.abandon()

    async def _before_commit(self, use_case: str, *, matters: bool) -> None:
        """Let a planned fault happen, except in housekeeping, where nothing would be lost."""
        if matters and self._takes(Trouble.CRASH_BEFORE_MARK if use_case in MARKS else Trouble.CRASH_BEFORE_COMMIT):
            await self._die()
        if self._world.database_away or (matters and use_case not in MARKS and self._takes(Trouble.COMMIT_LOST)):
            raise DatabaseUnavailable("the connection to the database was lost")

    async def _after_commit(self, use_case: str, *, matters: bool) -> None:
        if matters and self._takes(Trouble.CRASH_AFTER_MARK if use_case in MARKS else Trouble.CRASH_AFTER_COMMIT):
            await self._die()
        if matters and self._takes(Trouble.COMMIT_UNKNOWN):
            raise DatabaseUnavailable("the connection to the database was lost during the commit")

    def _takes(self, trouble: Trouble) -> bool:
        return self._process.takes(trouble)

    async def _die(self) -> None:
        self._process.die()
        await asyncio.get_running_loop().create_future()  # never: the process is dead

    def _end(self, *, commits: bool) -> None:
        assert self._open is not None
        if commits:
            self._open.commit()
        self.abandon()

    def abandon(self) -> None:
        """Roll back the uncommitted work."""
        connection, self._open = self._open, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _refuse_if_away(self) -> None:
        if self._world.database_away or self._world.over:
            raise DatabaseUnavailable("no database")

    async def _dawdle(self, seconds: tuple[float, ...]) -> None:
        """Take some time; an answer never comes at once, so that other ready work is done first."""
        await asyncio.sleep(self._chance.choice(seconds))

    async def close(self) -> None:
        """The engines are the world's."""


async def _migrated(url: str) -> None:
    database = Database(url)
    await database.write(migrate)
    await database.close()
