"""`saleroom backup` and `saleroom restore`: a SQLite database copied while it is in use, and put back when it is not."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL

from saleroom.admin import ledger_check
from saleroom.admin.progress import shown
from saleroom.kernel.errors import Refused
from saleroom.settings import Settings
from saleroom.storage import backup as storage
from saleroom.storage.database import parse_url
from saleroom.storage.files import beside, publish
from saleroom.storage.migrations import migrate, newest_revision
from saleroom.storage.transfer import Heads

Say = Callable[[str], None]
FAULTS_SHOWN = 5


class AnotherTool(Exception):
    """The database is not backed up by this program; the message has the command that does it."""


def backup(settings: Settings, file: Path, *, force: bool, say: Say) -> None:
    """Copy the database to `file` and say what is in it. Raises Refused, AnotherTool.

    A copy of ledgers that break is written and then refused: it is as good as what it is a copy of.
    """
    database = _own_file(settings, _dump, file)
    if not database.exists():
        raise Refused(f"there is no database {database}")
    _refuse_same(database, file)
    refuse_place(file, force=force)
    with _faults(file), shown() as progress, beside(file) as part:
        storage.copy(database, part, progress)
        revision = storage.check(part, progress)
        if revision != newest_revision():
            lines, faults = [f"The tables are at revision {revision}; the ledgers are checked from the newest on."], []
        else:
            with storage.opened(part) as tx:
                house = ledger_check.check(tx, progress)
            lines, faults = [told(house)], house.faults
        publish(part, file, force=force)
    say(f"{file} is a copy of {database}.")
    for line in lines:
        say(line)
    refuse_faults(faults, "the copy is as the database is, and in that something is wrong")


def restore(settings: Settings, file: Path, *, say: Say) -> None:
    """Put the backup `file` in the place of the database, and say what is in it. Raises Refused, AnotherTool.

    All is checked and brought up to date beside the database; then it takes its place in one step.
    """
    database = _own_file(settings, _put_back, file).resolve()  # a link to it stays one
    if not file.exists():
        raise Refused(f"there is no file {file}")
    _refuse_same(database, file)
    with _faults(file), shown() as progress:
        if database.exists():
            storage.refuse_in_use(database)  # before the work, and once more after it
        with beside(database) as part:
            storage.copy(file, part, progress)
            revision = storage.check(part, progress)
            if revision > newest_revision():
                raise Refused(f"{file} is of a newer saleroom: its tables are at revision {revision}")
            with storage.opened(part) as tx:
                migrate(tx)
            with storage.opened(part) as tx:
                house, now = ledger_check.check(tx, progress), tx.now()
            refuse_faults(house.faults, f"{file} is not what its ledgers say")
            kept = Path(f"{database}.before-{now:%Y%m%dT%H%M%S.%fZ}")
            replaced = storage.replace(database, part, kept)
    say(f"{database} is what {file} was.")
    say(told(house))
    if replaced:
        say(f"What was there before is in {kept}.")


def told(found: ledger_check.House | Heads) -> str:
    """Return the line by which houses are compared: what is the same here and there has the same line."""
    return f"auctions: {found.auctions}, ledger heads: {found.digest}"


def refuse_faults(faults: list[str], what: str) -> None:
    """Raise Refused with the first of `faults`, if there are any."""
    if faults:
        more = f"; and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        raise Refused(f"{what}: {'; '.join(faults[:FAULTS_SHOWN])}{more}")


def refuse_place(file: Path, *, force: bool) -> None:
    """Raise Refused where `file` cannot be written, or is there already and not to be replaced (`force`)."""
    if not file.parent.is_dir():
        raise Refused(f"there is no folder {file.parent}")
    if file.exists() and not force:
        raise Refused(f"{file} is there already; --force replaces it")


def sqlite_file(settings: Settings) -> Path | None:
    """Return the database's file, None where it is on PostgreSQL. Raises Refused for what is no database."""
    url = _url(settings)
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def _own_file(settings: Settings, command: Callable[[URL, Path], str], file: Path) -> Path:
    """Return the database's file. Raises AnotherTool with the command that does the same on PostgreSQL, Refused."""
    database = sqlite_file(settings)
    if database is None:
        raise AnotherTool(f"PostgreSQL does this by its own tools: {command(_url(settings), file)}")
    return database


def _url(settings: Settings) -> URL:
    try:
        return parse_url(settings.database)
    except ValueError as error:
        raise Refused(f"database: {error}") from error


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
    """Return the URL as PostgreSQL's tools take it, without the password: they ask, or read it from ~/.pgpass."""
    query = {"sslmode" if name == "ssl" else name: value for name, value in url.query.items() if name != "password"}
    return URL.create("postgresql", url.username, None, url.host, url.port, url.database, query).render_as_string()


def _refuse_same(database: Path, file: Path) -> None:
    if file.exists() and database.exists() and file.samefile(database):
        raise Refused(f"{file} is the database itself")


@contextmanager
def _faults(file: Path) -> Iterator[None]:
    """Say the storage's faults in words."""
    try:
        yield
    except storage.NotOurs as error:
        raise Refused(f"{file} cannot be used: {error}") from error
    except storage.InUse as error:
        raise Refused("the database is in use: stop the service first") from error
