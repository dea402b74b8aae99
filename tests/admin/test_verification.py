"""`saleroom verify --database` when it is stopped; `test_ledger_check.py` has the faults that it finds."""

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from saleroom.admin import verification
from saleroom.admin.ledger_check import CheckResult
from saleroom.storage.database import Database, Transaction
from tests.patience import SECONDS_MAX


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_a_stopped_check_ends(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a check at its next report. On PostgreSQL a check runs in no thread, and is cancelled at its next query."""
    reached, reports = threading.Event(), []

    def check(tx: Transaction, report: Callable[[str, int, int], None]) -> CheckResult:
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            reached.set()
            try:
                report("checking", 0, 1)
            except InterruptedError:
                reports.append("interrupted")
                raise
            time.sleep(0.001)
        raise AssertionError("it was not interrupted")

    monkeypatch.setattr(verification, "check", check)
    task = asyncio.create_task(verification._check(database))
    await asyncio.to_thread(reached.wait, SECONDS_MAX)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ["interrupted"] == reports
