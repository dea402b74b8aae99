"""Live pages while the house is in trouble: without its database, after an error, and after a failover."""

from typing import Any

import pytest

from tests.patience import settled
from tests.site.test_live import Hall, VersionPage, hall

__all__ = ["hall"]


async def test_pages_wait_for_the_database(hall: Hall) -> None:
    """If the lot cannot be read, its pages stay, and are told once it can be."""
    visit = await hall.visit()
    hall.failures = 3
    await hall.bid()
    await hall.all_know()
    assert not visit.task.done()


async def test_pages_that_cannot_be_told_end(hall: Hall, monkeypatch: pytest.MonkeyPatch, errors_logged: Any) -> None:
    """After an unexpected error the streams end, so that browsers come back; no page stays as it is in silence."""
    visit = await hall.visit()
    monkeypatch.setattr(VersionPage, "html", lambda *_: 1 / 0)
    await hall.bid()
    await visit.task
    assert ["live pages cannot be told; their streams end"] == [entry["event"] for entry in errors_logged]
    errors_logged.clear()


async def test_all_pages_are_renewed(hall: Hall) -> None:
    """After a failover each page is told the lot once more without an event, a slow one as soon as it reads again."""
    slow, lively = await hall.visit(), await hall.visit()
    await hall.bid()
    await settled()
    slow.line.reads.clear()
    [renew] = hall.log.after_rewind
    renew()
    await settled()
    assert ([1], [1, 1]) == (slow.line.told, lively.line.told)
    slow.line.reads.set()
    await settled()
    assert [1, 1] == slow.line.told


async def test_pages_are_renewed_from_a_read_after_the_failover(hall: Hall) -> None:
    """A round that reads the lot while a server takes over may have read it from the former one. Another round follows."""
    page = await hall.visit()
    hall.gate.clear()
    await hall.bid()
    await settled()
    hall.log.after_rewind[0]()
    hall.gate.set()
    await settled()
    assert ([1, 1], 2) == (page.line.told, hall.loads)
