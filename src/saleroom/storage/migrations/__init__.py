"""The tables' history: alembic revisions that go up and down on both databases."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from saleroom.storage.areas import HouseTables
from saleroom.storage.database import Transaction

LOCK_SECONDS_MAX = 2.0
"""How long a step waits for a table that somebody reads: all who want the table after it wait as long."""
_LOCK = 0x5A1E
_LOCK_NOT_AVAILABLE = "55P03"
_EXISTS = "42P07"
FIRST_TABLES = frozenset({"alembic_version", "users", "auctions", "events"})
"""Some of the tables that every database has had from the first revision on."""


class TablesInUse(Exception):
    """A step would have had to wait too long for a table that another program uses. Nothing has changed."""


class NewerTables(Exception):
    """The tables are at a revision that this version does not know, and which it names. Nothing has changed."""


class ForeignTables(Exception):
    """A database without a revision has a table of a house's name, and so is another program's. Nothing has changed."""


def migrate(tx: Transaction, revision: str = "head") -> str:
    """Bring the tables to `revision` (`base` removes them all) and return the revision reached.

    Processes that start at the same time wait for each other. Raises NewerTables, ForeignTables, TablesInUse if a table is not
    free within `LOCK_SECONDS_MAX`, and alembic.util.CommandError for an unknown revision.
    """
    return _migrate(tx, lambda _: revision)


def migrate_one_step(tx: Transaction) -> str:
    """Bring tables to the revision after theirs, a database without any to the newest one, and return the revision reached.

    The locks of a step end with its transaction, so other houses wait for one step at a time. Raises as `migrate` does.
    """
    return _migrate(tx, lambda current: "head" if current in (None, newest_revision()) else "+1")


def _migrate(tx: Transaction, choose: Callable[[str | None], str]) -> str:
    """Migrate to the revision that `choose` names for the present one, which is asked for under the lock."""
    if tx.dialect == "postgresql":
        _wait_for_locks(tx, 0)  # without an end: another process's migration may take long
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        _wait_for_locks(tx, LOCK_SECONDS_MAX)
    current = current_revision(tx)
    if current is not None and current not in _known_revisions():
        raise NewerTables(current)
    revision = choose(current)
    newest = newest_revision()
    if current == newest and revision in (newest, "head"):
        return newest  # alembic would load every step to find that there is none to take
    step = command.downgrade if _is_older(revision, current) else command.upgrade
    try:
        step(configuration(tx), revision)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            raise TablesInUse from error
        if current is None and _exists(error):
            raise ForeignTables from error
        raise
    return current_revision(tx) or "base"


def _exists(error: DBAPIError) -> bool:
    """Return whether a table could not be made because there is one of its name. SQLite says so only in words."""
    return getattr(error.orig, "sqlstate", None) == _EXISTS or str(error.orig).endswith("already exists")


def _wait_for_locks(tx: Transaction, seconds: float) -> None:
    """Wait so long for each lock in this transaction; 0 waits without an end."""
    tx.execute(text("SELECT set_config('lock_timeout', :ms, true)"), {"ms": str(round(1000 * seconds))})


def current_revision(tx: Transaction) -> str | None:
    """Return the revision that the tables are at, or None if there are none. Several, as no version has, become one text."""
    return " and ".join(sorted(MigrationContext.configure(tx.connection).get_current_heads())) or None


@cache
def newest_revision() -> str:
    """Return the revision that `migrate` goes to by default."""
    return _steps().get_current_head() or "base"


@cache
def _known_revisions() -> frozenset[str]:
    return frozenset(script.revision for script in _steps().walk_revisions())


@cache
def _steps() -> ScriptDirectory:
    """Return all steps; their modules are loaded once in a process."""
    return ScriptDirectory.from_config(_configuration())


def configuration(tx: Transaction, house: HouseTables | None = None) -> Config:
    """Return alembic's configuration for running inside `tx`; with `house` it compares those tables with the database."""
    config = _configuration()
    config.attributes |= {"connection": tx.connection, "house": house}
    return config


def _configuration() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    return config


def _is_older(revision: str, current: str | None) -> bool:
    """Revisions are numbered, so that their names are in their order."""
    return revision == "base" or (current is not None and revision not in ("head", "+1") and revision < current)
