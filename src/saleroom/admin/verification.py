"""`saleroom verify --database`: the database is compared with its own ledgers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, islice

import msgspec

from saleroom.admin import stored_photos
from saleroom.admin.backups import summary_line
from saleroom.admin.interruption import StopCheck, run_interruptible
from saleroom.admin.ledger_check import FAULTS_MAX, CheckResult, check
from saleroom.admin.transfers import freeze_newest
from saleroom.opening import run
from saleroom.sales.service.people.merging import faults as merger_faults
from saleroom.settings import Settings
from saleroom.settlement.service.bank.payout_check import payout_faults
from saleroom.settlement.service.members import faults as member_faults
from saleroom.settlement.service.series_check import row_faults
from saleroom.settlement.service.verifying import faults as journal_faults
from saleroom.storage.database import Database, Transaction
from saleroom.tools.progress import Progress

FAULTS_CODE = 1


def verify(settings: Settings, *, json: bool, say: Callable[[str], None]) -> int:
    """Say what the database contains and every fault in it; return the exit code. Raises Refusal."""
    result = run(settings, _check)
    if json:
        say(msgspec.json.encode({"ok": not result.faults, **msgspec.structs.asdict(result)}).decode())
    else:
        say(f"{summary_line(result)}, events: {result.events}, bids: {result.bids}")
        for fault in result.faults:
            say(fault)
        say(f"Faults: {len(result.faults)}." if result.faults else "Nothing is out of order.")
    return FAULTS_CODE if result.faults else 0


async def _check(database: Database) -> CheckResult:
    """Check the database as it is now."""
    with Progress() as progress:

        def work(tx: Transaction, stop_check: StopCheck) -> CheckResult:
            def report(what: str, done: int, total: int) -> None:
                stop_check()
                progress.report(what, done, total)

            freeze_newest(tx)
            found = check(tx, report)
            found.faults += islice(chain(journal_faults(tx), payout_faults(tx)), FAULTS_MAX)
            found.faults += islice(chain(row_faults(tx), merger_faults(tx), member_faults(tx)), FAULTS_MAX)
            return found

        result = await run_interruptible(database.read, work)
        result.faults += await stored_photos.faults(database, progress.report, FAULTS_MAX)
        return result
