"""Presence: what a process says of itself, and what the back office shows of all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.bidding.service.health import Health, Trouble, health
from saleroom.bidding.web.health import TASKS
from saleroom.outbox import store
from saleroom.outbox.message import Message
from saleroom.runtime.presence import Presence
from saleroom.storage import processes
from saleroom.storage.database import Database
from saleroom.storage.processes import ALIVE, KEPT, Process, Report, TaskReport
from saleroom.storage.room import Room
from tests.bidding.service.people import person
from tests.fixtures_database import FakeClock
from tests.fixtures_house import House, ServeHouse
from tests.process import wait_until
from tests.site.visitor import PRESENT, Visitor

PLENTY = Room("/house", 2**40)


def report(relay: str = "off", *tasks: TaskReport, room: Room = PLENTY) -> Report:
    """What a process says."""
    return Report("hall", 7, "1.0", relay, tasks, room)


async def seen(database: Database, wanted: Callable[[list[Process]], bool]) -> list[Process]:
    """Return the processes on record as soon as they are as wanted."""
    async with asyncio.timeout(30):
        while True:
            found = list(await database.read(processes.all_known))
            if wanted(found):
                return found
            await asyncio.sleep(0.01)


async def test_a_process_says_how_its_tasks_fare(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that fails is started again, and its failure told by its kind, without its words; at the end the row is gone."""
    monkeypatch.setattr("saleroom.runtime.presence.BEAT_SECONDS", 0.01)
    monkeypatch.setattr("saleroom.runtime.presence.RESTART_SECONDS", 0.01)
    runs = 0

    async def fails_once() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise LookupError("a secret")
        await database.read(processes.all_known)
        await asyncio.Event().wait()

    async with Presence(database, lambda: "connected", "http://127.0.0.1:9000").running({"odd": fails_once}, None):
        [one] = await seen(database, lambda all_: bool(all_ and all_[0].report.tasks[0].ran_at))
        odd = one.report.tasks[0]
        assert ("odd", 1, "LookupError", "connected") == (odd.name, odd.failures, odd.failure, one.report.relay)
        assert odd.failed_at is not None and odd.ran_at is not None and odd.ran_at >= odd.failed_at
        assert one.report.room is not None and one.report.room.free > 0
        assert "a secret" not in str(one)
    assert [] == await database.read(processes.all_known)


async def test_the_health_of_a_house_with_several_processes(clocked_database: Database, clock: FakeClock) -> None:
    """Figures are those of the house: one process with the broker is enough, the latest run and failure of a task count."""
    ada = await person(clocked_database)
    await clocked_database.write(accounts.set_role, ada.account.id, Role.OWNER)

    async def now() -> Health:
        return await clocked_database.read(health, ada.token)

    early = clock.now
    await clocked_database.write(processes.beat, "b", report("standing by", TaskReport("closer", early)))
    clock.advance(20)
    late = TaskReport("closer", clock.now, 2, early, "LookupError")
    await clocked_database.write(processes.beat, "a", report("connected", late))
    found = await now()
    assert ([Trouble.TASK], "connected", ["b", "a"]) == (found.troubles, found.relay, [one.name for one in found.alive])
    [closer] = found.tasks
    assert (clock.now, 2, early, "LookupError") == (closer.ran_at, closer.failures, closer.failed_at, closer.failure)
    assert found.bytes > 10_000 and found.revision == found.newest
    clock.advance(20)
    found = await now()
    assert ([Trouble.PROCESS, Trouble.TASK], ["a"], ["b"]) == (
        found.troubles,
        [one.name for one in found.alive],
        [one.name for one in found.gone],
    )
    await clocked_database.write(processes.beat, "a", report("not connected", room=Room("/house", 10)))
    await clocked_database.write(store.post, Message(kind="test", key="1", facts={}, receiver=ada.account.id))
    clock.advance(KEPT.total_seconds())
    await clocked_database.write(processes.beat, "c", report("not connected", room=Room("/house", 10)))
    found = await now()
    assert [Trouble.RELAY, Trouble.LATE, Trouble.ROOM] == [one for one in found.troubles if one is not Trouble.PROCESS]
    assert timedelta(seconds=found.late) >= KEPT
    assert "b" not in [one.name for one in found.gone]


def test_each_task_says_what_it_does(serve_house: ServeHouse) -> None:
    """A house with all that it can have runs no task of which the page of its health shows the name alone."""
    house = serve_house(smtp_url="smtp://127.0.0.1:9", mail_sender="house@example.org", mqtt="mqtt://127.0.0.1:9")

    def tasks() -> set[str]:
        return {task.name for one in house.read(processes.all_known) for task in one.report.tasks}

    wait_until(lambda: bool(tasks()))
    assert "retention" in tasks()
    assert set() == tasks() - TASKS.keys()


def test_the_page(sqlite_house: House) -> None:
    """It shows the process that serves and its tasks, in the reader's language; those without the right get 403."""
    try:
        visitor = Visitor(sqlite_house, sqlite_house.staff(Role.AUCTIONEER), **{"Accept-Language": "de"})
        page = visitor.page("/admin/health")
        assert "beendet Auktionen" in page.main and "SQLite" in page.main and "Version" in page.main
        clerk = Visitor(sqlite_house, sqlite_house.staff(Role.CLERK))
        assert 403 == clerk.http.get("/admin/health").status_code
    finally:
        while PRESENT:
            PRESENT.pop().close()


async def test_the_address_of_the_house_is_that_of_a_process_that_serves(
    clocked_database: Database, clock: FakeClock
) -> None:
    """The latest on this machine counts, otherwise the latest on another; none that has fallen silent, and none without one."""

    async def at(name: str, host: str, origin: str) -> str | None:
        await clocked_database.write(processes.beat, name, replace(report(), host=host, origin=origin))
        return await address()

    async def address() -> str | None:
        return await clocked_database.read(processes.origin_of_house, "hall")

    assert None is await at("a", "hall", "")
    clock.advance(1)
    assert "http://127.0.0.1:8001" == await at("b", "hall", "http://127.0.0.1:8001")
    clock.advance(1)
    assert "http://127.0.0.1:8002" == await at("c", "hall", "http://127.0.0.1:8002")
    clock.advance(1)
    assert "http://127.0.0.1:8002" == await at("d", "cellar", "http://127.0.0.1:9000")
    clock.advance(ALIVE.total_seconds())
    assert None is await address()
    assert "http://127.0.0.1:9000" == await at("d", "cellar", "http://127.0.0.1:9000")
