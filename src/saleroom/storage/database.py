"""Transactions over either database. Nothing else commits.

A use case is a plain function of a transaction: `await database.write(place_bids, commands)` runs `place_bids(tx, commands)`
in one transaction that commits when it returns and rolls back when it raises.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, cast

from sqlalchemy import URL, Connection, CursorResult, Executable, func, make_url, select
from sqlalchemy.exc import ArgumentError
from sqlalchemy.util import await_only

from saleroom.storage.cache import Cache, CacheKey
from saleroom.storage.faults import DatabaseUnavailable, TryAgain
from saleroom.storage.litestream import Litestream
from saleroom.storage.postgresql import WORK_SECONDS_MAX, Postgresql, await_standbys, timeline
from saleroom.storage.sqlite import READERS, Sqlite
from saleroom.storage.turns import ASKER, READ_SECONDS_MAX, Occupancy, Rank, Turns, within_limits

P = ParamSpec("P")
R = TypeVar("R")
U = TypeVar("U", bound=Callable[..., Any])
V = TypeVar("V")
Clock = Callable[[], datetime]

PASSING_TRIES = 5
AT_ONCE = 250
"""How many cheap items, some 20 us each, a use case works on before others have their turn.

With fewer of them its locks would wait for many turns of others.
"""


class Note(Generic[V]):
    """Names one kind of values that transactions note, for hooks that run after the commit: see `Database.after_commit`."""


class Switch:
    """Names a setting of the house that use cases ask about; it is off unless `Database.switch_on` was called."""


class SharedPart(Generic[V]):
    """Names a part that one area provides for the use cases of others: see `Database.provide`."""


class LastWork:
    """When a task of the house last finished a transaction; None if it has not yet."""

    def __init__(self) -> None:
        self.at: datetime | None = None


WORK: ContextVar[LastWork | None] = ContextVar("work", default=None)
"""The task of the house for which the present transactions are; None if they are for requests."""


class Transaction:
    """The database as a use case sees it while its transaction lasts."""

    __slots__ = ("_clock", "_provided", "awaits_copy", "cache", "cached", "connection", "dialect", "notes", "switches")

    def __init__(
        self,
        connection: Connection,
        clock: Clock | None = None,
        cache: Cache | None = None,
        switches: Collection[Switch] = (),
        provided: Mapping[SharedPart[Any], Any] = MappingProxyType({}),
    ) -> None:
        self.switches = switches
        self._provided = provided
        self.connection = connection
        self.dialect: Literal["sqlite", "postgresql"] = cast('Literal["sqlite", "postgresql"]', connection.dialect.name)
        self._clock = clock
        self.cache = Cache() if cache is None else cache
        self.cached: list[tuple[CacheKey[Any], Mapping[int, Any]]] = []
        """Values for the cache, once this transaction has committed; see `keep`."""
        self.notes: dict[Note[Any], list[Any]] = {}
        """Values for hooks, once this transaction has committed; see `note`."""
        self.awaits_copy = False
        """Whether it ends only once what it has read is copied; see `await_copy`."""

    def keep(self, key: CacheKey[V], values: Mapping[int, V]) -> None:
        """Put `values` into the cache after the commit."""
        self.cached.append((key, values))

    def note(self, note: Note[V], values: Iterable[V]) -> None:
        """Hand `values` to the hooks of `note` after the commit."""
        self.notes.setdefault(note, []).extend(values)

    def execute(
        self, statement: Executable, rows: Sequence[dict[str, Any]] | dict[str, Any] | None = None
    ) -> CursorResult[Any]:
        """Run one statement, for one or many `rows` of parameters."""
        return cast("CursorResult[Any]", self.connection.execute(statement, rows))

    def driver_sql(self, statement: str, values: tuple[Any, ...]) -> CursorResult[Any]:
        """Run a statement in the driver's own parameter style; see `storage/bulk.py`."""
        return self.connection.exec_driver_sql(statement, values)

    def unhurried(self, items: Iterable[V], at_once: int | None = None) -> Iterator[V]:
        """Yield items, and let the event loop serve others after so many; for what is calculated about thousands of them.

        On PostgreSQL a use case runs in the thread of the loop. On SQLite it runs in another, which gives way by itself.
        """
        for turn, item in enumerate(items, 1):
            yield item
            if turn % (at_once or AT_ONCE) == 0 and self.dialect == "postgresql":
                await_only(asyncio.sleep(0))

    def in_pieces(self, items: Sequence[V]) -> Iterator[Sequence[V]]:
        """Yield a few items at a time, and give way as `unhurried` does; for what is written with a statement for many rows.

        On SQLite all come at once: its statements are short by themselves.
        """
        at_once = AT_ONCE if self.dialect == "postgresql" else max(len(items), 1)
        for first in range(0, len(items), at_once):
            yield items[first : first + at_once]
            if self.dialect == "postgresql":
                await_only(asyncio.sleep(0))

    def is_on(self, switch: Switch) -> bool:
        """Return whether a setting of the house is on."""
        return switch in self.switches

    def provided(self, part: SharedPart[V]) -> V | None:
        """Return what another area provides as this part; None if none does."""
        return self._provided.get(part)

    def await_copy(self) -> None:
        """Let this transaction end only once no lost machine can take away what it has read up to now.

        It is for what others are told, such as a stream of events. The copy is on the standbys of PostgreSQL or in that of
        Litestream; without either this does nothing, otherwise it costs as much as a commit. Without a copy in time the
        transaction ends with DatabaseUnavailable.
        """
        self.awaits_copy = True
        if self.dialect == "postgresql":
            await_standbys(self.connection)

    def timeline(self) -> str:
        """Return a text that changes when a standby takes over or a backup is restored; it is empty on SQLite."""
        return timeline(self.connection) if self.dialect == "postgresql" else ""

    def now(self) -> datetime:
        """Read the house's clock (UTC): on PostgreSQL the server's, because several machines may share the database."""
        if self._clock is not None:
            return self._clock()
        if self.dialect == "postgresql":
            return cast("datetime", self.connection.scalar(select(func.clock_timestamp()))).astimezone(UTC)
        return datetime.now(UTC)


def brief(use_case: U) -> U:
    """Mark a use case that finds few rows, all by their keys: on SQLite it runs in the event loop's own thread."""
    cast("Any", use_case).is_brief = True
    return use_case


def ranked(rank: Rank) -> Callable[[U], U]:
    """Mark a use case with its rank, for every caller. Without a mark the rank is HOUSE for the house's own tasks, otherwise
    ORDINARY. On PostgreSQL one that is marked HOUSE is stopped after `WORK_SECONDS_MAX`.
    """

    def mark(use_case: U) -> U:
        cast("Any", use_case).rank = rank
        return use_case

    return mark


def marks(use_case: Callable[..., Any]) -> tuple[bool, Rank | None]:
    """Return whether a use case is brief, and its rank. Methods, partials and `functools.wraps` keep the marks."""
    whole = unbound(use_case)
    return getattr(whole, "is_brief", False), getattr(whole, "rank", None)


def unbound(use_case: Callable[..., Any]) -> Callable[..., Any]:
    """Return a use case without the arguments that `functools.partial` has bound."""
    while isinstance(use_case, partial):
        use_case = use_case.func
    return use_case


class Database:
    """The two kinds of transaction over either database. `kind` is `sqlite` or `postgresql`."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        pool_size: int = 10,
        pooled: bool = False,
        litestream: Path | None = None,
    ) -> None:
        """Open a database. With the control socket of `litestream`, all that is written waits for its copy."""
        self.url = parse_url(url)
        self.clock = clock
        self.cache = Cache()
        self._committed = time.monotonic()
        """When a transaction was last committed here; at first, when this process began."""
        self._switches: set[Switch] = set()
        self._provided: dict[SharedPart[Any], Any] = {}
        self._hooks: list[tuple[Note[Any], Callable[[list[Any]], object]]] = []
        self.kind = self.url.get_backend_name()
        self._engine: Sqlite | Postgresql
        self._litestream: Litestream | None = None
        if self.kind == "sqlite":
            self._engine = Sqlite(self.url)
            self._reading, self._writing = Turns(READERS), Turns(1)
            if litestream is not None:
                self._litestream = Litestream(litestream, self.url.database or "")
        else:
            self._engine = Postgresql(self.url, pool_size, pooled=pooled)
            self._reading = self._writing = Turns(pool_size)

    async def write(self, use_case: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run `use_case` in a transaction that may write, and return its result after the commit and its copy by Litestream.

        After a deadlock, a serialisation failure or TryAgain everything is rolled back, and it is tried again.
        Raises DatabaseUnavailable if the database cannot be reached or is busy for too long, and whatever the use case raises.
        For a client (`turns.ASKER`) it also raises Busy if too many wait, and HangUp if the client has gone by its turn.
        """
        if self._litestream is not None:
            await self._litestream.back()
        for attempt in range(1, PASSING_TRIES + 1):
            try:
                answer, tx = await self.transact(use_case, args, kwargs, writes=True)
                break
            except TryAgain as error:
                if attempt == PASSING_TRIES:
                    raise DatabaseUnavailable(str(error)) from error
                await asyncio.sleep(0.01 * attempt)
        else:
            raise AssertionError("the last attempt succeeds or raises")
        try:
            if self._litestream is not None:
                self._litestream.committed()
                await self._litestream.copied()
            self._committed = time.monotonic()
        finally:
            self._hand_over(tx)  # also of a commit in doubt: it is done here, and ends may have moved
        return answer

    def _hand_over(self, tx: Transaction) -> None:
        if tx.notes:
            for note, hook in self._hooks:
                if noted := tx.notes.get(note):
                    hook(noted)

    def after_commit(self, note: Note[V], hook: Callable[[list[V]], object]) -> None:
        """Call `hook` in the event loop with the values that a transaction noted, once it has read or committed."""
        self._hooks.append((note, hook))

    def switch_on(self, switch: Switch) -> None:
        """Switch a setting of the house on, for all transactions from now on."""
        self._switches.add(switch)

    def provide(self, part: SharedPart[V], value: V) -> None:
        """Give all transactions from now on this part, for use cases that ask for it."""
        self._provided[part] = value

    def provided(self, part: SharedPart[V]) -> V | None:
        """Return what an area provides as this part, for work outside a transaction; None if none does."""
        return self._provided.get(part)

    async def read(self, use_case: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run `use_case` in a transaction that only reads. Raises as `write` does.

        For a client it is stopped after `READ_SECONDS_MAX` (Busy), or once the client has gone (HangUp). A read by a task of
        the house, or by a use case that awaits a copy, ends once Litestream has copied all of it: it goes out to others.
        """
        try:
            answer, tx = await self.transact(use_case, args, kwargs, writes=False)
        except TryAgain as error:
            raise DatabaseUnavailable(str(error)) from error
        if self._litestream is not None and (WORK.get() is not None or tx.awaits_copy):
            # It may have read what a thread or another process committed a moment ago, and nobody has said so here yet.
            self._litestream.committed()
            await self._litestream.copied()
        self._hand_over(tx)
        return answer

    async def transact(
        self, use_case: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any], *, writes: bool
    ) -> tuple[R, Transaction]:
        """Run one transaction in its turn, and keep the values that it put into the cache; for `write` and `read`."""
        brief, rank = marks(use_case)

        def work(connection: Connection) -> tuple[R, Transaction]:
            tx = Transaction(connection, self.clock, self.cache, self._switches, self._provided)
            if rank is Rank.COSTLY and self.kind == "postgresql":
                # If this process is killed, nothing else stops the statement.
                connection.exec_driver_sql(f"SET LOCAL statement_timeout = {round(2000 * READ_SECONDS_MAX)}")
            return use_case(tx, *args, **kwargs), tx

        if brief and not writes and self.kind == "sqlite":
            answer, tx = await self._engine.run(work, writes=False, brief=True)  # it takes no place, as it never waits
        else:
            answer, tx = await self._in_turn(rank, work, writes=writes, brief=brief)
        for key, values in tx.cached:
            self.cache[key].update(values)
        if (last := WORK.get()) is not None:
            last.at = self.clock_now()
        return answer, tx

    async def _in_turn(self, rank: Rank | None, work: Callable[[Connection], R], *, writes: bool, brief: bool) -> R:
        """Run one transaction when its turn comes."""
        limits = {"seconds_max": WORK_SECONDS_MAX} if rank is Rank.HOUSE and self.kind == "postgresql" else {}
        asker = None if rank is Rank.HOUSE else ASKER.get()
        if rank is None:
            rank = Rank.HOUSE if asker is None else Rank.ORDINARY
        turns = self._writing if writes else self._reading
        place = await turns.take(rank, asker)
        try:
            running = self._engine.run(work, writes=writes, brief=brief, **limits)
            if asker is None or writes:
                return await running
            return await within_limits(asker, READ_SECONDS_MAX, running)
        finally:
            turns.leave(place)

    def clock_now(self) -> datetime:
        """Return this process's clock (UTC): it shows when a request arrived, but decides nothing."""
        return datetime.now(UTC) if self.clock is None else self.clock()

    def seconds_until(self, instant: datetime) -> float:
        """Return the seconds until `instant` by this process's clock: for sleeping, never for deciding."""
        return (instant - self.clock_now()).total_seconds()

    def seconds_without_commit(self) -> float:
        """Return for how long this process has committed nothing. The heartbeat of the house commits every five seconds."""
        return time.monotonic() - self._committed

    def is_copied(self) -> bool:
        """Return whether Litestream copied what was written last, or is not asked to."""
        return self._litestream is None or not self._litestream.is_away

    def occupancy(self) -> Occupancy:
        """Return how full the places for transactions are, those that read and those that write."""
        found = self._writing.occupancy()
        return found if self._reading is self._writing else found.plus(self._reading.occupancy())

    def look_at_file(self) -> None:
        """Let all transactions fail while the file of SQLite is gone from its place. The closer asks for it at each round."""
        if isinstance(self._engine, Sqlite):
            self._engine.look_at_file()

    async def check(self) -> None:
        """Raise DatabaseUnavailable if the database cannot be reached, or not safely with these settings."""
        if isinstance(self._engine, Postgresql):
            await self._engine.check()

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.close()
        if self._litestream is not None:
            await self._litestream.close()


def shown_url(url: URL) -> str:
    """Return a database URL without its password and driver, for people."""
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def parse_url(text: str) -> URL:
    """Return the database URL that people write, for the drivers used here.

    Takes `sqlite:///file`, `postgresql://` and `postgres://` (with or without a driver, with libpq's `sslmode` and `host`).
    Raises ValueError naming the fault, never the password.
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
