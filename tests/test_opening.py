"""The database opened for a start: tables that another program uses meanwhile, and those of a newer version."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.util import await_only

from saleroom import opening
from saleroom.kernel.errors import Refusal
from saleroom.storage import migrations
from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import current_revision, migrate, newest_revision
from tests.fixtures_house import settings_for
from tests.patience import SECONDS_MAX

ON_POSTGRESQL = pytest.mark.databases("postgresql")
BEFORE = "0060"
"""A revision whose next one changes the table `offers`."""


@asynccontextmanager
async def long_read(database: Database) -> AsyncIterator[None]:
    """Read the table `offers` in a transaction that stays open, as a backup does."""
    reading, done = asyncio.Event(), asyncio.Event()

    def read(tx: Transaction) -> None:
        _count(tx)
        reading.set()
        await_only(done.wait())

    reader = asyncio.create_task(database.read(read))
    await reading.wait()
    yield
    done.set()
    await reader


def _count(tx: Transaction) -> int:
    return int(tx.execute(text("SELECT count(*) FROM offers")).scalar_one())


@ON_POSTGRESQL
async def test_others_do_not_wait_behind_a_migration_that_waits(
    monkeypatch: pytest.MonkeyPatch, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """While somebody reads a table for long, it is not changed, and others go on to use it. It is changed once it is free."""
    monkeypatch.setattr(migrations, "LOCK_SECONDS_MAX", 0.1)
    monkeypatch.setattr(opening, "PAUSE_SECONDS", 0.05)
    await database.write(migrate, BEFORE)
    async with long_read(database):
        migrating = asyncio.create_task(opening.with_tables(database))
        async with asyncio.timeout(SECONDS_MAX):
            while "trying again" not in caplog.text:
                await asyncio.sleep(0.01)
        assert 0 == await database.read(_count)
        assert not migrating.done()
    assert newest_revision() == await migrating


@ON_POSTGRESQL
async def test_a_migration_gives_up_if_the_tables_stay_in_use(
    monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    """After the last try it names the reason and the remedy, and no table has changed."""
    monkeypatch.setattr(migrations, "LOCK_SECONDS_MAX", 0.05)
    monkeypatch.setattr(opening, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(opening, "TRIES", 2)
    await database.write(migrate, BEFORE)
    async with long_read(database):
        with pytest.raises(Refusal, match=r"such as a backup, .* end it"):
            await opening.with_tables(database)
        assert BEFORE == await database.read(current_revision)


@ON_POSTGRESQL
async def test_each_step_of_a_migration_is_a_transaction(monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    """The locks of a step end before the next step waits for others: a table that is done is not kept from a sale."""
    monkeypatch.setattr(migrations, "LOCK_SECONDS_MAX", 0.05)
    monkeypatch.setattr(opening, "TRIES", 1)
    await database.write(migrate, "0059")
    async with long_read(database):
        with pytest.raises(Refusal, match="in use all the time"):
            await opening.with_tables(database)
        assert BEFORE == await database.read(current_revision)
    assert newest_revision() == await opening.with_tables(database)


@pytest.mark.databases("sqlite")
async def test_tables_of_a_newer_version_are_left_alone(database: Database) -> None:
    """A version that does not know the revision of the tables says so and what to do, and changes nothing."""
    await database.write(lambda tx: tx.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    with pytest.raises(Refusal, match=r"at revision 9999, of a newer saleroom; install"):
        await opening.with_tables(database)
    assert "9999" == await database.read(current_revision)


async def test_tables_without_a_revision_or_with_two_are_left_alone(database: Database) -> None:
    """A database of another program, or one whose table of the revision was spoilt, is refused in words, and not changed."""
    await database.write(lambda tx: tx.execute(text("INSERT INTO alembic_version VALUES ('0001')")))
    with pytest.raises(Refusal, match=f"at revision 0001 and {newest_revision()}, of a newer saleroom; install"):
        await opening.with_tables(database)
    await database.write(lambda tx: tx.execute(text("DELETE FROM alembic_version")))
    with pytest.raises(
        Refusal, match="tables of another program, or lost the revision of its own; name another database"
    ):
        await opening.with_tables(database)
    assert await database.read(current_revision) is None


def test_work_that_fails_leaves_no_new_file_without_tables(tmp_path: Path) -> None:
    """A file that was there, one with tables, and one that another program has opened stay."""
    file, others = tmp_path / "house.db", list[sqlite3.Connection]()

    def is_left(work: Callable[[Database], Awaitable[object]]) -> bool:
        async def failing(opened: Database) -> None:
            await work(opened)
            raise Refusal("no house")

        with pytest.raises(Refusal, match="no house"):
            opening.run(settings_for(f"sqlite:///{file}"), failing, makes=True)
        found = file.exists()
        assert found or not [*tmp_path.iterdir()]
        for one in others:
            one.close()
        file.unlink(missing_ok=True)
        return found

    async def nothing(_: Database) -> None: ...

    async def make_a_table(opened: Database) -> None:
        await opened.write(lambda tx: tx.execute(text("CREATE TABLE kept (id INTEGER)")))

    async def open_it_too(_: Database) -> None:
        others.append(sqlite3.connect(file))
        for statement in ("PRAGMA journal_mode=WAL", "SELECT 1 FROM sqlite_schema"):
            others[0].execute(statement).fetchall()

    assert (False, True, True) == (is_left(nothing), is_left(make_a_table), is_left(open_it_too))
    file.touch()
    assert is_left(nothing)
