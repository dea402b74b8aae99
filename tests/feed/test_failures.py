"""The feed if something fails in the middle: no follower misses an event without noticing it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from saleroom.bidding.storage.event_log import LOG
from saleroom.feed import feed as feed_module
from saleroom.feed.feed import Feed
from saleroom.log import store
from saleroom.log.store import LoggedEvent, LogPage
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable
from tests.bidding.service.people import bid, person
from tests.feed.followers import running, take
from tests.mqtt.equipment import Sales
from tests.patience import SECONDS_MAX


async def test_an_outage_in_the_middle_of_reading_loses_nothing(
    database: Database, sales: Sales, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the database fails between two pages of new events, a follower still gets every event, once and in order."""
    monkeypatch.setattr(store, "PAGE_MAX", 3)
    monkeypatch.setattr(feed_module, "RETRY_SECONDS", 0.01)
    bob, gid = await person(database), await sales.sell()
    feed = Feed(database, LOG, 10)
    async with running(feed):
        everything, one = await feed.follow(None, None), await feed.follow(gid, None)
    assert ["accepted"] == await bid(database, bob.bids(gid, "1000 up to 2000"))
    for maximum in range(3000, 6000, 1000):  # these are in the log, and hidden; so a page has less than it may have
        assert ["accepted"] == await bid(database, bob.bids(gid, f"up to {maximum}"))
    await sales.bid(gid)
    reads = 0

    def tail(*asked: Any, **how: Any) -> LogPage:
        nonlocal reads
        reads += 1
        if reads == 2:
            raise DatabaseUnavailable("the second page cannot be read")
        return original(*asked, **how)

    original = LOG.tail
    monkeypatch.setattr(LOG, "tail", tail)
    async with running(feed):
        expected = (await sales.payloads(gid))[1:]
        assert expected == await take(everything, len(expected)) == await take(one, len(expected))
        assert reads > 2


async def test_a_failure_ends_every_stream(sales: Sales, database: Database) -> None:
    """If events cannot be handed out, no follower goes on as if there had been none: each ends, and may come back."""
    gid = await sales.sell()
    feed = Feed(database, LOG, 10)
    async with running(feed):
        followers = [await feed.follow(None, None) for _ in range(5)]

    def fail(_: Sequence[LoggedEvent]) -> bool:
        raise ZeroDivisionError

    waiting = [asyncio.create_task(follower.next()) for follower in followers]
    followers[0].deliver = fail
    await sales.bid(gid)
    feed.wake()
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(feed.run(), SECONDS_MAX)
    async with asyncio.timeout(SECONDS_MAX):
        assert all(len(events) in (0, 1) for events in await asyncio.gather(*waiting))
    assert all(follower.ended for follower in followers)
