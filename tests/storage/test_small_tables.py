"""Leases, idempotency keys, heartbeats, users and tokens, as rows."""

import asyncio
from datetime import datetime, timedelta

import asyncpg
import pytest

from saleroom.accounts.storage import accounts, idempotency
from saleroom.accounts.storage.idempotency import RETENTION, AcceptedRequest
from saleroom.storage import heartbeats, leases
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable, TryAgain
from tests.bidding.domain.playing import T0
from tests.fixtures_database import FakeClock, OpenDatabase
from tests.storage.rows import add_author


async def test_a_lease_has_one_holder(clocked_database: Database, clock: FakeClock) -> None:
    """A holder keeps a lease by renewing it; another gets it from the instant it expires, or once it is given back."""

    async def hold(holder: str) -> bool:
        return await clocked_database.write(leases.hold, "relay", holder, 10)

    assert (True, False, True) == (await hold("a"), await hold("b"), await hold("a"))
    clock.advance(9.999999)
    assert (False, True) == (await hold("b"), await hold("a"))
    clock.advance(9.999999)
    assert not await hold("b")
    clock.advance(0.000001)
    assert (True, False) == (await hold("b"), await hold("a"))
    await clocked_database.write(leases.release, "relay", "a")
    assert not await hold("a")
    await clocked_database.write(leases.release, "relay", "b")
    assert await hold("a")
    assert await clocked_database.write(leases.hold, "another", "b", 10)


async def test_a_lease_that_many_want_goes_to_one(open_database: OpenDatabase) -> None:
    """Of several processes that reach for a free or expired lease at once, one gets it."""
    clock = FakeClock()
    several = [open_database(clock=clock) for _ in range(5)]
    for turn in range(5):
        got = await asyncio.gather(
            *(one.write(leases.hold, "relay", f"{turn}{i}", 10) for i, one in enumerate(several))
        )
        assert 1 == sum(got)
        clock.advance(10)


def _kept(user_id: int, key: str, request: bytes = b"asked") -> AcceptedRequest:
    return AcceptedRequest(user_id, key, request, b"answered")


async def test_accepted_requests_are_kept_for_a_day(clocked_database: Database, clock: FakeClock) -> None:
    """Answers are found by user and key, and by nothing else, for 24 hours and more; then they are swept."""
    ada, bob = [(await clocked_database.write(add_author)).id for _ in range(2)]
    await clocked_database.write(idempotency.add, [_kept(ada, "one"), _kept(bob, "two")], clock.now)
    wanted = [(ada, "one"), (ada, "two"), (bob, "one"), (bob, "two"), (bob, "two")]
    found = await clocked_database.read(idempotency.find, wanted)
    assert {(ada, "one"): _kept(ada, "one"), (bob, "two"): _kept(bob, "two")} == found
    assert {} == await clocked_database.read(idempotency.find, [])
    assert timedelta(hours=24) <= RETENTION
    assert 0 == await clocked_database.write(idempotency.sweep, T0 + RETENTION, 9)
    later = T0 + RETENTION + timedelta(microseconds=1)
    assert [1, 1, 0] == [await clocked_database.write(idempotency.sweep, later, 1) for _ in range(3)]
    assert {} == await clocked_database.read(idempotency.find, wanted)


async def test_a_key_is_kept_once(database: Database) -> None:
    """If another request has used a key meanwhile, the later one begins again, and the key keeps the first answer."""
    ada = (await database.write(add_author)).id
    await database.write(idempotency.add, [_kept(ada, "one")], T0)
    tries = []

    def too_late(tx: Transaction) -> None:
        tries.append(1)
        idempotency.add(tx, [_kept(ada, "one", b"another")], T0)

    with pytest.raises(DatabaseUnavailable) as caught:
        await database.write(too_late)
    assert isinstance(caught.value.__cause__, TryAgain)
    assert 5 == len(tries)
    assert {(ada, "one"): _kept(ada, "one")} == await database.read(idempotency.find, [(ada, "one")])


async def test_heartbeats(clocked_database: Database, clock: FakeClock) -> None:
    """A beat returns the instant of the last one and its own, and follows a clock that is set back."""
    later, latest = T0 + timedelta(microseconds=1), T0 + timedelta(hours=1)
    before = None
    for clock.now in (T0, later, latest, T0, later):
        assert (before, clock.now) == await clocked_database.write(heartbeats.record)
        before = clock.now
    assert later == await clocked_database.read(heartbeats.last)


async def test_one_process_alone_finds_the_gap(open_database: OpenDatabase) -> None:
    """When several processes beat at once after a pause, exactly one of them learns of it, after every pause."""
    clock = FakeClock()
    several = [open_database(clock=clock) for _ in range(4)]
    for one in several:
        await one.write(heartbeats.record)
    for _ in range(5):
        last = clock.now
        clock.advance(hours=1)
        found = await asyncio.gather(*(one.write(heartbeats.record) for one in several))
        assert [last, clock.now, clock.now, clock.now] == sorted(before for before, _ in found if before is not None)


@pytest.mark.databases("postgresql")
async def test_a_heartbeat_that_waits_is_no_step_back(
    clocked_database: Database, clock: FakeClock, database_url: str
) -> None:
    """A process that waits for another's heartbeat reads the clock after it, and does not take it back."""
    await clocked_database.write(heartbeats.record)
    other = await asyncpg.connect(database_url)

    async def waits() -> bool:
        found = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        return bool(await other.fetch(found))

    try:
        async with other.transaction():
            await other.execute("SELECT at FROM heartbeats FOR UPDATE")
            waiting = asyncio.create_task(clocked_database.write(heartbeats.record))
            while not await waits():
                assert not waiting.done()
            clock.advance(hours=1)
        assert (T0, clock.now) == await waiting
    finally:
        await other.close()


async def test_several_first_heartbeats(open_database: OpenDatabase) -> None:
    """In a new house, several processes may beat at once; one of them finds nothing before it."""
    several = [open_database() for _ in range(4)]
    found = await asyncio.gather(*(one.write(heartbeats.record) for one in several))
    assert 1 == [before for before, _ in found].count(None)


async def test_users(database: Database) -> None:
    """A user is stored once by name, is found by it, and is listed; a taken name leaves the transaction sound."""

    def three(tx: Transaction) -> list[bool]:
        wanted = [("ada", "digest"), ("ada", None), ("bob", None)]
        return [accounts.add_user(tx, name, digest, T0) is not None for name, digest in wanted]

    assert [True, False, True] == await database.write(three)
    ada = await database.read(accounts.find_login, "ada")
    bob = await database.read(accounts.find_login, "bob")
    assert ada is not None and bob is not None
    assert ("ada", "digest", T0) == (ada.account.username, ada.password_digest, ada.account.created_at)
    assert bob.password_digest is None
    assert None is await database.read(accounts.find_login, "cyd")
    assert ["ada", "bob"] == [one.username for one in await database.read(accounts.list_users)]


async def test_tokens(database: Database) -> None:
    """A token identifies its user until the instant it expires, and not at it; a clash is reported; sweeping removes it."""
    ada = await database.write(add_author)
    expires = T0 + timedelta(days=30)
    assert await database.write(accounts.add_token, ada.id, "one", T0)
    assert not await database.write(accounts.add_token, ada.id, "one", T0)
    assert await database.write(accounts.add_token, ada.id, "two", T0 + timedelta(microseconds=1))

    async def live(now: datetime) -> list[str]:
        return sorted(await database.read(accounts.holders_by_token, ["one", "two", "three"], now))

    assert ["one", "two"] == await live(expires - timedelta(microseconds=1))
    assert ["two"] == await live(expires)
    assert 1 == await database.write(accounts.sweep_tokens, expires, 9)
    assert ["two"] == await live(T0)
    assert await database.write(accounts.delete_token, "two")
    assert not await database.write(accounts.delete_token, "two")
    assert [] == await live(T0)
