"""Transactions: all or nothing, nothing lost, hooks after the commit; and the URLs that people write."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, make_url, select, text, update
from sqlalchemy.exc import DatabaseError
from sqlalchemy.util import await_only

from saleroom.storage import postgresql
from saleroom.storage.database import PASSING_TRIES, Database, Note, Transaction, parse_url, shown_url
from saleroom.storage.faults import DatabaseDamaged, DatabaseUnavailable, TryAgain
from tests.fixtures_database import OpenDatabase
from tests.pooler import PgBouncer
from tests.storage.rows import add_people

POSTGRESQL = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
END_OWN = text("SELECT pg_terminate_backend(pg_backend_pid())")
END_OTHERS = text(
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
END_AT_COMMIT = (
    """CREATE FUNCTION end_own() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'""",
    """CREATE CONSTRAINT TRIGGER at_the_commit AFTER UPDATE ON counters DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION end_own()""",
)

counters = Table("counters", MetaData(), Column("name", String, primary_key=True), Column("count", Integer))


def _begin(tx: Transaction) -> None:
    counters.create(tx.connection)
    tx.execute(insert(counters), {"name": "bids", "count": 0})


def _count(tx: Transaction) -> int:
    return int(tx.execute(select(counters.c.count)).scalar_one())


def _increment(tx: Transaction) -> int:
    count = int(tx.execute(select(counters.c.count).with_for_update()).scalar_one())
    tx.execute(update(counters).values(count=count + 1))
    return count + 1


def _order(tx: Transaction, statement: str) -> None:
    tx.execute(text(statement))


async def test_concurrent_increments_lose_nothing(open_database: OpenDatabase) -> None:
    """Read, add one, write, by many at once and in several processes: every increment is there, each number once."""
    several = [open_database() for _ in range(3)]
    await several[0].write(_begin)
    counts = await asyncio.gather(*(several[i % 3].write(_increment) for i in range(60)))
    assert list(range(1, 61)) == sorted(counts)
    assert 60 == await several[0].read(_count)


async def test_a_write_that_raises_leaves_nothing(database: Database) -> None:
    """A use case that raises is rolled back as a whole; the caller gets its exception as it is, and the database works on."""
    await database.write(_begin)

    def fail(tx: Transaction) -> None:
        _increment(tx)
        add_people(tx)
        raise LookupError("no such lot")

    with pytest.raises(LookupError, match="no such lot"):
        await database.write(fail)
    assert 0 == await database.read(_count)
    assert 1 == await database.write(_increment)
    await database.write(add_people)


async def test_a_lost_race_is_tried_again(database: Database) -> None:
    """A use case that asks to be repeated starts again from a rolled-back state, at most five times."""
    await database.write(_begin)
    tries: list[int] = []

    def unlucky(tx: Transaction, times: int) -> int:
        tries.append(_increment(tx))
        if len(tries) < times:
            raise TryAgain("somebody was quicker")
        return len(tries)

    assert PASSING_TRIES == await database.write(unlucky, PASSING_TRIES)
    assert [1] * PASSING_TRIES == tries
    with pytest.raises(DatabaseUnavailable, match="somebody was quicker"):
        await database.write(unlucky, 99)
    assert 1 == await database.read(_count)


@POSTGRESQL
async def test_a_deadlock_is_tried_again(open_database: OpenDatabase) -> None:
    """Two transactions that wait for each other's row both succeed in the end, each once."""
    one, other = open_database(), open_database()
    await one.write(_begin)
    await one.write(lambda tx: tx.execute(insert(counters), {"name": "lots", "count": 0}))
    both = asyncio.Barrier(2)
    tries: list[str] = []

    def crosswise(tx: Transaction, first: str, then: str) -> None:
        tries.append(first)
        for name in (first, then):
            tx.execute(update(counters).where(counters.c.name == name).values(count=counters.c.count + 1))
            if name == first and tries.count(first) == 1:
                await_only(both.wait())

    await asyncio.gather(one.write(crosswise, "bids", "lots"), other.write(crosswise, "lots", "bids"))
    assert 3 <= len(tries)  # on a slow machine the second try may meet the other one once more
    counts = await one.read(lambda tx: tx.execute(select(counters.c.count)).scalars().all())
    assert [2, 2] == list(counts)


async def test_hooks_run_after_the_commit(database: Database) -> None:
    """A hook gets the values that a transaction noted once it has committed, and none if it was rolled back."""
    numbers: Note[int] = Note()
    told: list[list[int]] = []
    database.after_commit(numbers, told.append)
    database.after_commit(Note[int](), lambda _: pytest.fail("no transaction noted anything for this hook"))
    tries: list[int] = []

    def work(tx: Transaction, failing: bool) -> None:
        tx.note(numbers, [7, 8])
        assert [] == told
        tries.append(1)
        if failing:
            raise LookupError
        if len(tries) < 3:
            raise TryAgain("somebody was quicker")

    with pytest.raises(LookupError):
        await database.write(work, True)
    assert [] == told
    await database.write(work, False)
    assert [[7, 8]] == told


async def test_a_reader_sees_what_is_committed(open_database: OpenDatabase) -> None:
    """One process reads at once what another has written."""
    one, other = open_database(), open_database()
    await one.write(_begin)
    await other.write(_increment)
    assert (1, 1) == (await one.read(_count), await other.read(_count))


@POSTGRESQL
async def test_a_transaction_runs_again_after_a_lost_connection(database: Database) -> None:
    """If its connection ends before the commit, a transaction runs again on another one, and takes effect once."""
    await database.write(_begin)
    counts: list[int] = []

    def ended(tx: Transaction, times: int) -> int:
        counts.append(_increment(tx))
        if len(counts) <= times:
            tx.execute(END_OWN)
        return counts[-1]

    assert 1 == await database.write(ended, 1)
    assert [1, 1] == counts
    assert 1 == await database.read(_count)
    counts.clear()
    with pytest.raises(DatabaseUnavailable, match="PostgreSQL"):
        await database.write(ended, 99)
    assert 1 == await database.read(_count)


@POSTGRESQL
async def test_a_connection_lost_at_the_commit(database: Database) -> None:
    """If the connection is lost during the commit, nothing is done twice: DatabaseUnavailable is raised at once."""
    await database.write(_begin)
    for statement in END_AT_COMMIT:
        await database.write(_order, statement)
    counts: list[int] = []
    with pytest.raises(DatabaseUnavailable, match="at the commit"):
        await database.write(lambda tx: counts.append(_increment(tx)))
    assert [1] == counts
    assert 0 == await database.read(_count)


@POSTGRESQL
async def test_connections_that_were_all_ended_are_replaced(open_database: OpenDatabase) -> None:
    """When the server has ended every connection of the pool, no user of one notices."""
    database, other = open_database(), open_database()
    at_once = asyncio.Barrier(8)
    await asyncio.gather(*(database.read(lambda _: await_only(at_once.wait())) for _ in range(8)))
    assert 8 <= int((await other.read(lambda tx: tx.execute(END_OTHERS))).scalar_one())
    answers = await asyncio.gather(*(database.read(lambda tx: tx.execute(text("SELECT 1"))) for _ in range(8)))
    assert [1] * 8 == [answer.scalar_one() for answer in answers]


@POSTGRESQL
async def test_a_database_that_is_read_only(open_database: OpenDatabase) -> None:
    """A write that fails is DatabaseUnavailable; once writes work they succeed, on a connection that is not to the standby."""
    database, admin = open_database(pool_size=1), open_database()
    await database.write(_begin)
    name = make_url(str(database.url)).database
    await admin.write(_order, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await admin.write(lambda tx: tx.execute(END_OTHERS))
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable, match="read-only"):
            await database.write(_increment)
    assert 0 == await database.read(_count)
    await admin.write(_order, f"ALTER DATABASE {name} SET default_transaction_read_only = off")
    assert 1 == await database.write(_increment)


@POSTGRESQL
async def test_a_lock_that_somebody_holds(
    monkeypatch: pytest.MonkeyPatch, database: Database, open_database: OpenDatabase
) -> None:
    """A transaction that waits too long for another's lock gives up with an error, and nothing is written."""
    monkeypatch.setattr(postgresql, "LOCK_SECONDS_MAX", 0.1)
    impatient = open_database()
    await database.write(_begin)
    holding, held = asyncio.Event(), asyncio.Event()

    def hold(tx: Transaction) -> None:
        tx.execute(text("LOCK TABLE counters IN ACCESS EXCLUSIVE MODE"))
        holding.set()
        await_only(held.wait())

    holder = asyncio.create_task(database.write(hold))
    await holding.wait()
    with pytest.raises(DatabaseUnavailable, match="lock timeout"):
        await impatient.write(_increment)
    held.set()
    await holder
    assert 1 == await impatient.write(_increment)


@POSTGRESQL
async def test_a_server_without_room_for_another_connection(open_database: OpenDatabase) -> None:
    """If the server takes no more connections the database is unavailable; it is back as soon as the server takes them."""
    database, admin = open_database(), open_database()
    url = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    taken: list[asyncpg.Connection] = []

    async def take_all() -> None:
        while True:
            taken.append(await asyncpg.connect(url))

    try:
        with pytest.raises(asyncpg.TooManyConnectionsError):
            await take_all()
        with pytest.raises(DatabaseUnavailable, match="clients already"):
            await database.read(lambda tx: tx.execute(text("SELECT 1")))
    finally:
        for connection in taken:
            await connection.close()
    await admin.write(_begin)
    assert 1 == await database.write(_increment)


@pytest.fixture
def pooler(database_url: str, tmp_path: Path) -> Iterator[PgBouncer]:
    """PgBouncer in transaction mode, with three connections to the test's PostgreSQL."""
    pooler = PgBouncer(tmp_path, database_url, connections=3)
    pooler.start()
    yield pooler
    pooler.kill()


@POSTGRESQL
async def test_behind_a_pooler(pooler: PgBouncer) -> None:
    """Behind PgBouncer many concurrent transactions, bulk ones too, find their statements and leave none behind."""
    several = [Database(pooler.url, pooled=True) for _ in range(3)]
    await asyncio.gather(*(database.check() for database in several))
    await several[0].write(_begin)
    counts = await asyncio.gather(*(several[i % 3].write(_increment) for i in range(60)))
    rows = [[{"name": f"{letter}{number}", "count": 0} for number in range(9)] for letter in "abc"]
    many = (
        database.write(lambda tx, own: tx.execute(insert(counters), own), own)
        for database, own in zip(several, rows, strict=True)
    )
    await asyncio.gather(*many)
    assert list(range(1, 61)) == sorted(counts)
    left = text("SELECT count(*) FROM pg_prepared_statements WHERE name <> ''")
    at_once = asyncio.Barrier(3)

    def count_left(tx: Transaction) -> int:
        await_only(at_once.wait())  # each in a separate session
        return int(tx.execute(left).scalar_one())

    assert [0, 0, 0] == await asyncio.gather(*(database.read(count_left) for database in several))
    for database in several:
        await database.close()


@POSTGRESQL
async def test_a_pooler_that_nobody_named(pooler: PgBouncer, database: Database) -> None:
    """Behind PgBouncer without the setting the check fails and names it; without the check, the later error names it too."""
    await database.check()
    unsafe = Database(pooler.url, pool_size=1)
    with pytest.raises(DatabaseUnavailable, match="set database_pooler to transaction"):
        await unsafe.check()
    await unsafe.write(_begin)
    safe = Database(pooler.url, pooled=True)
    holding, held = asyncio.Event(), asyncio.Event()

    def hold(tx: Transaction) -> None:
        tx.execute(text("SELECT 1"))
        holding.set()
        await_only(held.wait())

    assert 0 == await unsafe.read(_count)
    holder = asyncio.create_task(safe.read(hold))  # takes the session in which the statement was prepared
    await holding.wait()
    with pytest.raises(DatabaseUnavailable, match="set database_pooler to transaction"):
        await unsafe.read(_count)
    held.set()
    await holder
    await safe.close()
    await unsafe.close()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////nowhere/at/all.db",
        "postgresql://ada:open-sesame@127.0.0.1:1/house",
        "postgresql://nowhere.invalid/x",
    ],
)
async def test_a_database_that_is_away(url: str) -> None:
    """A database that cannot be reached is DatabaseUnavailable, without its password."""
    database = Database(url)
    with pytest.raises(DatabaseUnavailable) as caught:
        await database.read(_count)
    assert "open-sesame" not in str(caught.value)
    assert "open-sesame" not in shown_url(database.url)
    await database.close()


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    """A file of another program is not opened as an auction house, and is left as it is."""
    file = tmp_path / "letter.db"
    file.write_text("Dear Ada, " * 1000)
    database = Database(f"sqlite:///{file}")
    with pytest.raises(DatabaseDamaged, match="not a database; put a backup"):
        await database.read(_count)
    assert "Dear Ada, " * 1000 == file.read_text()
    await database.close()


URLS = {
    "sqlite:///saleroom.db": "sqlite:///saleroom.db",
    "sqlite:////var/lib/saleroom.db": "sqlite:////var/lib/saleroom.db",
    "postgresql://ada:pw@db/house": "postgresql+asyncpg://ada:pw@db/house",
    "postgres://ada:pw@db:5433/house": "postgresql+asyncpg://ada:pw@db:5433/house",
    "postgresql+asyncpg://db/house": "postgresql+asyncpg://db/house",
    "postgresql+psycopg2://db/house": "postgresql+asyncpg://db/house",
    "postgresql://ada:p%40ss%2Fword@db/house": "postgresql+asyncpg://ada:p%40ss%2Fword@db/house",
    "postgresql://db/house?sslmode=require": "postgresql+asyncpg://db/house?ssl=require",
    "postgresql:///house?host=/run/postgresql": "postgresql+asyncpg:///house?host=%2Frun%2Fpostgresql",
}


@pytest.mark.parametrize(("written", "understood"), URLS.items())
def test_urls_as_people_write_them(written: str, understood: str) -> None:
    """SQLite and PostgreSQL URLs are understood with or without a driver, with libpq's options."""
    assert understood == parse_url(written).render_as_string(hide_password=False)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "house",
        "sqlite://",
        "sqlite:///:memory:",
        "mysql://ada:open-sesame@db/house",
        "postgresql://ada:open-sesame@db:port/x",
    ],
)
def test_urls_that_are_none(url: str) -> None:
    """A URL of any other form is an error that says what to write, without the password."""
    with pytest.raises(ValueError, match=r"sqlite:///|postgresql://") as caught:
        parse_url(url)
    assert "open-sesame" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_an_error_shows_no_parameters(database: Database) -> None:
    """A statement's error, which may be logged, does not hold its parameters, such as a digest or a limit."""

    def fail(tx: Transaction) -> None:
        tx.execute(text("SELECT no_such_function(:secret)"), {"secret": "a digest"})

    with pytest.raises(DatabaseError) as caught:
        await database.read(fail)
    assert "no_such_function" in str(caught.value)
    assert "a digest" not in str(caught.value)
