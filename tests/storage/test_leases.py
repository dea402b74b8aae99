"""Leases when the clock is set back: one that nobody renews runs out all the same, and one that is renewed is never taken."""

from __future__ import annotations

from datetime import timedelta

import pytest

from saleroom.storage import leases, processes
from saleroom.storage.database import Database
from saleroom.storage.leases import Lease
from saleroom.storage.processes import ALIVE, Report
from tests.fixtures_database import FakeClock

SECONDS = 30.0
HOUR = timedelta(hours=1)


class Watch:
    """A clock that nobody sets; a test lets it run."""

    now = 1000.0

    def __call__(self) -> float:
        """Return its seconds."""
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """The clock by which processes count their leases."""
    running = Watch()
    monkeypatch.setattr(leases, "clock", running)
    return running


async def test_the_lease_of_the_dead_ends_although_the_clock_was_set_back(
    clocked_database: Database, clock: FakeClock, watch: Watch
) -> None:
    """Another process takes it once it has seen the same lease for its whole time, and not a moment before."""
    dead, waiting = Lease("duty", "dead", SECONDS), Lease("duty", "waiting", SECONDS)
    assert await dead.hold(clocked_database)
    clock.now -= HOUR
    assert not await waiting.hold(clocked_database)
    watch.now += SECONDS
    assert not dead.is_certain()
    assert not await waiting.hold(clocked_database)
    watch.now += 0.001
    assert await waiting.hold(clocked_database)
    assert waiting.is_certain()
    assert not await dead.hold(clocked_database)


@pytest.mark.parametrize("back", [timedelta(0), HOUR])
async def test_a_lease_that_is_renewed_is_never_taken(
    clocked_database: Database, clock: FakeClock, watch: Watch, back: timedelta
) -> None:
    """However long another process waits, and whichever way the clock is set meanwhile."""
    holder, waiting = Lease("duty", "holder", SECONDS), Lease("duty", "waiting", SECONDS)
    assert await holder.hold(clocked_database)
    assert not await waiting.hold(clocked_database)
    clock.now -= back
    for _ in range(5):
        clock.advance(SECONDS / 2)
        watch.now += SECONDS / 2
        assert await holder.hold(clocked_database)
        assert not await waiting.hold(clocked_database)


async def test_a_renewal_counts_that_comes_before_the_taking(
    clocked_database: Database, clock: FakeClock, watch: Watch
) -> None:
    """A holder that stood still, and renews its lease just before another one takes it, keeps it."""
    holder, waiting = Lease("duty", "holder", SECONDS), Lease("duty", "waiting", SECONDS)
    assert await holder.hold(clocked_database)
    assert not await waiting.hold(clocked_database)
    clock.now -= HOUR
    watch.now += 2 * SECONDS
    assert await holder.hold(clocked_database)
    assert not await waiting.hold(clocked_database)
    watch.now += SECONDS
    assert not await waiting.hold(clocked_database)


async def test_a_dead_process_does_not_live_on_when_the_clock_is_set_back(
    clocked_database: Database, clock: FakeClock
) -> None:
    """It counts as gone at once; one that serves counts again from its next beat."""
    report = Report("host", 1, "1.0", "off", (), origin="http://house.example")
    await clocked_database.write(processes.beat, "dead", report)
    await clocked_database.write(processes.beat, "serving", report)
    clock.now -= max(HOUR, ALIVE)
    await clocked_database.write(processes.beat, "serving", report)
    known = await clocked_database.read(processes.all_known)
    assert {"dead": False, "serving": True} == {one.name: one.is_alive(clock.now) for one in known}
