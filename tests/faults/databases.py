"""The faults of the database: it cannot be written to, cannot be reached, or dies."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import asyncpg
import psutil
from sqlalchemy import make_url

from tests.faults.places import seal, unseal
from tests.faults.trial import Scene
from tests.patience import SECONDS_MAX, until

A_FEW = 5
TOLD = "the database is unavailable"
REFUSED = 20
"""How many answers of 503 to wait for."""
FROZEN_SECONDS = 0.4
THAWED_SECONDS = 0.05
SLOW_TIMES = 6
LOCKED_SECONDS = 15.0
ASKED_AT_ONCE = 30
CONNECTIONS_MAX = 500
END_OTHERS = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> ALL($1)"""


async def full_disk(scene: Scene) -> None:
    """The disk is full to the last byte; somebody makes room."""
    disk = scene.disk
    assert disk is not None, "the trial has a disk"
    async with _refusing(scene, "disk full"):
        await asyncio.to_thread(disk.fill)
        await _refused(scene)
        await asyncio.to_thread(disk.empty)
        if scene.database_url.startswith("postgresql"):
            await asyncio.to_thread(_revive, scene)


async def read_only(scene: Scene) -> None:
    """The database can be read, and not written to: its files are sealed, or PostgreSQL's sessions are read-only."""
    async with _refusing(scene, "read-only"):
        if scene.database_url.startswith("sqlite"):
            file = make_url(scene.database_url).database
            assert file is not None
            files = [path for path in (Path(file), Path(f"{file}-wal")) if path.exists()]
            await asyncio.to_thread(seal, *files)
            await _refused(scene)
            await asyncio.to_thread(unseal, *files)
        else:
            # As after a fail-over, when the house connects to the server that is now the standby.
            await _set_read_only(scene.database_url, "on")
            await _refused(scene)
            await _set_read_only(scene.database_url, "off")


async def slow_disk(scene: Scene) -> None:
    """Each write waits for some tenths of a second, again and again; bids are slow, and that is all."""
    disk = scene.disk
    assert disk is not None, "the trial has a disk"
    for _ in range(SLOW_TIMES):
        await asyncio.to_thread(disk.freeze)
        try:
            await asyncio.sleep(FROZEN_SECONDS)
        finally:
            await asyncio.to_thread(disk.thaw)
        await asyncio.sleep(THAWED_SECONDS)
    await scene.storm.more(A_FEW)


async def no_connections(scene: Scene) -> None:
    """Another client takes every connection of PostgreSQL, those of the house too."""
    async with _refusing(scene, "connections taken"), AsyncExitStack() as stack:
        taken: list[asyncpg.Connection] = []
        await _take(scene.database_url, taken, stack)
        async with asyncio.timeout(SECONDS_MAX):
            while await taken[0].fetchval(END_OTHERS, [one.get_server_pid() for one in taken]):
                await _take(scene.database_url, taken, stack)
        await _refused(scene)


async def locked_table(scene: Scene) -> None:
    """Somebody locks the auctions for a while, as a repair does, and all connections of the pool wait for it."""
    async with aiohttp.ClientSession(scene.house.url) as http, _refusing(scene, "locked"):
        connection = await asyncpg.connect(scene.database_url)
        try:
            async with connection.transaction():
                await connection.execute("LOCK TABLE auctions IN ACCESS EXCLUSIVE MODE")
                requests = [asyncio.create_task(_status(http, gid)) for gid in scene.storm.gids[-1:] * ASKED_AT_ONCE]
                await asyncio.sleep(LOCKED_SECONDS)
        finally:
            await connection.close()
        statuses = set(await asyncio.gather(*requests))
        assert statuses <= {200, 503}, statuses


async def killed_server(scene: Scene) -> None:
    """PostgreSQL's first process is killed, with no chance to tidy up, and started again: it recovers from its log."""
    postmaster = _postmaster(scene)
    os.kill(postmaster, signal.SIGKILL)
    await until(lambda: not _runs(postmaster), "PostgreSQL's first process is gone", SECONDS_MAX)
    await asyncio.to_thread(_revive, scene)
    scene.notes["servers killed"] = scene.notes.get("servers killed", 0) + 1
    await scene.storm.more(A_FEW)


async def killed_backend(scene: Scene) -> None:
    """One of PostgreSQL's processes that serve the house is killed; it ends all the others too, and recovers by itself."""
    connection = await asyncpg.connect(scene.database_url)
    try:
        others = (
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() LIMIT 1"
        )
        os.kill(await connection.fetchval(others), signal.SIGKILL)
    finally:
        connection.terminate()
    scene.notes["backends killed"] = scene.notes.get("backends killed", 0) + 1
    await scene.storm.more(A_FEW)


@asynccontextmanager
async def _refusing(scene: Scene, name: str) -> AsyncIterator[None]:
    """Within the block bids are refused; the house logs it, not too often, and afterwards takes them again by itself."""
    before, refused, began = _told(scene), scene.storm.unavailable, time.monotonic()
    yield
    since = time.monotonic()
    await scene.storm.more(A_FEW)
    scene.notes[f"{name}: longest return in ms"] = max(
        scene.notes.get(f"{name}: longest return in ms", 0), round(1000 * (time.monotonic() - since))
    )
    if scene.storm.unavailable > refused:
        with suppress(AssertionError):  # judged below
            await until(lambda: _told(scene) > before, "the house says so", SECONDS_MAX)
    lines = _told(scene) - before
    seconds = time.monotonic() - began
    processes = 2 if scene.house.several else 1
    if scene.storm.unavailable > refused and not 1 <= lines <= processes * (seconds + 2):
        scene.storm.faults.append(f"{name}: {lines} lines in the log in {seconds:.0f} s of which bids were refused")


def _told(scene: Scene) -> int:
    return scene.house.log().count(TOLD)


async def _refused(scene: Scene) -> None:
    """Wait until enough requests have got 503 to rule out an accident, and no bid is taken any more."""
    enough = scene.storm.unavailable + REFUSED
    await until(lambda: scene.storm.unavailable >= enough, "bids are refused", SECONDS_MAX)


async def _take(url: str, taken: list[asyncpg.Connection], stack: AsyncExitStack) -> None:
    """Open connections until the server refuses more."""
    for _ in range(CONNECTIONS_MAX):
        try:
            taken.append(await asyncpg.connect(url))
        except asyncpg.TooManyConnectionsError:
            return
        stack.push_async_callback(taken[-1].close)


async def _set_read_only(url: str, value: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        name = make_url(url).database
        await connection.execute("SET default_transaction_read_only = off")
        await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {value}")
        if value == "on":
            # When it is off again nobody ends the read-only sessions: the house has to leave them by itself.
            await connection.fetchval(END_OTHERS, [connection.get_server_pid()])
    finally:
        await connection.close()


async def _status(http: aiohttp.ClientSession, gid: str) -> int:
    async with http.get(f"/auctions/{gid}") as answer:
        return answer.status


def _postmaster(scene: Scene) -> int:
    return int((scene.server.pgdata / "postmaster.pid").read_text().split()[0])


def _revive(scene: Scene) -> None:
    """Start PostgreSQL if it has died, as a service manager does, once the last of its processes is gone."""
    file = scene.server.pgdata / "postmaster.pid"
    if file.exists() and _runs(_postmaster(scene)):
        return
    deadline = time.monotonic() + SECONDS_MAX
    while any(_of(scene)):
        assert time.monotonic() < deadline, "PostgreSQL's other processes end"
        time.sleep(0.1)  # a look goes through all processes of the machine
    # Until the dead process is reaped, its number still counts as that of a running server.
    if file.exists():
        _, _, _, port, sockets, *_ = file.read_text().splitlines()
        for lock in (file, Path(sockets) / f".s.PGSQL.{port}.lock"):
            lock.unlink(missing_ok=True)
    scene.server.ensure_postgres_running()
    scene.notes["PostgreSQL started again"] = scene.notes.get("PostgreSQL started again", 0) + 1


def _runs(process: int) -> bool:
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _of(scene: Scene) -> Iterable[int]:
    """Yield the processes of the server, found by their working folder."""
    for process in psutil.process_iter(["name"]):
        with suppress(psutil.Error):
            own = process.info["name"] == "postgres" and process.cwd() == str(scene.server.pgdata)
            if own and process.status() != psutil.STATUS_ZOMBIE:
                yield process.pid
