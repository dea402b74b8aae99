"""`saleroom verify --database`: the database held against its own ledgers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from saleroom.admin.backups import sqlite_file, told
from saleroom.admin.ledger_check import House, check
from saleroom.admin.progress import Progress, shown
from saleroom.kernel.errors import Refused
from saleroom.opening import run
from saleroom.settings import Settings
from saleroom.storage import transfer
from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import current_revision, newest_revision

FAULTS_CODE = 1


def verify(settings: Settings, *, json: bool, say: Callable[[str], None]) -> int:
    """Say what the database holds and everything that is wrong with it; return the exit code. Raises Refused."""
    file = sqlite_file(settings)
    if file is not None and not file.exists():
        raise Refused(f"there is no database {file}")
    house = run(settings, _checked)
    if json:
        say(msgspec.json.encode({"ok": not house.faults, **msgspec.structs.asdict(house)}).decode())
    else:
        say(f"{told(house)}, events: {house.events}, bids: {house.bids}")
        for fault in house.faults:
            say(fault)
        say("Nothing is out of order." if not house.faults else f"Faults: {len(house.faults)}.")
    return FAULTS_CODE if house.faults else 0


async def _checked(database: Database) -> House:
    """Check it as it is now. A thread has to be asked to stop."""
    stopped = False

    def work(tx: Transaction, progress: Progress) -> House:
        def tell(what: str, done: int, total: int) -> None:
            if stopped:
                raise InterruptedError("stopped")
            progress(what, done, total)

        transfer.freeze(tx)
        reached, newest = current_revision(tx), newest_revision()
        if reached != newest:
            raise Refused(
                f"the tables are at revision {reached}, not at {newest}: bring them there by saleroom migrate"
            )
        return check(tx, tell)

    try:
        with shown() as progress:
            return await database.read(work, progress)
    except asyncio.CancelledError:
        stopped = True
        raise
