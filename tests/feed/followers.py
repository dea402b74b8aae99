"""Followers of a feed, as a test reads them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from saleroom.feed.feed import Feed
from saleroom.feed.follower import Follower
from saleroom.log.store import LoggedEvent
from tests.patience import SECONDS_MAX


async def take(follower: Follower, count: int) -> list[bytes]:
    """Return the wire forms of the next `count` events. Fail if there are more, or if they do not come."""
    taken: list[LoggedEvent] = []
    async with asyncio.timeout(SECONDS_MAX):
        while len(taken) < count:
            taken += await follower.next()
    assert count == len(taken)
    return [event.payload for event in taken]


@asynccontextmanager
async def running(feed: Feed) -> AsyncIterator[None]:
    """Run the feed for the length of a block."""
    task = asyncio.create_task(feed.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
