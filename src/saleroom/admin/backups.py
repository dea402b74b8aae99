"""`saleroom backup` and `saleroom restore`: a SQLite database is copied while in use, and restored while not in use."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL

from saleroom.admin import ledger_check, stored_photos
from saleroom.kernel.errors import Refusal
from saleroom.opening import provided, refuse_folder, refuse_missing, sqlite_file, url_of
from saleroom.settings import Settings
from saleroom.storage import backup as storage
from saleroom.storage.files import beside, publish
from saleroom.storage.migrations import migrate, newest_revision
from saleroom.storage.transfer import Heads
from saleroom.tools.new_files import refuse_place
from saleroom.tools.progress import Progress

Say = Callable[[str], None]
FAULTS_SHOWN = 5


class NotSqlite(Exception):
    """Another program backs this database up; the message has its command."""


def backup(settings: Settings, file: Path, *, force: bool, say: Say) -> None:
    """Copy the database to `file` and say what it contains. Raises Refusal, NotSqlite.

    A copy with broken ledgers is kept although Refusal is raised, because the database is no better.
    """
    database = _own_file(settings, _dump, file)
    refuse_folder(settings)
    refuse_missing(settings)
    _refuse_same(database, file)
    refuse_place(file, force=force)
    with _faults(database), Progress() as progress, beside(file) as part:
        storage.copy(database, part, progress.report)
        revision = storage.check(part, progress.report)
        if revision == newest_revision():
            with storage.transaction(part, provided(settings)) as tx:
                house, stored = ledger_check.check(tx, progress.report), stored_photos.count(tx)
            lines, faults = [summary_line(house), *_stored_line(stored)], house.faults
        else:
            lines = [f"The tables are at revision {revision}; ledgers are checked at the newest revision only."]
            faults = []
        publish(part, file, force=force)
    say(f"{file} is a copy of {database}.")
    for line in lines:
        say(line)
    refuse_faults(faults, "the copy is complete, but the database itself is not in order")


def restore(settings: Settings, file: Path, *, say: Say) -> None:
    """Replace the database by the backup `file`, and say what it contains. Raises Refusal, NotSqlite.

    A copy is checked and brought up to date beside the database, and then takes its place in one step.
    """
    database = _own_file(settings, _put_back, file).resolve()  # so that a symbolic link to the database stays one
    refuse_folder(settings)
    if not file.exists():
        raise Refusal(f"there is no file {file}")
    _refuse_same(database, file)
    with _faults(file), Progress() as progress:
        if database.exists():
            storage.refuse_in_use(database)  # before the work, and once more after it
        with beside(database) as part:
            storage.copy(file, part, progress.report)
            revision = storage.check(part, progress.report)
            if revision > newest_revision():
                raise Refusal(f"{file} is of a newer saleroom: its tables are at revision {revision}")
            with storage.transaction(part) as tx:
                migrate(tx)
            with storage.transaction(part, provided(settings)) as tx:
                house, now = ledger_check.check(tx, progress.report), tx.now()
                stored = stored_photos.count(tx)
            refuse_faults(house.faults, f"{file} does not agree with its ledgers")
            kept = Path(f"{database}.before-{now:%Y%m%dT%H%M%S.%fZ}")
            replaced = storage.replace(database, part, kept)
    say(f"{database} is restored from {file}.")
    say(summary_line(house))
    for line in _stored_line(stored):
        say(line)
    if replaced:
        say(f"The old database is in {kept}.")


def summary_line(found: ledger_check.CheckResult | Heads) -> str:
    """Return a line by which two databases are compared: the same auctions give the same line."""
    return f"auctions: {found.auctions}, ledger heads: {found.digest}"


def _stored_line(stored: int) -> list[str]:
    return [f"{stored} files of photos are not in it, but in the store (docs/photos.md)."] if stored else []


def refuse_faults(faults: list[str], what: str) -> None:
    """Raise Refusal with the first of `faults`, if there are any."""
    if faults:
        more = f"; and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        raise Refusal(f"{what}: {'; '.join(faults[:FAULTS_SHOWN])}{more}")


def _own_file(settings: Settings, command: Callable[[URL, Path], str], file: Path) -> Path:
    """Return the database's file. Raises NotSqlite with the command for PostgreSQL, Refusal."""
    database = sqlite_file(settings)
    if database is None:
        raise NotSqlite(f"PostgreSQL has its own tool for this: {command(url_of(settings), file)}")
    return database


def _dump(url: URL, file: Path) -> str:
    return shlex.join(["pg_dump", "--format=custom", f"--file={file}", _libpq(url)])


def _put_back(url: URL, file: Path) -> str:
    return shlex.join(
        [
            "pg_restore",
            "--clean",
            "--if-exists",
            "--no-owner",
            "--single-transaction",
            f"--dbname={_libpq(url)}",
            str(file),
        ]
    )


def _libpq(url: URL) -> str:
    """Return the URL for PostgreSQL's tools, without the password, which they ask for or read from ~/.pgpass."""
    query = {"sslmode" if name == "ssl" else name: value for name, value in url.query.items() if name != "password"}
    return URL.create("postgresql", url.username, None, url.host, url.port, url.database, query).render_as_string()


def _refuse_same(database: Path, file: Path) -> None:
    if file.exists() and database.exists() and file.samefile(database):
        raise Refusal(f"{file} is the database itself")


@contextmanager
def _faults(file: Path) -> Iterator[None]:
    """Raise Refusal in place of the storage's errors."""
    try:
        yield
    except storage.ForeignDatabase as error:
        raise Refusal(f"{file} cannot be used: {error}") from error
    except storage.DatabaseInUse as error:
        raise Refusal("the database is in use: stop the service first") from error
