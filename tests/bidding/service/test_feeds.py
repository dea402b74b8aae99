"""Feeds, on both databases: which lots are in them, and when they have changed."""

from saleroom.bidding.service import feeds
from saleroom.bidding.storage.listing import Filter
from saleroom.storage.database import Database
from tests.bidding.service.people import bid, person, sells
from tests.fixtures_database import T0, FakeClock


async def test_a_lot_is_as_new_as_its_last_public_event(clocked_database: Database, clock: FakeClock) -> None:
    """A bid makes a lot newer, the raise of a maximum that nobody sees does not."""
    ada, ben = await person(clocked_database), await person(clocked_database)
    gid = await sells(clocked_database, ada)
    which = Filter(author=ada.account.username)
    [before] = await clocked_database.read(feeds.newest, which, 10)
    clock.advance(seconds=60)
    await bid(clocked_database, ben.bids(gid, "up to 200"))
    [after] = await clocked_database.read(feeds.newest, which, 10)
    clock.advance(seconds=60)
    await bid(clocked_database, ben.bids(gid, "up to 900"))
    assert [after.updated] == [one.updated for one in await clocked_database.read(feeds.dated, which, 10)]
    assert (T0, 60) == (before.updated, (after.updated - before.updated).total_seconds())
