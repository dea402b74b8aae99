"""Streams after a failover that lost commits: no follower continues after a lost event."""

import asyncio

from saleroom.bidding.storage.event_log import LOG
from saleroom.feed.feed import Feed
from tests.bidding.service.people import bid, person, sells
from tests.fixtures_database import OpenDatabase
from tests.patience import SECONDS_MAX
from tests.rewinding import standby


async def test_streams_end_where_the_log_was_rewound(open_database: OpenDatabase, database_url: str) -> None:
    """If a failover gives the numbers of lost events to others, streams end. A new follower gets the new events."""
    here = open_database()
    bob, cyd = await person(here), await person(here)
    gid = await sells(here, await person(here))
    feed = Feed(here, LOG, 10)
    running = asyncio.create_task(feed.run())
    try:
        async with standby(database_url) as take_over:
            followers = [await feed.follow(gid, None), await feed.follow(None, None)]
            assert ["accepted"] == await bid(here, bob.bids(gid, "100"))
            feed.wake()
            async with asyncio.timeout(SECONDS_MAX):
                assert [[2], [2]] == [[event.version for event in await one.next()] for one in followers]
            await take_over()
            there = open_database()
            assert ["accepted"] * 2 == await bid(there, cyd.bids(gid, "100"), bob.bids(gid, "120"))
            feed.wake()
            async with asyncio.timeout(SECONDS_MAX):
                for one in followers:
                    while not one.ended:
                        await one.next()
                    one.close()
            assert 1 == feed.rewinds
            again = await feed.follow(gid, None)
            assert ["accepted"] == await bid(there, cyd.bids(gid, "150"))
            feed.wake()
            async with asyncio.timeout(SECONDS_MAX):
                assert [4] == [event.version for event in await again.next()]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
