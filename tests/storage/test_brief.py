"""Brief use cases on SQLite: in the event loop's thread, and as safe as all others."""

import asyncio
import sqlite3
import threading
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert, select, update

from saleroom.storage.database import Database, Transaction, brief, marks, ranked
from saleroom.storage.sqlite import WRITER_CACHE_KIB
from saleroom.storage.turns import Rank
from tests.fixtures_database import OpenDatabase
from tests.patience import SECONDS_MAX

SQLITE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
tally = Table("tally", MetaData(), Column("id", Integer, primary_key=True), Column("count", Integer))


def begin(tx: Transaction) -> None:
    """Start to count."""
    tally.create(tx.connection)
    tx.execute(insert(tally), {"id": 1, "count": 0})


def increment(tx: Transaction) -> int:
    """Read, add one, write; for any thread."""
    count = int(tx.execute(select(tally.c.count).with_for_update()).scalar_one())
    tx.execute(update(tally).values(count=count + 1))
    return count + 1


@brief
def increment_briefly(tx: Transaction) -> int:
    """The same, briefly."""
    return increment(tx)


@brief
def look(tx: Transaction) -> tuple[int, int]:
    """The count, and the thread that has read it."""
    return int(tx.execute(select(tally.c.count)).scalar_one()), threading.get_ident()


@brief
def fail(tx: Transaction) -> None:
    """Write, and break."""
    increment(tx)
    raise ZeroDivisionError


@pytest.fixture
async def counted(database: Database) -> Database:
    """The database with a count of 0."""
    await database.write(begin)
    return database


async def test_brief_and_long_ones_lose_nothing(counted: Database, open_database: OpenDatabase) -> None:
    """Both kinds at once, in several processes: every increment is there, each number once."""
    several = [counted, open_database(), open_database()]
    writes = (several[n % 3].write(increment_briefly if n % 2 else increment) for n in range(90))
    assert list(range(1, 91)) == sorted(await asyncio.gather(*writes))
    assert 90 == (await counted.read(look))[0]


@SQLITE
async def test_a_brief_one_runs_in_the_loops_thread(counted: Database) -> None:
    """Nothing competes for the interpreter's lock while it runs."""
    assert (0, threading.get_ident()) == await counted.read(look)


async def test_a_failed_use_case_is_undone(counted: Database) -> None:
    """A brief use case that raises leaves nothing behind and holds nobody up."""
    with pytest.raises(ZeroDivisionError):
        await counted.write(fail)
    assert 1 == await counted.write(increment_briefly)


@SQLITE
async def test_the_loop_goes_on_where_another_process_writes(counted: Database) -> None:
    """It waits for the other process in a thread: the event loop serves meanwhile."""
    other = sqlite3.connect(Path(str(counted.url.database)), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(counted.write(increment_briefly))
    async with asyncio.timeout(SECONDS_MAX):
        for _ in range(20):
            await asyncio.sleep(0.01)
    assert not waiting.done()
    assert 0 == (await counted.read(look))[0]
    other.execute("COMMIT")
    other.close()
    assert 1 == await waiting


async def test_a_cancel_during_the_commit_breaks_nothing(counted: Database) -> None:
    """A cancelled write is there or not, and the next write finds a sound connection."""
    for _ in range(20):
        write = asyncio.create_task(counted.write(increment_briefly))
        for _ in range(3):
            await asyncio.sleep(0)
        write.cancel()
        await asyncio.wait({write})
    before, _ = await counted.read(look)
    assert before + 1 == await counted.write(increment_briefly)


class ReadingMethods:
    """A use case as a method."""

    @ranked(Rank.LOGIN)
    @brief
    def look(self, tx: Transaction) -> int:
        """The count."""
        return look(tx)[0]


def test_wrapped_use_cases_keep_their_marks() -> None:
    """A method, a partial and a wrapper have the marks of the function in them; a plain function has none."""

    @wraps(ReadingMethods.look)
    def wrapper(*args: Any) -> int:
        return ReadingMethods.look(*args)

    marked = (
        ReadingMethods.look,
        ReadingMethods().look,
        partial(ReadingMethods().look),
        partial(partial(look)),
        wrapper,
    )
    expected = [(True, Rank.LOGIN)] * 3 + [(True, None), (True, Rank.LOGIN)]
    assert expected == [marks(use_case) for use_case in marked]
    assert (False, None) == marks(increment)


@SQLITE
async def test_only_the_connection_of_bids_keeps_many_pages(database: Database) -> None:
    """Brief writes keep 16 MiB of pages, as each bid needs pages of several indexes; readers lose theirs at each commit."""

    def kept(tx: Transaction) -> int:
        return int(tx.connection.exec_driver_sql("PRAGMA cache_size").scalar_one())

    @brief
    def briefly(tx: Transaction) -> int:
        return kept(tx)

    usual = await database.read(kept)
    assert WRITER_CACHE_KIB == 16 * 1024
    assert -WRITER_CACHE_KIB == await database.write(briefly)
    assert usual == await database.write(kept) == await database.read(briefly)
    assert abs(usual) < WRITER_CACHE_KIB


@SQLITE
async def test_only_the_connection_of_bids_makes_no_temporary_files(database: Database) -> None:
    """Brief writes find few rows, so what SQLite keeps beside them fits into memory; others may sort the whole house."""

    def place(tx: Transaction) -> int:
        return int(tx.connection.exec_driver_sql("PRAGMA temp_store").scalar_one())

    @brief
    def briefly(tx: Transaction) -> int:
        return place(tx)

    memory, default = 2, 0
    assert memory == await database.write(briefly)
    assert default == await database.write(place) == await database.read(place) == await database.read(briefly)


@SQLITE
async def test_every_commit_waits_for_the_disk(database: Database) -> None:
    """Whichever connection commits. No test notices otherwise: their files are in memory."""

    def waits(tx: Transaction) -> tuple[str, int]:
        asked = ("PRAGMA journal_mode", "PRAGMA synchronous")
        mode, level = (tx.connection.exec_driver_sql(one).scalar_one() for one in asked)
        return str(mode), int(level)

    @brief
    def briefly(tx: Transaction) -> tuple[str, int]:
        return waits(tx)

    full = 2
    for use_case in (waits, briefly):
        assert ("wal", full) == await database.write(use_case) == await database.read(use_case)
