"""The database opened for one piece of work, without the service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from alembic.util import CommandError
from sqlalchemy import URL

from saleroom.bidding.storage.archive import FOLDER
from saleroom.bidding.storage.photo_owner import owns
from saleroom.bidding.storage.photo_store import PHOTO_STORE, PhotoStore
from saleroom.bidding.storage.photos import GONE
from saleroom.kernel.errors import Refusal
from saleroom.settings import Settings
from saleroom.storage.database import Database, SharedPart, parse_url, shown_url
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.migrations import (
    ForeignTables,
    NewerTables,
    TablesInUse,
    current_revision,
    migrate_one_step,
    newest_revision,
)
from saleroom.storage.migrations import migrate as migrate_tables
from saleroom.storage.objects import Objects
from saleroom.storage.sqlite import create_private, remove_if_empty

R = TypeVar("R")
TRIES = 60
PAUSE_SECONDS = 5.0
"""If the tables are in use: how often migrating is tried, and the pause before the next try, in which others get at them."""
log = logging.getLogger(__name__)


def database(settings: Settings, make: Callable[..., Database] = Database) -> Database:
    """Return the database that the settings name. Raises Refusal for a URL that cannot be used."""
    try:
        pooled = settings.database_pooler == "transaction"
        opened = make(
            settings.database,
            pool_size=settings.database_pool_size,
            pooled=pooled,
            litestream=settings.litestream_socket,
        )
    except ValueError as error:
        raise Refusal(f"database: {error}") from error
    for part, value in provided(settings).items():
        opened.provide(part, value)
    if (store := opened.provided(PHOTO_STORE)) is not None:
        store.is_owner = partial(owns, opened, store.objects)
        opened.after_commit(GONE, store.delete_soon)
    return opened


def provided(settings: Settings) -> Mapping[SharedPart[Any], Any]:
    """Return the parts that every transaction needs, also those of commands. Raises Refusal if a package is missing."""
    found: dict[SharedPart[Any], Any] = {}
    if settings.archive_folder is not None:
        found[FOLDER] = settings.archive_folder
    if settings.photo_place is not None:
        if find_spec("obstore") is None:
            raise Refusal(
                "photo_store: the package obstore, which an S3 store needs, is not installed; `make s3` installs it"
            )
        found[PHOTO_STORE] = PhotoStore(Objects(settings.photo_place))
    return found


async def close(database: Database) -> None:
    """Close a database once what its transactions have caused elsewhere is done."""
    if (store := database.provided(PHOTO_STORE)) is not None:
        await store.settled()
    await database.close()


def url_of(settings: Settings) -> URL:
    """Return the URL of the database. Raises Refusal for one that cannot be used."""
    try:
        return parse_url(settings.database)
    except ValueError as error:
        raise Refusal(f"database: {error}") from error


def sqlite_file(settings: Settings) -> Path | None:
    """Return the file of a SQLite database, None for PostgreSQL. Raises Refusal for an unusable URL."""
    url = url_of(settings)
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def refuse_missing(settings: Settings) -> None:
    """Raise Refusal if the database is a file of SQLite that does not exist."""
    database = sqlite_file(settings)
    if database is not None and not database.exists():
        raise Refusal(f"there is no database {database}")


def refuse_folder(settings: Settings) -> None:
    """Raise Refusal if a folder is named in place of the file of SQLite."""
    database = sqlite_file(settings)
    if database is not None and database.is_dir():
        raise Refusal(f"{database} is a folder: name the file of the database, such as {database / 'saleroom.db'}")


def run(settings: Settings, work: Callable[[Database], Awaitable[R]], *, makes: bool = False) -> R:
    """Do `work` on the database outside the service. Raises Refusal if the database cannot be used.

    A file of SQLite that is missing or empty becomes a house only if `work` is one of those that begin a house (`makes`).
    Otherwise somebody in another folder would get an empty database, and be told that the house has no users. If the work
    fails before there are tables, such a file goes again.
    """
    refuse_folder(settings)
    if not makes:
        refuse_missing(settings)
    file = sqlite_file(settings)
    made = file if makes and file is not None and create_private(file) else None

    async def on_a_database() -> R:
        opened = database(settings)
        try:
            await opened.check()
            if not makes:
                await _refuse_empty(opened)
            return await work(opened)
        except DatabaseUnavailable as error:
            raise Refusal(f"cannot use the database {shown_url(opened.url)}: {error}") from error
        finally:
            await close(opened)

    try:
        return asyncio.run(on_a_database())
    except BaseException:  # Ctrl-C, too, leaves no empty file; it is raised again
        if made is not None:
            remove_if_empty(made)
        raise


async def _refuse_empty(opened: Database) -> None:
    """Raise Refusal if the database is a file of SQLite without tables."""
    if opened.url.get_backend_name() == "sqlite" and await opened.read(current_revision) is None:
        shown = shown_url(opened.url)
        raise Refusal(
            f"{shown} has no tables of a house: name another database, or let saleroom serve make a house there"
        )


async def with_tables(database: Database, revision: str = "head") -> str:
    """Bring the tables to `revision` and return the one reached; up to the newest one, each step is a transaction.

    Raises Refusal if it is unknown, if the tables are those of a newer version or another program, or if another program
    keeps them in use for all tries.
    """
    for left in reversed(range(TRIES)):
        try:
            if revision != "head":
                return await database.write(migrate_tables, revision)
            while (reached := await database.write(migrate_one_step)) != newest_revision():
                log.info("the tables are at revision %s", reached)
            return reached
        except CommandError as error:
            raise Refusal(f"cannot bring the tables to revision {revision}: {error}") from error
        except NewerTables as error:
            raise Refusal(
                f"the tables are at revision {error}, of a newer saleroom; install the version that made them, or "
                "restore a backup of before"
            ) from error
        except ForeignTables as error:
            raise Refusal(
                "the database has tables of another program, or lost the revision of its own; name another database, or "
                "restore a backup"
            ) from error
        except TablesInUse:
            if left:
                log.warning("the tables cannot be changed while another program uses them; trying again")
                await asyncio.sleep(PAUSE_SECONDS)
    raise Refusal(
        f"cannot bring the tables to revision {revision}: another program has kept them in use all the time, such as a "
        "backup, an export or a house of the earlier version; end it, and start again"
    )


def migrate(settings: Settings, revision: str = "head") -> str:
    """Bring the tables to `revision` and return a line that says so. Raises Refusal, also for an unknown revision."""
    reached = run(settings, lambda database: with_tables(database, revision), makes=True)
    return f"The tables are at revision {reached}."
