"""A database that returns to an earlier state, under the processes that go on using it.

A failover to an asynchronous standby does that, and so does a backup restored by other means than `saleroom restore`.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing

import asyncpg
from sqlalchemy import make_url

from tests.patience import SECONDS_MAX

TRIES = 100


@asynccontextmanager
async def standby(url: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Copy the database as it is now; the yielded function puts the copy in its place, and everything since is lost."""
    if make_url(url).get_backend_name() == "sqlite":
        with closing(sqlite3.connect(":memory:")) as copy:
            _copy(str(make_url(url).database), copy)
            yield lambda: _put_back(copy, str(make_url(url).database))
        return
    name = str(make_url(url).database)
    server = await asyncpg.connect(make_url(url).set(database="postgres").render_as_string(hide_password=False))
    try:
        await _clone(server, name, f"{name}_standby")
        yield lambda: _fail_over(server, name)
    finally:
        await server.execute(f"DROP DATABASE {name}_standby WITH (FORCE)")
        await server.close()


def _copy(file: str, target: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(file)) as source:
        source.backup(target)


async def _put_back(copy: sqlite3.Connection, file: str) -> None:
    with closing(sqlite3.connect(file, timeout=SECONDS_MAX)) as target:
        copy.backup(target)


async def _fail_over(server: asyncpg.Connection, name: str) -> None:
    """Lose all connections and the later commits; the next connections find the standby."""
    await server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await _clone(server, f"{name}_standby", name)


async def _clone(server: asyncpg.Connection, source: str, target: str) -> None:
    for _ in range(TRIES):
        await server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", source)
        try:
            await server.execute(f"CREATE DATABASE {target} TEMPLATE {source} STRATEGY FILE_COPY")
        except asyncpg.ObjectInUseError:
            await asyncio.sleep(0.05)
        else:
            return
    raise AssertionError(f"{source} is always in use")
