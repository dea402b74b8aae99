"""A server whose commits wait for a standby that never comes, for tests of what waits along."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
from sqlalchemy import make_url

from saleroom.storage.database import Database
from saleroom.storage.migrations import migrate
from tests.fixtures_database import embedded_server
from tests.patience import SECONDS_MAX

STANDBY = "synchronous_standby_names"


@pytest.fixture(scope="module")
def own_server() -> Iterator[Any]:
    """A server that these tests alone use, with the database `empty`, which has tables and no rows."""
    with embedded_server() as started:
        asyncio.run(_make_empty(started.get_uri()))
        yield started


async def _make_empty(server: str) -> None:
    session = await asyncpg.connect(server)
    await session.execute("CREATE DATABASE empty")
    await session.close()
    database = Database(_of(server, "empty"))
    await database.write(migrate)
    await database.close()


def _of(server: str, name: str) -> str:
    return make_url(server).set(database=name).render_as_string(hide_password=False)


@pytest.fixture
async def server(own_server: Any) -> AsyncIterator[str]:
    """The URL of a database of that server; at the end no commit waits."""
    address = own_server.get_uri()
    session = await asyncpg.connect(address)
    await session.execute("CREATE DATABASE house TEMPLATE empty STRATEGY FILE_COPY")
    await session.close()
    yield _of(address, "house")
    session = await asyncpg.connect(address)
    await wait_for(session, "")
    await session.execute("DROP DATABASE house WITH (FORCE)")
    await session.close()


@pytest.fixture
async def operator(server: str) -> AsyncIterator[asyncpg.Connection]:
    """A session of the operator."""
    session = await asyncpg.connect(server)
    yield session
    await session.close()


async def wait_for(operator: asyncpg.Connection, standby: str) -> None:
    """Have commits wait for this standby from now on; for nobody if it is empty."""
    await operator.execute(f"ALTER SYSTEM SET {STANDBY} = '{standby}'")
    await operator.execute("SELECT pg_reload_conf()")

    async with asyncio.timeout(SECONDS_MAX):
        while await operator.fetchval(f"SHOW {STANDBY}") != standby:
            await asyncio.sleep(0.01)
        while standby and not await _holds(operator):
            await asyncio.sleep(0.01)


async def _holds(operator: asyncpg.Connection) -> bool:
    """Return whether commits wait already: the checkpointer lets them, and may read its settings later than a session."""
    try:
        await operator.execute("SELECT pg_logical_emit_message(true, 'test', '')", timeout=0.5)
    except TimeoutError:
        return True
    return False


async def waiting(operator: asyncpg.Connection) -> list[int]:
    """Return the sessions whose commits wait for a standby."""
    found = await operator.fetch("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    return [row["pid"] for row in found]


async def one_waits(operator: asyncpg.Connection) -> int:
    """Return a session whose commit waits, once there is one."""
    async with asyncio.timeout(SECONDS_MAX):
        while not (found := await waiting(operator)):
            await asyncio.sleep(0.01)
    return found[0]
