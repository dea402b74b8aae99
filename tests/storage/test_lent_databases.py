"""A database of PostgreSQL that tests get one after the other equals a new one each time: `tests/lent_databases.py`."""

import asyncio
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import asyncpg
import pytest
from sqlalchemy import make_url

from tests import lent_databases
from tests.admin import furnished
from tests.admin.test_backup import tool
from tests.fixtures_database import Databases, Orders, Template, _postgresql_database

KEY_OF_A_DUMP = re.compile(r"^\\(un)?restrict .*$", re.MULTILINE)
"""Each dump has another one, so that no row can end it."""


@pytest.fixture(scope="module")
def databases(postgresql_template: Template) -> Iterator[Databases]:
    """Databases that no test elsewhere has had."""
    with closing(Databases(*postgresql_template)) as own:
        yield own


def dump(url: str) -> str:
    """Return all that is in a database, with the states of its sequences and its own settings, without its name."""
    done = subprocess.run([tool("pg_dump"), "--create", url], capture_output=True, text=True, check=True)
    return KEY_OF_A_DUMP.sub("", done.stdout).replace(str(make_url(url).database), "saleroom")


def test_it_equals_a_new_one(databases: Databases, postgresql_template: Template) -> None:
    """After a house with a bit of everything it has no row more or less than a new one, and counts as a new one does."""
    with databases.lent() as url:
        furnished.furnish(url)
        used = dump(url)
    with databases.lent() as again, contextmanager(_postgresql_database)(*postgresql_template) as new:
        assert url == again
        assert dump(new) == dump(again) != used
        furnished.furnish(again)


@pytest.mark.parametrize(
    "order",
    [
        "ALTER TABLE users ADD COLUMN shoe_size integer",
        "ALTER TABLE secrets ALTER COLUMN value DROP NOT NULL",
        "DROP INDEX ix_events_owed",
        "ALTER TABLE auctions RENAME COLUMN maximum TO most",
        "ALTER TABLE users DISABLE TRIGGER ALL",
        "ALTER SEQUENCE users_id_seq INCREMENT BY 2",
        "CREATE TABLE notes (id integer)",
        "CREATE SCHEMA elsewhere",
        "CREATE FUNCTION one() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "COMMENT ON TABLE users IS 'People'",
        "GRANT SELECT ON users TO PUBLIC",
        "ALTER DATABASE {name} SET default_transaction_read_only = off",
        "ALTER DATABASE {name} CONNECTION LIMIT 50",
        "SELECT lo_create(0)",
        "ANALYZE alembic_version",
        "VACUUM users",
        "INSERT INTO secrets SELECT 'secret ' || n, repeat('x', 1000) FROM generate_series(1, 100) AS n",
        "DROP DATABASE {name} WITH (FORCE)",
    ],
)
def test_what_is_more_than_rows_ends_it(databases: Databases, postgresql_orders: Orders, order: str) -> None:
    """A database is dropped after a change of its tables, settings or statistics, or so many rows that plans differ."""
    with databases.lent() as url:
        name = make_url(url).database
        if order.startswith("DROP DATABASE"):
            postgresql_orders.give(order.format(name=name))
        else:
            with closing(Orders(url)) as orders:
                orders.give(order.format(name=name))
    with databases.lent() as other:
        assert url != other
        with pytest.raises(asyncpg.InvalidCatalogNameError):
            asyncio.run(asyncpg.connect(url))


def test_somebody_who_stays_ends_it(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is still in use is dropped: what works there must not come into the next test."""
    monkeypatch.setattr(lent_databases, "LEAVE_SECONDS_MAX", 0)
    with databases.lent() as url:
        somebody = Orders(url)
    with databases.lent() as other:
        assert url != other
    with pytest.raises(asyncpg.PostgresError):
        somebody.give("SELECT 1")
    somebody.close()


def test_somebody_who_leaves_is_waited_for(databases: Databases) -> None:
    """A session that ends late, such as that of a house that was killed, does not end the database."""
    with databases.lent() as url:
        somebody = Orders(url)
    leaves = threading.Timer(0.1, somebody.close)
    leaves.start()
    with databases.lent() as again:
        assert url == again
    leaves.join()
