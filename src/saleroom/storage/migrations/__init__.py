"""The tables' history: alembic revisions that go up and down on both databases."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from saleroom.storage.areas import HouseTables
from saleroom.storage.database import Transaction

_LOCK = 0x5A1E
FIRST_TABLES = frozenset({"alembic_version", "users", "auctions", "events"})
"""Some of the tables that every database has had from the first revision on."""


def migrate(tx: Transaction, revision: str = "head") -> str:
    """Bring the tables to `revision` (`base` removes them all) and return the revision reached.

    Processes that start at the same time wait for each other. Raises alembic.util.CommandError for an unknown revision.
    """
    if tx.dialect == "postgresql":
        tx.execute(text("SET LOCAL lock_timeout = 0"))  # another process's migration may take long
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    current = current_revision(tx)
    step = command.downgrade if _is_older(revision, current) else command.upgrade
    step(configuration(tx), revision)
    return current_revision(tx) or "base"


def current_revision(tx: Transaction) -> str | None:
    """Return the revision that the tables are at, or None if there are none."""
    return MigrationContext.configure(tx.connection).get_current_revision()


def newest_revision() -> str:
    """Return the revision that `migrate` goes to by default."""
    return ScriptDirectory.from_config(_configuration()).get_current_head() or "base"


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
    return revision == "base" or (current is not None and revision != "head" and revision < current)
