"""The feed: a follower gets every event once and in order, whenever it joins and however transactions commit."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from sqlalchemy import select

from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.service.closing import settle_due
from saleroom.bidding.storage import tables
from saleroom.bidding.storage.event_log import LOG
from saleroom.feed import follower as follower_module
from saleroom.feed.feed import Feed
from saleroom.feed.follower import Follower
from saleroom.kernel.errors import Busy, UnknownEvent
from saleroom.kernel.identifiers import BEGINNING, EventId
from saleroom.log import store
from saleroom.log.frontier import Frontier
from saleroom.log.store import LoggedEvent
from saleroom.storage.database import Database, Transaction
from tests.feed.followers import take
from tests.fixtures_database import FakeClock, OpenDatabase
from tests.mqtt.equipment import Sales
from tests.patience import SECONDS_MAX, until

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)


@pytest.fixture
async def feed(database: Database) -> AsyncIterator[Feed]:
    """A running feed of the test's database, woken by its commits."""
    running = Feed(database, LOG, 1000)
    database.after_commit(LOG.appended, lambda _: running.wake())
    task = asyncio.create_task(running.run())
    yield running
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def all_payloads(database: Database) -> list[bytes]:
    """Return all public events in the order of the log."""

    def read(tx: Transaction) -> list[bytes]:
        public = select(tables.events.c.payload).where(tables.events.c.version.is_not(None))
        return list(tx.execute(public.order_by(tables.events.c.id)).scalars())

    return await database.read(read)


async def test_an_auction_is_followed_from_now_from_the_beginning_and_from_behind_an_event(
    sales: Sales, feed: Feed
) -> None:
    """Each follower gets what comes after the point it asked for, and nothing of other auctions."""
    gid, other = await sales.sell(), await sales.sell()
    await sales.bid(gid, 3)
    now = await feed.follow(gid, None)
    start = await feed.follow(gid, EventId(gid, 0))
    later = await feed.follow(gid, EventId(gid, 2))
    await sales.bid(other, 2)
    await sales.bid(gid, 2)
    events = await sales.payloads(gid)
    assert 6 == len(events)
    assert events[4:] == await take(now, 2)
    assert events == await take(start, 6)
    assert events[2:] == await take(later, 4)


async def test_the_whole_log_is_followed_in_its_order(sales: Sales, feed: Feed, database: Database) -> None:
    """A follower of all auctions gets every event in the order of the log, from any point."""
    gids = [await sales.sell() for _ in range(3)]
    for gid in gids:
        await sales.bid(gid, 2)
    start, now = await feed.follow(None, BEGINNING), await feed.follow(None, None)
    behind = await feed.follow(None, EventId(gids[1], 2))
    for gid in reversed(gids):
        await sales.bid(gid)
    events = await all_payloads(database)
    assert events == await take(start, 12)
    assert events[9:] == await take(now, 3)
    first = events.index((await sales.payloads(gids[1]))[1]) + 1
    assert events[first:] == await take(behind, 12 - first)


async def test_a_long_backlog_comes_by_pages_and_goes_over_into_what_is_new(
    sales: Sales, feed: Feed, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of the log and live events follow each other without a gap or a repeat, while bids come in."""
    monkeypatch.setattr(store, "PAGE_MAX", 3)
    gid = await sales.sell()
    await sales.bid(gid, 10)
    one, everything = await feed.follow(gid, EventId(gid, 0)), await feed.follow(None, BEGINNING)
    bidding = asyncio.create_task(sales.bid(gid, 20))
    assert await take(one, 31) == await take(everything, 31)
    await bidding
    assert await all_payloads(database) == await sales.payloads(gid)
    assert 31 == one.reached


async def test_followers_that_join_and_leave_at_any_time_miss_nothing(sales: Sales, feed: Feed) -> None:
    """Ten followers leave at random and resume after their last event. Each ends with the whole log, each event once."""
    gids = [await sales.sell() for _ in range(3)]
    done = asyncio.Event()

    async def follow(chance: random.Random, gid: str | None) -> list[bytes]:
        got: list[bytes] = []
        last = BEGINNING
        while not done.is_set() or len(got) < (63 if gid is None else 21):
            follower = await feed.follow(gid, last)
            for _ in range(chance.randrange(1, 4)):
                timer = asyncio.get_running_loop().call_later(chance.random() * 0.05, follower.wake)
                for event in await follower.next():
                    got.append(event.payload)
                    last = EventId(event.gid, event.version)
                timer.cancel()
            follower.close()
        return got

    readers = [asyncio.create_task(follow(random.Random(n), [*gids, None][n % 4])) for n in range(10)]
    await asyncio.gather(*(sales.bid(gid, 20) for gid in gids))
    done.set()
    async with asyncio.timeout(SECONDS_MAX):
        results = await asyncio.gather(*readers)
    everything = await all_payloads(sales.database)
    for n, got in enumerate(results):
        gid = [*gids, None][n % 4]
        assert (everything if gid is None else await sales.payloads(gid)) == got


@pytest.fixture
async def elsewhere(database: Database) -> AsyncIterator[asyncpg.Connection]:
    """A connection to the test's PostgreSQL, for a transaction that takes the next number of the log."""
    _, options = database.url.get_dialect()().create_connect_args(database.url)
    connection = await asyncpg.connect(**options)
    yield connection
    await connection.close()


TAKE_A_NUMBER = """
    INSERT INTO events (auction_id, position, version, type, at, payload, private, price, ending_rank, written_by)
    SELECT auction_id, 2, 2, type, at, payload, private, price, ending_rank, pg_current_xact_id()
    FROM events WHERE id = (SELECT min(id) FROM events)
"""


@on_postgresql
@pytest.mark.parametrize("commits", [True, False])
async def test_a_number_that_is_taken_is_waited_for(
    sales: Sales, feed: Feed, elsewhere: asyncpg.Connection, commits: bool
) -> None:
    """A follower of all auctions waits for an event that has a number but is not committed. Nobody else waits for it."""
    early, late = await sales.sell(), await sales.sell()
    everything, one = await feed.follow(None, None), await feed.follow(late, None)
    transaction = elsewhere.transaction()
    await transaction.start()
    await elsewhere.execute(TAKE_A_NUMBER)
    await sales.bid(late)
    assert (await sales.payloads(late))[1:] == await take(one, 1)
    task = asyncio.create_task(everything.next())
    await asyncio.sleep(0.3)
    assert not task.done(), "the number below is not decided yet"
    await (transaction.commit() if commits else transaction.rollback())
    async with asyncio.timeout(SECONDS_MAX):
        assert ([early, late] if commits else [late]) == [event.gid for event in await task]


@on_postgresql
async def test_a_number_that_was_taken_before_anybody_looked_is_waited_for(
    sales: Sales, feed: Feed, elsewhere: asyncpg.Connection
) -> None:
    """If a feed starts while a transaction is under way, it still gets the events of that transaction."""
    early, late = await sales.sell(), await sales.sell()
    transaction = elsewhere.transaction()
    await transaction.start()
    await elsewhere.execute(TAKE_A_NUMBER)
    await sales.bid(late)
    follower = await feed.follow(None, BEGINNING)
    assert 2 == len(await take(follower, 2))
    task = asyncio.create_task(follower.next())
    await transaction.commit()
    async with asyncio.timeout(SECONDS_MAX):
        assert [early, late] == [event.gid for event in await task]


async def test_commits_of_another_process_are_found_without_a_word(
    sales: Sales, database: Database, open_database: OpenDatabase
) -> None:
    """A feed that nobody wakes polls by itself."""
    gid = await sales.sell()
    unwoken = Feed(open_database(), LOG, 10)
    task = asyncio.create_task(unwoken.run())
    follower = await unwoken.follow(gid, None)
    await asyncio.sleep(0.1)
    await sales.bid(gid)
    assert (await sales.payloads(gid))[1:] == await take(follower, 1)
    task.cancel()


@on_sqlite
async def test_a_follower_that_takes_nothing_is_cut_off_alone(
    sales: Sales, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If too much waits for a follower, it is cut off at once. It can resume, and the others go on."""
    monkeypatch.setattr(follower_module, "WAITING_MAX", 5)
    gid = await sales.sell()
    stalled, lively = await feed.follow(gid, None), await feed.follow(gid, None)
    cut: list[bool] = []
    stalled.on_cut = lambda: cut.append(True)
    taken = []
    task = asyncio.create_task(stalled.next())
    for _ in range(7):
        await sales.bid(gid)
        if not task.done():
            await task
        taken += await take(lively, 1)
    assert (await sales.payloads(gid))[1:] == taken
    assert [True, True, []] == [*cut, stalled.ended, await stalled.next()]
    again = await feed.follow(gid, EventId(gid, stalled.reached))
    assert (await sales.payloads(gid))[stalled.reached :] == await take(again, 8 - stalled.reached)


@on_sqlite
async def test_the_end_of_an_auction_ends_its_followers(
    clocked_database: Database, clock: FakeClock, feed: Feed
) -> None:
    """A follower ends after the last event of an auction. A later one with nothing left to get is ended from the start."""
    sales = Sales(clocked_database)
    gid = await sales.sell(ends_at=clock.now + timedelta(seconds=1), soft_close=None)
    follower = await feed.follow(gid, None)
    clock.advance(1)
    await sales.database.write(settle_due, reopens=False)
    assert (await sales.payloads(gid))[1:] == await take(follower, 1)
    assert follower.ended
    assert (await feed.follow(gid, None)).ended
    assert (await feed.follow(gid, EventId(gid, 2))).ended
    late = await feed.follow(gid, EventId(gid, 1))
    assert not late.ended
    await take(late, 1)
    assert late.ended


@on_sqlite
async def test_refused_followers_do_not_count(sales: Sales, feed: Feed) -> None:
    """An unknown auction, an unknown event and one follower too many are refused, each with its own error."""
    gid = await sales.sell()
    with pytest.raises(UnknownAuction):
        await feed.follow("nowhere", None)
    for target in (gid, None):
        with pytest.raises(UnknownEvent):
            await feed.follow(target, EventId(gid, 2))
    with pytest.raises(UnknownEvent):
        await feed.follow(None, EventId("nowhere", 1))
    assert 0 == len(feed)
    followers = [await feed.follow(gid, None) for _ in range(1000)]
    with pytest.raises(Busy):
        await feed.follow(gid, None)
    followers[0].close()
    followers[0].close()
    assert 999 == len(feed)
    await feed.follow(gid, None)


@on_sqlite
async def test_the_log_is_not_read_without_followers(
    sales: Sales, feed: Feed, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A house without followers does not poll its log."""
    gid = await sales.sell()
    (await feed.follow(gid, None)).close()
    await until(lambda: feed._frontier is None, "the feed stands still")
    reads: list[object] = []
    real = database.read

    async def counted(use_case: Any, *args: Any, **kwargs: Any) -> Any:
        reads.append(use_case)
        return await real(use_case, *args, **kwargs)

    monkeypatch.setattr(database, "read", counted)
    feed.wake()
    await asyncio.sleep(0.1)
    assert [] == reads
    await feed.follow(gid, None)
    assert reads


@on_sqlite
async def test_a_request_reads_none_of_the_log_for_others(
    sales: Sales, feed: Feed, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The feed's own task reads the log and hands out events, even if the first follower has only just come."""
    gid = await sales.sell()
    await until(lambda: feed._frontier is None, "nobody follows")
    readers: list[asyncio.Task[None] | None] = []
    real = feed._read_on

    async def recorded(frontier: Frontier) -> None:
        readers.append(asyncio.current_task())
        await real(frontier)

    monkeypatch.setattr(feed, "_read_on", recorded)
    follower = await feed.follow(gid, None)
    assert [] == await _woken(follower)
    assert (True, False) == (bool(readers), asyncio.current_task() in readers)


@on_sqlite
async def test_an_event_that_the_feed_has_not_seen_is_fetched(sales: Sales, feed: Feed) -> None:
    """If a follower is handed an event and lacks earlier ones, it fetches them from the log."""
    gid = await sales.sell()
    follower = await feed.follow(gid, None)
    assert [] == await _woken(follower)
    feed.forget(follower)
    await sales.bid(gid, 2)
    backlog = (await sales.database.read(LOG.backlogs, [(gid, 2)]))[0]
    assert isinstance(backlog, store.Backlog)
    follower.push(backlog.events[:1])
    assert (await sales.payloads(gid))[1:] == await take(follower, 2)


@on_sqlite
@pytest.mark.parametrize("everything", [True, False])
async def test_events_are_delivered_at_once_or_waited_for(sales: Sales, feed: Feed, everything: bool) -> None:
    """A follower that takes only some events as they come gets the others by `next`: each event once, in order."""
    gid = await sales.sell()
    await sales.bid(gid, 2)
    chance, ways = random.Random(7), set[str]()
    follower = await feed.follow(None, BEGINNING) if everything else await feed.follow(gid, EventId(gid, 0))
    got: list[bytes] = []

    def take(way: str, events: Sequence[LoggedEvent]) -> None:
        ways.add(way)
        got.extend(event.payload for event in events)

    def deliver(events: Sequence[LoggedEvent]) -> bool:
        takes = chance.random() < 0.7
        if takes:
            take("at once", events)
        return takes

    async def read() -> None:
        while True:
            take("later", await follower.next())

    follower.deliver = deliver
    reading = asyncio.create_task(read())
    for _ in range(40):
        await sales.bid(gid)
        if chance.random() < 0.3:
            follower.wake()
    await until(lambda: len(got) >= 43, "all events come")
    reading.cancel()
    assert await sales.payloads(gid) == got
    assert {"at once", "later"} == ways


@on_sqlite
async def test_a_nudge_is_not_lost(sales: Sales, feed: Feed) -> None:
    """If a follower is woken while it does not wait, its next wait ends at once."""
    follower = await feed.follow(await sales.sell(), None)
    follower.wake()
    async with asyncio.timeout(SECONDS_MAX):
        assert [] == await follower.next()
    assert [] == await _woken(follower)


async def _woken(follower: Follower) -> list[LoggedEvent]:
    asyncio.get_running_loop().call_later(0.05, follower.wake)
    return await follower.next()
