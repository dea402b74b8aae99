"""Writes on SQLite that wait for Litestream, with a real one that stands still, dies and comes back."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from saleroom.bidding.service import closing
from saleroom.storage import litestream
from saleroom.storage.database import WORK, Database, LastWork, Transaction
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.migrations import migrate
from tests.fixtures_house import ServeHouse
from tests.litestream import LitestreamProcess
from tests.patience import SECONDS_MAX, until
from tests.process import wait_until


@pytest.fixture
def copier(tmp_path: Path) -> Iterator[LitestreamProcess]:
    """A Litestream for the database of this test."""
    copier = LitestreamProcess(tmp_path, tmp_path / "saleroom.db")
    copier.start()
    yield copier
    copier.kill()


@pytest.fixture
async def house(copier: LitestreamProcess) -> AsyncIterator[Database]:
    """The database as a house has it that waits for Litestream, with its tables."""
    database = Database(f"sqlite:///{copier.database}", litestream=copier.socket)
    await database.write(migrate)
    yield database
    await database.close()


def _add(tx: Transaction, name: str) -> None:
    """Add a user."""
    tx.execute(text("INSERT INTO users (username, created_at) VALUES (:name, 0)"), {"name": name})


def _nothing(_: Transaction) -> None:
    """Write nothing."""


def _names(tx: Transaction) -> list[str]:
    return list(tx.execute(text("SELECT username FROM users ORDER BY id")).scalars())


def _told(tx: Transaction) -> list[str]:
    """Read what others are told, as a stream does."""
    tx.await_copy()
    return _names(tx)


async def _added(house: Database, number: int = 1) -> None:
    """Wait until so many users are in the database here."""
    async with asyncio.timeout(SECONDS_MAX):
        while len(await house.read(_names)) < number:
            await asyncio.sleep(0.01)


def _copied(copier: LitestreamProcess, folder: Path) -> list[str]:
    """Return the users that are in the replica now."""
    output = folder / "restored.db"
    output.unlink(missing_ok=True)
    copier.restore(output)
    with sqlite3.connect(output) as restored:
        return [name for (name,) in restored.execute("SELECT username FROM users ORDER BY id")]


async def test_a_write_returns_once_it_is_copied(house: Database, copier: LitestreamProcess, tmp_path: Path) -> None:
    """Litestream's own round comes each second; nobody has to wait for that, and nothing is answered before the copy."""
    for number in range(5):
        await house.write(_add, f"user{number}")
        copier.freeze()  # from here on it copies nothing
        assert f"user{number}" == _copied(copier, tmp_path)[-1]
        copier.thaw()


async def test_writes_at_the_same_time_share_a_question(house: Database, copier: LitestreamProcess) -> None:
    """All commits that come while Litestream is asked are in the next question."""
    copier.freeze()
    adding = [asyncio.create_task(house.write(_add, f"user{number}")) for number in range(50)]
    await _added(house, len(adding))
    assert not any(one.done() for one in adding)
    copier.thaw()
    await asyncio.gather(*adding)


async def test_a_write_without_a_copy_is_in_doubt_and_the_next_is_not_begun(
    house: Database, copier: LitestreamProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is done here and may be lost, so nobody hears that it was done. After that nothing is written that would be
    in doubt too. The house goes on by itself once Litestream does.
    """
    monkeypatch.setattr(litestream, "SYNC_SECONDS_MAX", 0.3)
    copier.kill()
    with pytest.raises(DatabaseUnavailable, match="Litestream: it does not answer at"):
        await house.write(_add, "ada")
    assert not house.is_copied()
    with pytest.raises(DatabaseUnavailable, match="Litestream"):
        await house.write(_add, "ben")
    assert ["ada"] == await house.read(_names)
    copier.start()

    async def goes_on() -> bool:
        try:
            await house.write(_add, "cem")
        except DatabaseUnavailable:
            return False
        return True

    async with asyncio.timeout(SECONDS_MAX):
        while not await goes_on():
            await asyncio.sleep(0.05)
    assert house.is_copied()
    assert ["ada", "cem"] == await house.read(_names)


async def test_a_restart_of_litestream_is_waited_for(
    house: Database, copier: LitestreamProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new version of it, or a crash, puts no bid in doubt: the connection that was open is gone, and another is made."""
    monkeypatch.setattr(litestream, "SYNC_SECONDS_MAX", 60.0)
    copier.kill()
    adding = asyncio.create_task(house.write(_add, "ada"))
    await asyncio.sleep(0.2)
    assert not adding.done()
    copier.start()
    await adding
    assert ["ada"] == _copied(copier, tmp_path)


async def test_a_kept_answer_waits_too(house: Database, copier: LitestreamProcess) -> None:
    """A repeat under an Idempotency-Key writes nothing. It may read the write in doubt that came before."""
    copier.freeze()
    adding = asyncio.create_task(house.write(_add, "ada"))
    await _added(house)
    repeating = asyncio.create_task(house.write(_names))
    done, _ = await asyncio.wait([adding, repeating], timeout=0.3)
    assert not done
    copier.thaw()
    assert ["ada"] == await repeating
    await adding


async def test_streams_and_tasks_are_told_what_is_copied(house: Database, copier: LitestreamProcess) -> None:
    """A page that anybody loads does not wait. A stream of events does, as do the tasks that tell a broker, or send mails."""
    copier.freeze()
    adding = asyncio.create_task(house.write(_add, "ada"))
    await _added(house)
    stream = asyncio.create_task(house.read(_told))
    WORK.set(LastWork())
    task = asyncio.create_task(house.read(_names))
    done, _ = await asyncio.wait([stream, task], timeout=0.3)
    assert not done
    copier.thaw()
    assert ["ada"] == await stream
    assert ["ada"] == await task
    await adding


async def test_what_others_committed_is_told_once_it_is_copied(house: Database, copier: LitestreamProcess) -> None:
    """A command of the house commits in a process of its own, and a commit ends in a thread before this one hears of it."""
    await house.write(_nothing)
    copier.freeze()
    with sqlite3.connect(copier.database) as other:
        other.execute("INSERT INTO users (username, created_at) VALUES ('ada', 0)")
    stream = asyncio.create_task(house.read(_told))
    done, _ = await asyncio.wait([stream], timeout=0.3)
    assert not done
    copier.thaw()
    assert ["ada"] == await stream


async def test_a_database_that_litestream_does_not_copy_is_named(copier: LitestreamProcess, tmp_path: Path) -> None:
    """Its answer would never come, so nobody waits for it."""
    wait_until(copier.socket.exists)
    other = Database(f"sqlite:///{tmp_path / 'other.db'}", litestream=copier.socket)
    with pytest.raises(
        DatabaseUnavailable, match=rf"Litestream: its configuration has no database {tmp_path}/other.db"
    ):
        await other.write(_nothing)
    await other.close()


async def test_a_house_without_copies_is_not_ready(
    house: Database, copier: LitestreamProcess, serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy must send it no requests that it would refuse. It is ready again by itself."""
    monkeypatch.setattr(litestream, "SYNC_SECONDS_MAX", 0.3)
    monkeypatch.setattr(closing, "HEARTBEAT_SECONDS", 0.1)
    served = serve_house(database=str(house.url), litestream_socket=str(copier.socket))

    def ready() -> tuple[int, str]:
        answer = served.anyone.get("/readyz")
        return answer.status_code, answer.json()["database"]

    assert (200, "ok") == ready()
    copier.kill()
    await until(lambda: ready() == (503, "not copied"), "it is not ready")
    assert 200 == served.anyone.get("/auctions").status_code
    copier.start()
    await until(lambda: ready() == (200, "ok"), "it is ready again")
