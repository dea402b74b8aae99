"""States that a broker retains: which to take away, which to publish again, page by page."""

from datetime import timedelta

import pytest

from saleroom.bidding.storage.event_log import LOG
from saleroom.mqtt import retained
from saleroom.storage.database import Database
from tests.fixtures_database import FakeClock
from tests.mqtt.equipment import Sales

DAY = timedelta(days=1)


@pytest.fixture
async def ended(clocked_database: Database, clock: FakeClock) -> list[str]:
    """Five auctions that ended, two and then three delivered together, and one that is not over."""
    sales = Sales(clocked_database)
    gids = [await sales.sell() for _ in range(6)]
    for together in (gids[:2], gids[2:5]):
        for gid in together:
            await sales.cancel(gid)
        owed = await clocked_database.read(LOG.owed, 100)
        await clocked_database.write(LOG.mark_delivered, [event.id for event in owed])
        clock.advance(3600)
    return gids[:5]


async def test_pages_go_on_where_the_last_one_ended(clocked_database: Database, ended: list[str]) -> None:
    """Page by page each state of the day comes once, even if many were delivered in the same instant."""
    for limit in (1, 2, 3, 5, 9):
        found: list[retained.EndedState] = []
        while page := await clocked_database.read(retained.fresh, LOG, DAY, found[-1] if found else None, limit):
            assert len(page) <= limit
            found += page
        assert ended == [state.gid for state in found]


async def test_a_state_expires_after_a_day_for_good(
    clocked_database: Database, ended: list[str], clock: FakeClock
) -> None:
    """A state is overdue from a day after its delivery until it is marked, and from then on not fresh any more."""
    assert [] == await clocked_database.read(retained.overdue, LOG, DAY, 9)
    clock.advance((DAY - timedelta(hours=2)).total_seconds())
    overdue = await clocked_database.read(retained.overdue, LOG, DAY, 9)
    assert ended[:2] == [state.gid for state in overdue]
    assert ended[2:] == [state.gid for state in await clocked_database.read(retained.fresh, LOG, DAY, None, 9)]
    await clocked_database.write(retained.mark_cleared, LOG, [overdue[0].id])
    assert ended[1:2] == [state.gid for state in await clocked_database.read(retained.overdue, LOG, DAY, 9)]
    assert ended[2:] == [state.gid for state in await clocked_database.read(retained.fresh, LOG, DAY, overdue[0], 9)]
