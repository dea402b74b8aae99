"""`saleroom export` and `saleroom import`: the whole house as lines of JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from alembic.util import CommandError

from saleroom.admin import ledger_check, stored_photos
from saleroom.admin.backups import Say, refuse_faults, summary_line
from saleroom.admin.interruption import StopCheck, run_interruptible
from saleroom.areas import TABLES
from saleroom.bidding.storage.tables import photo_files
from saleroom.kernel.errors import Refusal
from saleroom.opening import refuse_missing, run
from saleroom.settings import Settings
from saleroom.storage import transfer
from saleroom.storage.database import Transaction
from saleroom.storage.files import beside, publish
from saleroom.storage.migrations import current_revision, newest_revision
from saleroom.storage.transfer import Heads
from saleroom.tools.new_files import refuse_place
from saleroom.tools.progress import Progress

R = TypeVar("R")


def export(settings: Settings, file: Path | BinaryIO, *, force: bool, say: Say) -> None:
    """Write the whole house to a new `file` or a stream, and say what it contains. Raises Refusal, OSError."""
    refuse_missing(settings)
    if isinstance(file, Path):
        refuse_place(file, force=force)
        with beside(file) as part:
            with part.open("wb") as target:
                before, after = _export(settings, target)
            publish(part, file, force=force)
    else:
        before, after = _export(settings, file)
    _say_both(before, after, "the database", "the file", say)


def import_(settings: Settings, file: Path | BinaryIO, *, say: Say) -> None:
    """Read a whole house into an empty database, all or nothing, and say what it contains. Raises Refusal, OSError."""
    try:
        if isinstance(file, Path):
            if not file.exists():
                raise Refusal(f"there is no file {file}")
            with file.open("rb") as source:
                before, after = _import(settings, source, file.stat().st_size)
        else:
            before, after = _import(settings, file, 0)
    except (transfer.BadExport, CommandError) as error:
        raise Refusal(f"nothing is imported: {error}") from error
    _say_both(before, after, "the file", "the database", say)


def freeze_newest(tx: Transaction) -> None:
    """Let `tx` see no later writes of others. Raises Refusal if the tables are not at the newest revision."""
    transfer.freeze(tx)
    reached, newest = current_revision(tx), newest_revision()
    if reached is None:
        raise Refusal("the database has no tables of a house: name another one, or let saleroom migrate make them")
    if reached != newest:
        raise Refusal(f"the tables are at revision {reached}, not at {newest}: bring them there by saleroom migrate")


def _export(settings: Settings, target: BinaryIO) -> tuple[Heads, Heads]:
    """Write the house to `target`; return the ledger heads of the database, and of what was written."""

    def write(tx: Transaction, progress: Progress, stop_check: StopCheck) -> tuple[Heads, Heads]:
        freeze_newest(tx)
        before = transfer.heads(tx, TABLES)
        refuse_faults(
            ledger_check.check(tx, progress.report).faults,
            "nothing is exported: the database does not agree with its ledgers",
        )
        total, done = transfer.count(tx, TABLES), 0

        def line(written: bytes) -> None:
            nonlocal done
            stop_check()
            target.write(written)
            done += 1
            progress.report("exporting", done, total)

        after = transfer.export(tx, TABLES, line, {photo_files: stored_photos.filled})
        target.flush()
        return before, after

    return run(settings, lambda database: _once(database.read, write))


def _import(settings: Settings, source: BinaryIO, size: int) -> tuple[Heads, Heads]:
    """Read the house in `source`; return its ledger heads, and those of the database."""

    def read(tx: Transaction, progress: Progress, stop_check: StopCheck) -> tuple[Heads, Heads]:
        def taken(done: int) -> None:
            stop_check()
            progress.report("importing", done, size)

        before = transfer.load(tx, TABLES, source, taken)
        refuse_faults(
            ledger_check.check(tx, progress.report).faults, "nothing is imported: the ledgers in the file do not verify"
        )
        return before, transfer.heads(tx, TABLES)

    return run(settings, lambda database: _once(database.write, read), makes=True)


async def _once(
    transact: Callable[[Callable[[Transaction], R]], Awaitable[R]],
    work: Callable[[Transaction, Progress, StopCheck], R],
) -> R:
    """Run `work` in one transaction and never retry it, because a stream cannot be read or written twice."""
    begun = False

    def work_once(tx: Transaction, stop_check: StopCheck) -> R:
        nonlocal begun
        if begun:
            raise Refusal("the connection to the database was lost; nothing is done, try again")
        begun = True
        with Progress() as progress:
            return work(tx, progress, stop_check)

    return await run_interruptible(transact, work_once)


def _say_both(before: Heads, after: Heads, source: str, target: str, say: Say) -> None:
    """Say what both sides contain. Raises Refusal if they differ, which would be a bug."""
    say(f"{summary_line(before)} (in {source})")
    say(f"{summary_line(after)} (in {target})")
    if before != after:
        raise Refusal(f"{target} has other ledgers than {source}")
