"""Transactions on PostgreSQL: the pool, lost connections, and the meaning of its errors."""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn, TypeVar

import asyncpg
from sqlalchemy import URL, Connection, ExceptionContext, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from saleroom.storage.faults import DatabaseUnavailable, LockTimeout, TryAgain
from saleroom.storage.files import NO_ROOM

R = TypeVar("R")

DRIVER_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""asyncpg raises InternalClientError if the server closes the connection while a statement begins."""
_PASSING_SQLSTATES = frozenset({"40001", "40P01"})
_AWAY_SQLSTATES = ("08", "25P0", "28", "3D", "53", "57P0", "58")
"""Connection lost or refused, idle for too long, wrong password, no such database, no resources (such as a full disk),
shutting down, an error of the machine (such as a disk's)."""
_REFUSED_SQLSTATES = frozenset({"25006", "57014"})
"""Read-only, cancelled by an administrator: trying again at once would not help."""
_LOCK_TIMEOUT = "55P03"
_READ_ONLY = "25006"
LOCK_SECONDS_MAX = 10.0
"""How long a statement waits for another session's lock, such as a repair; the house holds its own for milliseconds."""
SILENCE_SECONDS_MAX = 15.0
"""How long either end waits for a sign of the other machine. If the power or a cable fails, no packet ends the connection;
without this limit the house waits for some 15 minutes, and the server keeps the house's locks for two hours."""
_PROBES = 3
PRIVATE_PARTS = ("_transport", "_introspect_types")
"""The members of asyncpg's connections that lead to their socket, and that ask the server about types; no public ones do.
pyproject.toml bounds the versions."""
_FIXED_TYPES = 10_000
"""The types below this number, such as `bigint[]`, are the same in each database of each version of PostgreSQL."""
CONNECT_SECONDS_MAX = 10.0
WORK_SECONDS_MAX = 20.0
"""How long the statements of a transaction of the sale itself may take; it is longer than any wait for a lock. A server whose
disk hangs answers nothing, and its machine still does."""
COMMIT_SECONDS_MAX = 30.0
"""How long a commit may take, such as one that waits for a standby. After it nobody knows whether it was done."""
_WARNINGS = "saleroom.warnings"
"""Where a connection keeps the warnings of the server."""
STANDBYS_SECONDS = 5.0
"""How long a connection takes it for true that its server waits for standbys, or for none."""
_STANDBYS = "saleroom.standbys"
"""Where a connection keeps whether its server waits for standbys, and when it asked."""
_ABOUT_STANDBYS = "SELECT current_setting('synchronous_standby_names'), pg_is_in_recovery()"
_MESSAGE = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_logical_emit_message(true, 'saleroom', '') END"
_TIMELINE = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END"
_AWAITS = "saleroom.awaits"
"""Where a connection notes that the commit of its transaction waits, although it only reads."""
_STRANGE_STATEMENTS = frozenset({"26000", "42P05"})
"""A prepared statement does not exist, or exists already: the session is another one."""
_POOLER_FOUND = (
    "a pooler such as PgBouncer gives each transaction another session; "
    "set database_pooler to transaction, or let the pooler keep prepared statements (PgBouncer 1.21, max_prepared_statements)"
)
_UNNAMED = {"statement_cache_size": 0}
"""Without its cache the driver gives a statement no name, and sends its text along with each execution."""
_NO_STATEMENT = SimpleNamespace(name="none")
"""By a name asyncpg tells that its query for types has not replaced the statement without a name that it prepared before."""


class _Session(asyncpg.Connection):  # type: ignore[misc]  # asyncpg carries no types
    """A connection that knows the fixed types about which another one of this process has asked its server.

    Otherwise each connection asks about each kind of array, with a query that costs its server more than a transaction of bids.
    """

    __slots__ = ()
    _known: ClassVar[dict[frozenset[int], Any]] = {}

    async def _introspect_types(self, typeoids: Iterable[int], timeout: float | None) -> tuple[Any, Any]:  # noqa: ASYNC109  # asyncpg's
        """Return the descriptions of types, and the statement that asked for them; without one no statement was lost."""
        asked = frozenset(typeoids)
        if asked in self._known:
            return self._known[asked], _NO_STATEMENT
        types, statement = await super()._introspect_types(asked, timeout)
        if max(asked) < _FIXED_TYPES:
            self._known[asked] = types
        return types, statement


class Postgresql:
    """A pool over asyncpg. READ COMMITTED is enough, as every decision is made under its auction's row lock.

    `pooled` says that another pooler stands before the server and gives each transaction another session of it: nothing
    then outlives a transaction, so statements have no names and are parsed again each time (docs/decisions/0016).
    """

    def __init__(self, url: URL, pool_size: int, *, pooled: bool) -> None:
        self._pooled = pooled
        self._engine = create_async_engine(
            url,
            pool_size=pool_size,
            max_overflow=0,
            pool_use_lifo=True,  # the session of the last transaction knows the tables and has planned the statements
            pool_timeout=10,
            hide_parameters=True,  # an error that is logged must not show digests, limits or reserves
            connect_args={"timeout": CONNECT_SECONDS_MAX, "connection_class": _Session} | (_UNNAMED if pooled else {}),
        )
        event.listen(self._engine.sync_engine, "handle_error", _leave)
        event.listen(self._engine.sync_engine, "connect", _probe)
        event.listen(self._engine.sync_engine, "connect", _keep_warnings)
        if not pooled:
            event.listen(self._engine.sync_engine, "connect", _be_impatient)

    async def run(
        self, work: Callable[[Connection], R], *, writes: bool, brief: bool = False, seconds_max: float | None = None
    ) -> R:
        """Run `work` in a transaction; run it again if the connection is lost before the commit, which undoes it.

        After `seconds_max` the connection is cut off, and it is not run again.
        """
        for again in (True, False):
            step = "connect"
            limit = _Limit()
            try:
                async with self._engine.connect() as connection:
                    step = "work"
                    if seconds_max is None:
                        answer = await connection.run_sync(work)
                    else:
                        with limit.of(await _driver(connection), seconds_max):
                            answer = await connection.run_sync(work)
                    step = "commit"
                    connection.info[_WARNINGS].clear()
                    waits = connection.info.pop(_AWAITS, False) or writes
                    await (_commit(connection) if waits else connection.commit())
                    if warnings := connection.info[_WARNINGS]:
                        # As when somebody ends the wait for a standby: the commit is done here, and may be lost.
                        await connection.invalidate()
                        raise DatabaseUnavailable(f"PostgreSQL: {warnings[0]}, at the commit")
                    return answer
            except DBAPIError as error:
                if limit.passed:
                    raise DatabaseUnavailable(f"PostgreSQL: no answer within {seconds_max:g} seconds") from error
                if again and step == "work" and error.connection_invalidated:
                    continue
                self._explain(error, step)
                raise
            except (OSError, PoolTimeout) as error:
                if step == "work" and _is_of_a_file(error):
                    raise
                raise DatabaseUnavailable(f"PostgreSQL: {in_words(error)}") from error
        raise AssertionError("the second time returns or raises")

    def _explain(self, error: DBAPIError, step: str) -> None:
        """Raise DatabaseUnavailable or TryAgain for a fault of the driver that is not a bug."""
        state = getattr(error.orig, "sqlstate", None) or ""
        if state in _PASSING_SQLSTATES:
            raise TryAgain(f"PostgreSQL: {type(error.orig).__name__}") from error
        if state in _STRANGE_STATEMENTS and not self._pooled:
            raise DatabaseUnavailable(f"PostgreSQL: {_POOLER_FOUND}") from error
        if state == _LOCK_TIMEOUT:
            raise LockTimeout(f"PostgreSQL: {in_words(error.orig)}") from error
        if state in _REFUSED_SQLSTATES:
            raise DatabaseUnavailable(f"PostgreSQL: {in_words(error.orig)}") from error
        if error.connection_invalidated or state.startswith(_AWAY_SQLSTATES):
            if step == "work":
                raise TryAgain(f"PostgreSQL: {in_words(error.orig)}") from error
            raise DatabaseUnavailable(f"PostgreSQL: {in_words(error.orig)}, at the {step}") from error

    async def check(self) -> None:
        """Raise DatabaseUnavailable behind a pooler that shares sessions among transactions and that the settings do not name.

        Behind it the name of a statement may be another process's statement. Such a pooler is recognized because a
        statement stays in the session after the connection that prepared it has closed.
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
            raise DatabaseUnavailable(f"PostgreSQL: {_POOLER_FOUND}")

    async def close(self) -> None:
        """Give all connections back."""
        await self._engine.dispose()


def await_standbys(connection: Connection) -> None:
    """Let this transaction commit only once the standbys have all that it has read, if its server waits for any.

    The server shows a commit before its standbys have it if somebody ended the wait, or if the server started again. A message
    in its log makes a transaction one that writes: its commit waits for a place in the log behind all that it has read. That
    needs no rights, and the server itself decides which standbys count. An id alone would not wait.

    Raises DatabaseUnavailable on a server that is a standby itself.
    """
    known: tuple[float, bool] | None = connection.info.get(_STANDBYS)
    if known is None or time.monotonic() - known[0] > STANDBYS_SECONDS:
        names, is_standby = connection.exec_driver_sql(_ABOUT_STANDBYS).one()
        if is_standby:  # it awaits nobody itself, and after a failover it may have what the primary has not
            _leave_standby(connection)
        connection.info[_STANDBYS] = known = time.monotonic(), bool(names)
    if known[1]:
        if connection.exec_driver_sql(_MESSAGE).scalar() is None:
            _leave_standby(connection)
        connection.info[_AWAITS] = True


def timeline(connection: Connection) -> str:
    """Return the timeline of the server, which is another one after each failover. It needs no rights.

    Raises DatabaseUnavailable on a server that is a standby.
    """
    found: str | None = connection.exec_driver_sql(_TIMELINE).scalar()
    if found is None:
        _leave_standby(connection)
    return found


def _leave_standby(connection: Connection) -> NoReturn:
    connection.invalidate()  # the next one finds the primary
    raise DatabaseUnavailable("PostgreSQL: the server is a standby, which has not what the primary has")


class _Limit:
    """Cuts a connection off if its work takes too long; `passed` says that it did."""

    def __init__(self) -> None:
        self.passed = False

    @contextmanager
    def of(self, driver: Any, seconds: float) -> Iterator[None]:
        """Cut `driver` off after `seconds`, unless this ends before."""

        def cut() -> None:
            self.passed = True
            driver.terminate()

        timer = asyncio.get_running_loop().call_later(seconds, cut)
        try:
            yield
        finally:
            timer.cancel()


def _is_of_a_file(error: Exception) -> bool:
    """Return whether a file failed that the work reads or writes, such as that of an export: no connection has a name."""
    return isinstance(error, OSError) and (error.filename is not None or error.errno in NO_ROOM)


async def _driver(connection: AsyncConnection) -> Any:
    return (await connection.get_raw_connection()).driver_connection


async def _commit(connection: AsyncConnection) -> None:
    """Commit even if this task is cancelled: the driver would end the wait for a standby, and the server would then commit.

    After `COMMIT_SECONDS_MAX` the connection is cut off, which fails as a lost one does.
    """
    driver = await _driver(connection)
    commit = asyncio.ensure_future(connection.commit())
    deadline = asyncio.get_running_loop().call_later(COMMIT_SECONDS_MAX, driver.terminate)
    try:
        await asyncio.shield(commit)
    except asyncio.CancelledError:
        await asyncio.wait({commit})  # the connection must not be given back while it commits
        commit.cancelled() or commit.exception()  # otherwise asyncio logs it as never retrieved
        raise
    finally:
        deadline.cancel()


def in_words(error: BaseException | None) -> str:
    """Return for the house's operator why a statement or a connection failed."""
    match error.__cause__ if error is not None and isinstance(error.__cause__, DRIVER_ERRORS) else error:
        case asyncpg.InternalClientError():  # its text is about the driver's states
            return "the server closed the connection"
        case TimeoutError():
            return "no answer in time"
        case own:
            return str(own) or type(own).__name__


def _leave(context: ExceptionContext) -> None:
    """Replace connections that have become useless.

    A read-only connection leads to a server that became the standby in a failover.
    """
    error = context.original_exception
    own = isinstance(error.__cause__, asyncpg.InternalClientError)
    if own or getattr(error, "sqlstate", None) == _READ_ONLY:
        context.is_disconnect = True


def _probe(connection: DBAPIConnection, _: object) -> None:
    """Let this machine close a connection when the server's machine no longer responds. A slow answer does not count."""
    transport = getattr(connection.driver_connection, PRIVATE_PARTS[0])
    end = transport.get_extra_info("socket")
    if end.family == socket.AF_UNIX:
        return
    end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    probing = {
        "TCP_KEEPIDLE": round(SILENCE_SECONDS_MAX / _PROBES),
        "TCP_KEEPINTVL": round(SILENCE_SECONDS_MAX / _PROBES),
        "TCP_KEEPCNT": _PROBES,
        "TCP_USER_TIMEOUT": round(1000 * SILENCE_SECONDS_MAX),
    }
    for name, value in probing.items():
        if hasattr(socket, name):  # not every system has each
            end.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _keep_warnings(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    """Keep what the server warns of: a commit that it warns of is in doubt. The house causes no other warning."""
    warnings: list[str] = []
    record.info[_WARNINGS] = warnings

    def keep(_: Any, message: asyncpg.PostgresLogMessage) -> None:
        if message.severity_en == "WARNING":
            warnings.append(message.message)

    connection.driver_connection.add_log_listener(keep)


def _be_impatient(connection: DBAPIConnection, _: object) -> None:
    """Set how long the server waits for locks, and for a machine that has fallen silent.

    It is not sent as a parameter of the connection: a pooler may refuse that.
    """
    limits = {
        "lock_timeout": round(1000 * LOCK_SECONDS_MAX),
        "tcp_keepalives_idle": round(SILENCE_SECONDS_MAX / _PROBES),
        "tcp_keepalives_interval": round(SILENCE_SECONDS_MAX / _PROBES),
        "tcp_keepalives_count": _PROBES,
        "tcp_user_timeout": round(1000 * SILENCE_SECONDS_MAX),
    }
    cursor = connection.cursor()
    cursor.execute("SELECT " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in limits.items()))
    cursor.close()
    connection.commit()
