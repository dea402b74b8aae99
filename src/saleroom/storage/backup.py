"""Copies of a SQLite database: made while it is in use, checked, and put in the place of another.

The copy is `VACUUM INTO`: one read transaction, for which no writer waits (docs/decisions/0032 has the alternatives that
were measured). A file is checked before it replaces the database, and the old database is kept.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from saleroom.storage.database import SharedPart, Transaction
from saleroom.storage.files import COMPANIONS, beside, publish
from saleroom.storage.migrations import FIRST_TABLES
from saleroom.storage.sqlite import REMEDIES

Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and how much there is; 0 if that is not known."""

TURN = 20_000
"""Steps of SQLite's virtual machine between two reports of progress: some milliseconds."""
COPIED_BYTES = 1 << 20
_OF_THE_FILE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
"""Faults of a file or of its disk; any other fault of a transaction here is a bug."""
_LOCK_BYTES = (512, 0x40000000)
"""The bytes that SQLite locks in a database, however large: PENDING, RESERVED and SHARED of its file format."""


class ForeignDatabase(Exception):
    """The file is not a complete SQLite database of this program; the message says why."""


class DatabaseInUse(Exception):
    """Another process has the database open."""


def copy(source: Path, target: Path, tell: Progress) -> None:
    """Copy the database as it is at this instant into the empty file `target`. Readers and writers are not held up.

    Raises ForeignDatabase if `source` is not a SQLite database, OSError if it cannot be read or written, KeyboardInterrupt.
    """
    with _connected(source) as connection:
        size = _number(connection, "page_count") * _number(connection, "page_size")
        with _watched(connection, lambda: tell("copying", target.stat().st_size, size)):
            connection.execute("VACUUM INTO ?", (str(target),))


def check(file: Path, tell: Progress) -> str:
    """Return the revision of an undamaged database of this program. Raises ForeignDatabase."""
    with _connected(file) as connection, _watched(connection, lambda: tell("checking", 0, 0)):
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if FIRST_TABLES - tables:
            raise ForeignDatabase("it is a SQLite database, but not one of saleroom's")
        for pragma in ("integrity_check", "foreign_key_check"):
            found = connection.execute(f"PRAGMA {pragma}").fetchone()
            if found not in (None, ("ok",)):
                raise ForeignDatabase(f"it is damaged: {found[0]} ({pragma})")
        revisions = [str(revision) for (revision,) in connection.execute("SELECT version_num FROM alembic_version")]
        if len(revisions) != 1:
            raise ForeignDatabase(
                "it does not say its revision" if not revisions else "it is at several revisions at once"
            )
        return revisions[0]


@contextmanager
def transaction(file: Path, provided: Mapping[SharedPart[Any], Any] = MappingProxyType({})) -> Iterator[Transaction]:
    """Begin a transaction on a database that nobody else has open, whatever its name; commit it at the end.

    `provided` are the parts that areas provide for its use cases.
    """

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    try:
        with engine.begin() as connection:
            yield Transaction(connection, provided=provided)
    except DatabaseError as error:
        if isinstance(error.orig, sqlite3.DatabaseError) and _code(error.orig) in _OF_THE_FILE:
            raise _meant(file, error.orig) from error
        raise


def refuse_in_use(database: Path) -> None:
    """Raise DatabaseInUse while another process has the database open, and leave it as it is. Raises OSError."""
    with database.open("r+b") as file:
        _lock(file)


@contextmanager
def claimed(database: Path) -> Iterator[BinaryIO]:
    """Keep every other process from using the database, and leave it as one file, which this opens; there must be one.

    A process that opens it meanwhile waits, and is refused if the file was replaced: SQLite notices that it was moved.
    A damaged database is claimed as well. Nothing else in this process may open the file: the system releases the lock as
    soon as any descriptor of it is closed. Raises DatabaseInUse, OSError.
    """
    folded = _folded(database)
    with database.open("r+b") as file:
        _lock(file)
        if folded and any(Path(f"{database}{suffix}").exists() for suffix in COMPANIONS):
            raise DatabaseInUse  # another process opened and closed it between the two lines above
        yield file


def _lock(file: BinaryIO) -> None:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, *_LOCK_BYTES)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise DatabaseInUse from error
        raise


def replace(database: Path, by: Path, kept: Path) -> bool:
    """Replace `database` with the file `by` in one step, after copying the old database to `kept`.

    Returns whether there was an old one. Raises DatabaseInUse, FileExistsError for `kept`, OSError; then nothing has changed.
    """
    with suppress(FileExistsError):
        os.close(os.open(database, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with claimed(database) as file:
        before = database.stat()
        if before.st_size:
            _keep(file, kept)
        with suppress(PermissionError):  # only root may change the owner; other users own the file already
            os.chown(by, before.st_uid, before.st_gid)
        for suffix in COMPANIONS:
            Path(f"{database}{suffix}").unlink(missing_ok=True)
        publish(by, database, force=True)
    return before.st_size > 0


def _keep(database: BinaryIO, kept: Path) -> None:
    """Copy a claimed database, its own file last: if a file of that name exists, the copy is complete."""
    for suffix in ("-wal", "-journal"):
        source = Path(f"{database.name}{suffix}")
        if source.exists():
            with source.open("rb") as file:
                _keep_one(file, Path(f"{kept}{suffix}"))
    _keep_one(database, kept)


def _keep_one(source: BinaryIO, target: Path) -> None:
    with beside(target) as part:
        with part.open("wb") as copied:
            shutil.copyfileobj(source, copied, COPIED_BYTES)
        publish(part, target)


def _folded(database: Path) -> bool:
    """Merge the journal beside the database into it; False if it is too damaged for that. Raises DatabaseInUse, OSError."""
    try:
        with _connected(database, "ro") as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except ForeignDatabase:
        return False  # opening it for writing could already destroy the journal
    except OSError:
        pass  # files that only a writer may create are missing beside it
    with closing(sqlite3.connect(database, timeout=1, isolation_level=None)) as connection:
        try:
            # This needs an exclusive lock, and every process that has the database open in WAL mode holds a lock on it.
            return bool(connection.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",))
        except sqlite3.DatabaseError as error:
            code = _code(error)
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise DatabaseInUse from error
            if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                return False
            raise OSError(f"{database}: {error}") from error


@contextmanager
def _connected(file: Path, mode: str | None = None) -> Iterator[sqlite3.Connection]:
    """Open an existing database. Raises ForeignDatabase if it is not a database, OSError for any other fault."""
    # For writing if that is allowed: SQLite then recovers the journal that a killed process has left.
    mode = mode or ("rw" if os.access(file, os.W_OK) else "ro")
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode={mode}", uri=True, timeout=30)) as connection:
            yield connection
    except sqlite3.DatabaseError as error:
        raise _meant(file, error) from error


def _meant(file: Path, error: sqlite3.DatabaseError) -> BaseException:
    """Return what an error of SQLite means for a command."""
    match _code(error):
        case sqlite3.SQLITE_INTERRUPT:
            return KeyboardInterrupt()
        case sqlite3.SQLITE_FULL:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # `beside` names the file that is written
        case sqlite3.SQLITE_NOTADB:
            return ForeignDatabase("it is not a SQLite database")
        case sqlite3.SQLITE_CORRUPT:
            return ForeignDatabase(f"it is damaged: {error}")
    remedy = REMEDIES.get(_code(error))
    return OSError(f"{file}: {error}" + (f"; {remedy}" if remedy else ""))


def _code(error: sqlite3.DatabaseError) -> int:
    """Return SQLite's primary result code of an error."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@contextmanager
def _watched(connection: sqlite3.Connection, look: Callable[[], None]) -> Iterator[None]:
    """Call `look` while statements run; Ctrl-C ends a statement."""
    connection.set_progress_handler(look, TURN)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
