"""Notices between processes on PostgreSQL: heard by the others, not by oneself, and again after a lost connection."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from saleroom.storage import notices as notices_module
from saleroom.storage.database import Database, Transaction
from saleroom.storage.notices import Notices
from tests.patience import SECONDS_MAX, until

pytestmark = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)


class NoticeListener:
    """One process's notices, and how often it has heard some."""

    def __init__(self, database: Database) -> None:
        self.count = 0
        self._heard = asyncio.Event()
        self.notices = Notices(database, self._hear)
        self.task = asyncio.create_task(self.notices.run())

    def _hear(self) -> None:
        self.count += 1
        self._heard.set()

    async def hears(self) -> None:
        """Wait until it hears something more."""
        self._heard.clear()
        async with asyncio.timeout(SECONDS_MAX):
            await self._heard.wait()


@pytest.fixture
async def join(database: Database) -> AsyncIterator[Callable[[], NoticeListener]]:
    """Start a process's notices; they are connected once they have heard for the first time."""
    started: list[NoticeListener] = []

    def another() -> NoticeListener:
        started.append(NoticeListener(database))
        return started[-1]

    yield another
    for process in started:
        process.task.cancel()
    await asyncio.gather(*(process.task for process in started), return_exceptions=True)


async def test_a_notice_reaches_all_other_processes(join: Callable[[], NoticeListener]) -> None:
    """A notice reaches every process except the one that sent it."""
    one = join()
    await until(lambda: one.count == 1, "its own connection")
    two = join()
    await until(lambda: one.count == 2, "the connection of the other")
    one.notices.announce()
    await until(lambda: two.count > 1, "the notice")
    await asyncio.sleep(0.1)
    assert 2 == one.count


async def test_many_announcements_are_few_notices(join: Callable[[], NoticeListener]) -> None:
    """News that is announced while a notice is under way goes with the next one."""
    one, two = join(), join()
    await asyncio.gather(one.hears(), two.hears())
    before = two.count
    for _ in range(5):
        for _ in range(1000):
            one.notices.announce()
        await two.hears()
    await asyncio.sleep(0.1)
    assert two.count - before <= 12


async def test_a_lost_connection_is_made_again_and_counts_as_a_notice(
    join: Callable[[], NoticeListener], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notices may have been lost with it; so the log is looked at, and later notices are heard."""
    monkeypatch.setattr(notices_module, "RETRY_SECONDS", 0.05)
    one, two = join(), join()
    await asyncio.gather(one.hears(), two.hears())

    def cut(tx: Transaction) -> None:
        others = "pid <> pg_backend_pid() AND datname = current_database() AND query LIKE 'NOTIFY%'"
        tx.execute(text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"))  # noqa: S608  # our own words

    with capture_logs() as lines:
        await asyncio.gather(two.hears(), one.hears(), database.read(cut))
        await asyncio.sleep(0.3)
        one.notices.announce()
        await two.hears()
    assert not one.task.done()
    assert {"warning"} >= {line["log_level"] for line in lines}
    assert not any("state" in line.get("reason", "") for line in lines)  # other houses of this process may log, too


async def test_the_more_processes_the_rarer_the_notices_of_each(
    join: Callable[[], NoticeListener], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each notice wakes every process. All together send as many as one alone, and one that is gone no longer counts."""
    one = join()
    await until(lambda: one.count == 1, "its own connection")
    assert one.notices.apart() == notices_module.APART_SECONDS
    for _ in range(3):
        join()
    await until(lambda: one.notices.apart() == 4 * notices_module.APART_SECONDS, "the three others")
    monkeypatch.setattr(notices_module, "APART_SECONDS_MAX", 0.01)
    assert one.notices.apart() == 0.01
    monkeypatch.setattr(notices_module, "CHECK_SECONDS", 0.0)
    assert one.notices.apart() == notices_module.APART_SECONDS
