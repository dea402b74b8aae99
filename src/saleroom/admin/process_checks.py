"""The check of `saleroom doctor` on the processes of a house: those that serve are told of each other by the database alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress

from saleroom.admin.findings import Finding, fine, off, warned
from saleroom.admin.notice_checks import read
from saleroom.settings import Settings
from saleroom.storage import processes
from saleroom.storage.database import Transaction, parse_url
from saleroom.storage.processes import Process


async def serving(settings: Settings, _: str | None) -> Sequence[Finding]:
    """All that serve reach one broker: each start has an embedded one of its own, and only one of them gets the events."""
    found = await read(settings, _alive)
    if found is None:
        return [off("processes", "they cannot be read; see database and tables")]
    if not found:
        return [off("processes", "none serves, by what the database says")]
    named = ", ".join(f"{one.report.pid} on {one.report.host}" for one in found)
    what = f"{len(found)} serve: {named}"
    if settings.mqtt == "embedded" and _starts(settings, found) > 1:
        remedy = "end all but one, or give all of them one broker with mqtt (docs/mqtt.md)"
        return [
            warned("processes", f"{what}; of their embedded brokers only one gets events and passes bids on", remedy)
        ]
    return [fine("processes", what)]


def _alive(tx: Transaction) -> list[Process]:
    now = tx.now()
    return [one for one in processes.all_known(tx) if one.is_alive(now) and not _has_ended(one)]


def _has_ended(process: Process) -> bool:
    """Whether it was on this machine, and is there no more: it was killed, and the database does not know."""
    if process.report.host != socket.gethostname():
        return False
    with suppress(PermissionError):  # it is another account's
        try:
            os.kill(process.report.pid, 0)
        except ProcessLookupError:
            return True
    return False


def _starts(settings: Settings, found: Sequence[Process]) -> int:
    """Return how often `saleroom serve` runs, at least. On SQLite each of them has one process."""
    if parse_url(settings.database).get_backend_name() == "sqlite":
        return len(found)
    return len({(one.report.host, one.report.origin) for one in found})
