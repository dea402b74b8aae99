"""Engines and transactions, and the two dialects. This is the only place that commits.

A use case is a plain function of a transaction: `await database.write(place_bids, commands)` runs `place_bids(tx, commands)`
in one transaction that commits when it returns and rolls back when it raises.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, cast

from sqlalchemy import (
    URL,
    Connection,
    CursorResult,
    Engine,
    Executable,
    create_engine,
    event,
    func,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import create_async_engine

from saleroom.domain.auction import Auction
from saleroom.storage.memory import Memory

P = ParamSpec("P")
R = TypeVar("R")
Clock = Callable[[], datetime]

SQLITE_READERS = 2
SQLITE_BUSY_SECONDS = 30
PASSING_TRIES = 5
_PASSING_SQLITE = frozenset({5, 6, 8, 10, 13, 14})
"""Busy, locked, read-only, I/O error, disk full, cannot open: the file's trouble and not the statement's."""
_PASSING_SQLSTATES = frozenset({"40001", "40P01"})
_AWAY_SQLSTATES = ("08", "28", "3D", "53", "57P0")
"""Connection lost or refused, wrong password, no such database, no resources, shutting down."""
_STRANGE_STATEMENTS = frozenset({"26000", "42P05"})
"""A prepared statement that is not there, or there already: the session is another one."""
_POOLER_FOUND = (
    "a pooler such as PgBouncer gives each transaction another session; "
    "set database_pooler to transaction, or let the pooler keep prepared statements (PgBouncer 1.21, max_prepared_statements)"
)
_UNNAMED = {"statement_cache_size": 0}
"""Without its cache the driver gives a statement no name, and sends its text along with each execution."""


class Transaction:
    """What a use case sees of the database while its transaction lasts."""

    __slots__ = ("_clock", "changed", "connection", "dialect", "memory", "names", "seen")

    def __init__(self, connection: Connection, clock: Clock | None, memory: Memory) -> None:
        self.connection = connection
        self.dialect: Literal["sqlite", "postgresql"] = cast('Literal["sqlite", "postgresql"]', connection.dialect.name)
        self._clock = clock
        self.memory = memory
        self.changed: list[Auction] = []
        """Every auction that this transaction has written, for those who are told after the commit."""
        self.seen: list[Auction] = []
        self.names: dict[int, str] = {}
        """What it has read of auctions and of usernames by number, for the memory once it is known to be committed."""

    def execute(
        self, statement: Executable, rows: Sequence[dict[str, Any]] | dict[str, Any] | None = None
    ) -> CursorResult[Any]:
        """Run one statement, for one or many `rows` of parameters."""
        return cast("CursorResult[Any]", self.connection.execute(statement, rows))

    def driver_sql(self, statement: str, values: tuple[Any, ...]) -> None:
        """Run a statement in the driver's own words; see `storage/bulk.py`."""
        self.connection.exec_driver_sql(statement, values)

    def now(self) -> datetime:
        """Read the one clock of the house (UTC): PostgreSQL's where there is one, as several machines may share it."""
        if self._clock is not None:
            return self._clock()
        if self.dialect == "postgresql":
            return cast("datetime", self.connection.scalar(select(func.clock_timestamp()))).astimezone(UTC)
        return datetime.now(UTC)


class Unavailable(Exception):
    """The database cannot be reached or stayed too busy.

    Whether a write that was cut off during its commit took effect cannot be known: an Idempotency-Key settles it.
    """


class TryAgain(Exception):
    """A use case raises it where its transaction lost a race and would succeed from the start."""


class Database:
    """The two kinds of transaction over either database. `kind` is `sqlite` or `postgresql`."""

    def __init__(self, url: str, *, clock: Clock | None = None, pool_size: int = 10, pooled: bool = False) -> None:
        self.url = parse_url(url)
        self.clock = clock
        self.memory = Memory()
        self.after_commit: list[Callable[[list[Auction]], None]] = []
        """Called in the event loop with the auctions that a transaction has changed, once they are committed."""
        self.kind = self.url.get_backend_name()
        self._engine: _Sqlite | _Postgresql
        self._engine = _Sqlite(self.url) if self.kind == "sqlite" else _Postgresql(self.url, pool_size, pooled=pooled)

    async def write(self, use_case: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run `use_case` in a transaction that may write, and return what it returns after the commit.

        A deadlock, a serialisation failure and TryAgain are tried again, as everything has been rolled back.
        Raises Unavailable if the database is away or busy for too long, and whatever the use case raises.
        """
        for attempt in range(1, PASSING_TRIES + 1):
            try:
                answer, tx = await self._run(use_case, args, kwargs, writes=True)
                break
            except TryAgain as error:
                if attempt == PASSING_TRIES:
                    raise Unavailable(str(error)) from error
                await asyncio.sleep(0.01 * attempt)
        else:
            raise AssertionError("the last attempt succeeds or raises")
        if tx.changed:
            for tell in self.after_commit:
                tell(tx.changed)
        return answer

    async def read(self, use_case: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run `use_case` in a transaction that only reads. Raises as `write` does."""
        try:
            answer, _ = await self._run(use_case, args, kwargs, writes=False)
        except TryAgain as error:
            raise Unavailable(str(error)) from error
        return answer

    async def _run(
        self, use_case: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any], *, writes: bool
    ) -> tuple[R, Transaction]:
        """Run one transaction to its end, and remember what it has read and written once that is committed."""

        def work(connection: Connection) -> tuple[R, Transaction]:
            tx = Transaction(connection, self.clock, self.memory)
            return use_case(tx, *args, **kwargs), tx

        answer, tx = await self._engine.run(work, writes=writes)
        self.memory.learn(tx.names, tx.seen)
        self.memory.learn({}, tx.changed)
        return answer, tx

    def seconds_until(self, instant: datetime) -> float:
        """Return how long `instant` is away by this process's clock: good for sleeping, never for deciding."""
        return (instant - (self.clock() if self.clock is not None else datetime.now(UTC))).total_seconds()

    async def check(self) -> None:
        """Raise Unavailable where the database cannot be reached, or not safely with these settings."""
        if isinstance(self._engine, _Postgresql):
            await self._engine.check()

    async def close(self) -> None:
        """Give all connections back."""
        await self._engine.close()

    @property
    def shown(self) -> str:
        """The URL without its password and driver, for people."""
        return self.url.set(drivername=self.kind).render_as_string(hide_password=True)


def parse_url(text: str) -> URL:
    """Return the database URL that people write, for the drivers used here.

    Takes `sqlite:///file`, `postgresql://` and `postgres://` (with or without a driver, with libpq's `sslmode` and `host`).
    Raises ValueError naming what is wrong, never the password.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # SQLAlchemy's own message repeats the URL, password and all.
        raise ValueError(
            "not a database URL; write sqlite:///file.db or postgresql://user:password@host/name"
        ) from None
    backend = url.get_backend_name()
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise ValueError("SQLite needs a file, such as sqlite:///saleroom.db: its connections share it")
        return url.set(drivername="sqlite")
    if backend not in ("postgresql", "postgres"):
        raise ValueError(f"{backend} is not supported; use sqlite:/// or postgresql://")
    query = dict(url.query)
    if "sslmode" in query:
        query["ssl"] = query.pop("sslmode")
    return url.set(drivername="postgresql+asyncpg", query=query)


class _Sqlite:
    """One writer in a thread of its own, as SQLite has one writer anyway, and a few readers beside it (WAL)."""

    def __init__(self, url: URL) -> None:
        _create_private(url.database or "")
        self._write_engine = _sqlite_engine(url, begin="BEGIN IMMEDIATE")
        self._read_engine = _sqlite_engine(url, begin="BEGIN")
        self._writer = ThreadPoolExecutor(1, "sqlite-writer")
        self._readers = ThreadPoolExecutor(SQLITE_READERS, "sqlite-reader")

    async def run(self, work: Callable[[Connection], R], *, writes: bool) -> R:
        engine, threads = (self._write_engine, self._writer) if writes else (self._read_engine, self._readers)

        def transaction() -> R:
            with engine.begin() as connection:
                return work(connection)

        try:
            return await asyncio.get_running_loop().run_in_executor(threads, transaction)
        except OperationalError as error:
            if (getattr(error.orig, "sqlite_errorcode", 0) & 0xFF) in _PASSING_SQLITE:
                raise Unavailable(f"SQLite: {error.orig}") from error
            raise

    async def close(self) -> None:
        for threads in (self._writer, self._readers):
            await asyncio.to_thread(threads.shutdown)
        self._write_engine.dispose()
        self._read_engine.dispose()


def _create_private(path: str) -> None:
    """Make a new file readable by its owner alone: it holds digests of passwords and limits of bidders."""
    with contextlib.suppress(OSError):  # an existing file stays as it is; an impossible one fails when it is opened
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _sqlite_engine(url: URL, begin: str) -> Engine:
    engine = create_engine(
        url, hide_parameters=True, connect_args={"timeout": SQLITE_BUSY_SECONDS, "check_same_thread": False}
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        # The driver's own transactions begin late and lose updates; ours begin where `begin` says.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


class _Postgresql:
    """A pool over asyncpg. READ COMMITTED is enough, as every decision is made under its auction's row lock.

    `pooled` says that another pooler stands before the server and gives each transaction another session of it: nothing
    then outlives a transaction, so statements have no names and are parsed anew each time (docs/decisions/0016).
    """

    def __init__(self, url: URL, pool_size: int, *, pooled: bool) -> None:
        self._pooled = pooled
        self._engine = create_async_engine(
            url, pool_size=pool_size, max_overflow=0, pool_timeout=10, connect_args=_UNNAMED if pooled else {}
        )

    async def run(self, work: Callable[[Connection], R], *, writes: bool) -> R:
        """Run `work` in a transaction; a second time where its connection is lost before the commit, which undoes it."""
        for again in (True, False):
            step = "connect"
            try:
                async with self._engine.connect() as connection:
                    step = "work"
                    answer = await connection.run_sync(work)
                    step = "commit"
                    await connection.commit()
                    return answer
            except DBAPIError as error:
                if again and step == "work" and error.connection_invalidated:
                    continue
                self._explain(error, step)
                raise
            except (OSError, PoolTimeout) as error:
                raise Unavailable(f"PostgreSQL: {str(error) or type(error).__name__}") from error
        raise AssertionError("the second time returns or raises")

    def _explain(self, error: DBAPIError, step: str) -> None:
        """Raise what a fault of the driver means to the house, where it means more than a bug."""
        state = getattr(error.orig, "sqlstate", None) or ""
        if state in _PASSING_SQLSTATES:
            raise TryAgain(f"PostgreSQL: {type(error.orig).__name__}") from error
        if state in _STRANGE_STATEMENTS and not self._pooled:
            raise Unavailable(f"PostgreSQL: {_POOLER_FOUND}") from error
        if error.connection_invalidated or state.startswith(_AWAY_SQLSTATES):
            if step == "work":
                raise TryAgain(f"PostgreSQL: {error.orig}") from error
            raise Unavailable(f"PostgreSQL: {error.orig}, at the {step}") from error

    async def check(self) -> None:
        """Raise Unavailable behind a pooler that shares sessions among transactions and that the settings do not name.

        There a statement's name may mean another process's statement. What such a pooler gives away is that a statement
        is still in the session when the connection that prepared it is gone.
        """
        if self._pooled:
            return
        mark = secrets.token_hex(8)
        await self.run(lambda connection: connection.exec_driver_sql(f"SELECT '{mark}'"), writes=False)
        await self._engine.dispose()
        left = text(
            "SELECT 1 FROM pg_prepared_statements WHERE starts_with(name, :ours) AND position(:mark IN statement) > 0"
        )
        known = {"ours": "__asyncpg_", "mark": mark}
        if await self.run(lambda connection: connection.execute(left, known).first(), writes=False):
            raise Unavailable(f"PostgreSQL: {_POOLER_FOUND}")

    async def close(self) -> None:
        await self._engine.dispose()
