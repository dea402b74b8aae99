"""A migration that is killed within a step: nothing is lost or half done, and the next start goes on."""

import signal
from pathlib import Path

from sqlalchemy import inspect, text

from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import current_revision, migrate, newest_revision
from tests.bidding.service.people import bid, person, sells
from tests.process import saleroom
from tests.rows import each_of

FIRST = "0050"
"""A revision from which steps of each kind follow."""
KILLED = """
import os, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from saleroom.cli import main

url, words, call = sys.argv[1:]
calls = 0


@event.listens_for(Engine, "after_cursor_execute")
def kill(connection, cursor, statement, *_):
    global calls
    calls += statement.lstrip().startswith(words)
    if calls == int(call):
        os.kill(os.getpid(), signal.SIGKILL)


main(["migrate", "--database", url])
"""
"""A program that migrates, and is killed once the n-th statement that begins with `words` is done."""


@each_of(
    {"sqlite": "UPDATE alembic_version", "postgresql": "UPDATE alembic_version", "call": 3},  # the end of a step
    {"sqlite": "CREATE TABLE", "postgresql": "CREATE TABLE", "call": 2},
    {"sqlite": "DROP TABLE", "postgresql": "ALTER TABLE", "call": 2},  # SQLite has a copy in the place of a table
)
async def test_a_migration_that_is_killed_within_a_step(
    database: Database, database_url: str, tmp_path: Path, sqlite: str, postgresql: str, call: int
) -> None:
    """After SIGKILL all rows are there, the tables are at a revision with nothing of the next, and a start goes on."""
    ada, bob = await person(database), await person(database)
    await bid(database, bob.bids(await sells(database, ada), "up to 300"))
    shape = await database.read(_shape)
    assert FIRST == await database.write(migrate, FIRST)
    before = await database.read(_rows)
    program = tmp_path / "killed.py"
    program.write_text(KILLED)
    words = sqlite if database.kind == "sqlite" else postgresql
    child = saleroom(tmp_path, database_url, words, str(call), program=str(program))
    assert (-signal.SIGKILL, "") == (child.returncode, child.stdout), child.stderr
    reached = await database.read(current_revision)
    assert reached is not None
    assert FIRST <= reached < newest_revision()
    assert before == await database.read(_rows)
    left = await database.read(_shape)
    assert not [table for table in left if table.startswith("_alembic_tmp")]
    if database.kind == "sqlite":
        assert ["ok"] == await database.read(lambda tx: [*tx.execute(text("PRAGMA integrity_check")).scalars()])
    done = saleroom(tmp_path, "migrate", "--database", database_url)
    assert (0, f"The tables are at revision {newest_revision()}.\n") == (done.returncode, done.stdout), done.stderr
    assert before == await database.read(_rows)
    assert shape == await database.read(_shape)


def _rows(tx: Transaction) -> list[list[tuple[object, ...]]]:
    """Return what the tables at `FIRST` have of people, lots, bids and events."""
    asked = (
        "SELECT id, username, created_at FROM users ORDER BY id",
        "SELECT id, gid, author_id, name, status, position FROM auctions ORDER BY id",
        "SELECT id, auction_id, bidder_id FROM bids ORDER BY id",
        "SELECT id, auction_id, position, type, private FROM events ORDER BY id",
    )
    return [[tuple(row) for row in tx.execute(text(one))] for one in asked]


def _shape(tx: Transaction) -> dict[str, list[str]]:
    """Return the names of the columns of all tables."""
    found = inspect(tx.connection)
    return {table: sorted(column["name"] for column in found.get_columns(table)) for table in found.get_table_names()}
