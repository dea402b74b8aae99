"""Transactions on SQLite: threads, turns, and the meaning of its errors."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TypeVar, cast

from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event
from sqlalchemy.exc import DatabaseError, OperationalError

from saleroom.storage.faults import DatabaseDamaged, DatabaseUnavailable

R = TypeVar("R")

READERS = 5
"""Threads that read; `storage/turns.py` assigns them. Strangers have three of them, costly reads one."""
INTERRUPT_SECONDS = 0.05
"""How often a read that is no longer wanted is interrupted: between two of its statements that goes unnoticed."""
BUSY_SECONDS = 30
WRITER_CACHE_KIB = 16_384
"""Pages that the connection of brief writes, such as those of bids, keeps. With the usual 2 MB each batch reads them again."""
_RIGHTS = "run this as the account of the house, or let this account write the file and its folder"
REMEDIES = {
    sqlite3.SQLITE_BUSY: "another program has it in use",
    sqlite3.SQLITE_LOCKED: "another program has it in use",
    sqlite3.SQLITE_READONLY: _RIGHTS,
    sqlite3.SQLITE_IOERR: "look at its disk",
    sqlite3.SQLITE_FULL: "make room on its disk",
    sqlite3.SQLITE_CANTOPEN: f"look at its path, {_RIGHTS}",
}
"""Faults of the file, not of the statement, and what to do about each."""
_GONE = "bring it back, or end the house and restore a backup"


class Sqlite:
    """One writer at a time, as SQLite has one anyway, and a few readers beside it (WAL); `storage/turns.py` sees to both.

    Transactions run in threads of their own. Brief ones run in the event loop's thread, so that no other thread competes
    for the interpreter's lock; only their commit, which waits for the disk, goes to a thread.
    """

    def __init__(self, url: URL) -> None:
        self._file = Path(url.database or "")
        create_private(self._file)
        self._identity = _identity(self._file)
        self._is_gone = False
        self._engines = {
            (writes, brief): _engine(url, writes=writes, brief=brief)
            for writes in (True, False)
            for brief in (True, False)
        }
        self._writer = ThreadPoolExecutor(1, "sqlite-writer")
        self._readers = ThreadPoolExecutor(READERS, "sqlite-reader")

    async def run(self, work: Callable[[Connection], R], *, writes: bool, brief: bool) -> R:
        """Run `work` in a transaction. A brief one also goes to a thread if it would have to wait for another process.

        Call it for one write at a time. When it is cancelled, a read is interrupted, and a write is waited for.
        """
        if self._is_gone:
            raise DatabaseUnavailable(f"SQLite: {self._file} is no longer the file that was opened; {_GONE}")
        try:
            if brief:
                with contextlib.suppress(_OtherWriter):
                    return await self._run_here(work, writes=writes)
            return await self._run_in_thread(work, writes=writes)
        except DatabaseError as error:
            if _is_damaged(error):
                raise DatabaseDamaged(str(error.orig)) from error
            remedy = REMEDIES.get(_code(error.orig)) if isinstance(error, OperationalError) else None
            if remedy is not None:
                raise DatabaseUnavailable(f"SQLite: {error.orig}; {remedy}") from error
            raise

    def look_at_file(self) -> None:
        """Let all transactions fail while another file, or none, is where this opened one.

        SQLite goes on writing to a file that was moved or deleted, and nobody would find those bids again.
        """
        self._is_gone = self._identity is not None and _identity(self._file) != self._identity

    async def _run_in_thread(self, work: Callable[[Connection], R], *, writes: bool) -> R:
        reading = _ReadConnection()

        def transaction() -> R:
            with self._engines[writes, False].begin() as connection:
                if writes:
                    return work(connection)
                with reading.on(connection):
                    return work(connection)

        threads = self._writer if writes else self._readers
        thread = asyncio.get_running_loop().run_in_executor(threads, transaction)
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            # The turn ends only when the thread does.
            while not thread.done():
                reading.interrupt()
                await asyncio.wait({thread}, timeout=INTERRUPT_SECONDS)
            thread.cancelled() or thread.exception()  # otherwise asyncio logs it as never retrieved
            raise

    async def _run_here(self, work: Callable[[Connection], R], *, writes: bool) -> R:
        with self._begun(writes=writes) as connection:
            answer = work(connection)
            if writes:
                commit = asyncio.get_running_loop().run_in_executor(self._writer, connection.commit)
                try:
                    await asyncio.shield(commit)
                except asyncio.CancelledError:
                    # The connection must not be closed while the thread uses it.
                    await asyncio.wait({commit})
                    raise
            return answer

    def _begun(self, *, writes: bool) -> Connection:
        """Return a connection that has begun a transaction. Raises _OtherWriter if it would have to wait."""
        connection = None
        try:
            connection = self._engines[writes, True].connect()
            connection.begin()
        except OperationalError as error:
            if connection is not None:
                connection.close()
            if _code(error.orig) == sqlite3.SQLITE_BUSY:
                raise _OtherWriter from error
            raise
        return connection

    async def close(self) -> None:
        """Give all connections back."""
        for threads in (self._writer, self._readers):
            await asyncio.to_thread(threads.shutdown)
        for engine in self._engines.values():
            engine.dispose()


class _ReadConnection:
    """The connection on which a thread reads, while it reads."""

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._one_decides = Lock()

    @contextlib.contextmanager
    def on(self, connection: Connection) -> Iterator[None]:
        """Let the transaction on `connection` be interrupted."""
        self._connection = cast("sqlite3.Connection", connection.connection.driver_connection)
        try:
            yield
        finally:
            with self._one_decides:  # from here on the connection may be another transaction's
                self._connection = None

    def interrupt(self) -> None:
        """Make the running statement fail, if there is one."""
        with self._one_decides:
            if self._connection is not None:
                self._connection.interrupt()


class _OtherWriter(Exception):
    """Another process is writing."""


def _identity(file: Path) -> tuple[int, int] | None:
    """Return which file is at a place; None if there is none, or nobody may look."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def create_private(path: Path) -> bool:
    """Make a new file readable by its owner alone: it holds digests of passwords and limits of bidders.

    Returns whether this made it: an existing file stays as it is, and an impossible one fails when it is opened.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError:
        return False
    return True


def remove_if_empty(path: Path) -> None:
    """Remove a database that has no tables, unless another program has it open."""
    with contextlib.suppress(sqlite3.Error, OSError):
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as connection:
            [mode] = connection.execute("PRAGMA journal_mode=DELETE").fetchone()  # not while another connection is open
            connection.execute("BEGIN EXCLUSIVE")
            if mode == "delete" and connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None:
                path.unlink()


def _engine(url: URL, *, writes: bool, brief: bool) -> Engine:
    busy_seconds = 0 if brief else BUSY_SECONDS

    def connect() -> sqlite3.Connection:
        # `mode=rw` makes no file: one that was moved away while the house serves would be replaced by an empty one.
        file = f"{Path(url.database or '').absolute().as_uri()}?mode=rw"
        return sqlite3.connect(file, uri=True, timeout=busy_seconds, check_same_thread=False)

    engine = create_engine(url, hide_parameters=True, creator=connect)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        # The driver's own transactions begin late and lose updates; ours begin where `begin` says.
        connection.isolation_level = None
        _use_wal(connection, busy_seconds)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        if writes and brief:
            connection.execute(f"PRAGMA cache_size=-{WRITER_CACHE_KIB}")
            # A statement of many rows copies each page that it changes, so that it can fail alone: 4 MB for 512 bids at
            # most. Beyond 64 KB the copies go to a temporary file, which takes two writes for each page.
            connection.execute("PRAGMA temp_store=MEMORY")

    @event.listens_for(engine, "handle_error")
    def reopen(context: ExceptionContext) -> None:
        # A file that was not writable when it was opened stays read-only for that connection.
        if _code(context.original_exception) == sqlite3.SQLITE_READONLY:
            context.is_disconnect = True

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _is_damaged(error: DatabaseError) -> bool:
    """Return whether an error says that the file is damaged, or is not one of SQLite."""
    return _code(error.orig) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def _code(error: BaseException | None) -> int:
    """Return SQLite's primary result code of an error, 0 for another's."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Set the journal's mode. If several processes start on a new file, SQLite says `busy` at once, despite its timeout."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
