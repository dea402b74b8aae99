"""`saleroom audit`: the audit log, listed and exported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from saleroom.accounts.domain.audit import ACTS, Act, Entry
from saleroom.accounts.service import audit_log
from saleroom.accounts.storage import audit
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.kernel.errors import Refusal
from saleroom.kernel.instants import instant
from saleroom.kernel.terminal import plain
from saleroom.opening import run, with_tables
from saleroom.settings import Settings
from saleroom.storage.database import Database
from saleroom.storage.files import beside, publish
from saleroom.tools.new_files import refuse_place


def newest(settings: Settings, limit: int, user: str | None, act: str | None) -> Sequence[tuple[str, ...]]:
    """Return the latest entries, the latest first, each as texts: when, who, what, on whom or what, from, to, why.

    Raises Refusal.
    """
    if act is not None and act not in list(Act):
        raise Refusal(f"there is no act {plain(act)}: {', '.join(Act)}")

    async def work(database: Database) -> list[Entry]:
        await with_tables(database)
        return await database.read(audit.newest, EntryFilter(user, act), limit, None)

    return [_shown(one) for one in run(settings, work)]


def export(settings: Settings, file: Path | BinaryIO, *, force: bool) -> str:
    """Write the whole log to a new `file` or a stream as NDJSON; return a line that says so. Raises Refusal, OSError."""
    if not isinstance(file, Path):
        return _said(run(settings, lambda database: _write(database, file)))
    refuse_place(file, force=force)
    with beside(file) as part:
        with part.open("wb") as target:
            count = run(settings, lambda database: _write(database, target))
        publish(part, file, force=force)
    return _said(count)


async def _write(database: Database, target: BinaryIO) -> int:
    await with_tables(database)
    count = 0
    async for lines in audit_log.lines(database, await database.read(audit.last_id)):
        target.write(lines)
        count += lines.count(b"\n")
    target.flush()
    return count


def _said(count: int) -> str:
    return f"Exported {count} {'entry' if count == 1 else 'entries'}."


def _shown(one: Entry) -> tuple[str, ...]:
    words = ACTS[Act(one.act)] if one.act in list(Act) else one.act
    changes = [f"{name}: {one.before.get(name, '-')} -> {value}" for name, value in one.after.items()]
    return (
        instant(one.at),
        one.by or "(command line)",
        words,
        one.user or one.subject or "",
        ", ".join(changes),
        one.reason,
    )
