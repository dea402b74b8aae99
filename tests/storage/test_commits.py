"""Commits that wait for a standby, on a server of its own, whose standby never comes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text

from saleroom.accounts.storage import idempotency
from saleroom.accounts.storage.idempotency import AcceptedRequest
from saleroom.bidding.service import closing
from saleroom.bidding.service import desk as desks
from saleroom.bidding.service.desk import Desk
from saleroom.http import health
from saleroom.storage import postgresql
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable
from tests.bidding.service.people import person, sells
from tests.fixtures_house import ServeHouse
from tests.patience import SECONDS_MAX, until
from tests.storage.standbys import one_waits, operator, own_server, server, wait_for, waiting

__all__ = ["operator", "own_server", "server"]


@pytest.fixture
async def house(server: str, operator: asyncpg.Connection) -> AsyncIterator[Database]:
    """The database as a house has it, whose commits wait for a standby from now on."""
    await wait_for(operator, "nobody")
    database = Database(server)
    yield database
    await wait_for(operator, "")
    await database.close()


def _add(tx: Transaction, name: str) -> int:
    """Add a user, and return the number."""
    added = text("INSERT INTO users (username, created_at) VALUES (:name, now()) RETURNING id")
    return int(tx.execute(added, {"name": name}).scalar_one())


def _names(tx: Transaction) -> list[str]:
    return list(tx.execute(text("SELECT username FROM users ORDER BY id")).scalars())


async def test_a_commit_whose_wait_somebody_ends_is_in_doubt(house: Database, operator: asyncpg.Connection) -> None:
    """It is committed here and perhaps nowhere else, so nobody may hear that it was done. The next commit waits again."""
    adding = asyncio.create_task(house.write(_add, "ada"))
    await operator.execute("SELECT pg_cancel_backend($1)", await one_waits(operator))
    with pytest.raises(DatabaseUnavailable, match=r"synchronous replication.*at the commit"):
        await adding
    assert await house.read(_names) == ["ada"]
    another = asyncio.create_task(house.write(_add, "ben"))
    await one_waits(operator)
    await wait_for(operator, "")
    assert isinstance(await another, int)


async def test_what_waits_for_its_standby_is_seen_by_nobody(house: Database, operator: asyncpg.Connection) -> None:
    """The server shows it only after the wait. So no page, stream or broker has what a failover takes away."""
    adding = asyncio.create_task(house.write(_add, "ada"))
    await one_waits(operator)
    assert await house.read(_names) == []
    await wait_for(operator, "")
    await adding
    assert await house.read(_names) == ["ada"]


async def test_a_cancelled_task_does_not_end_the_wait(house: Database, operator: asyncpg.Connection) -> None:
    """The driver would ask the server to stop, and the server would commit without its standby."""
    adding = asyncio.create_task(house.write(_add, "ada"))
    pid = await one_waits(operator)
    adding.cancel()
    await asyncio.sleep(0.3)
    assert await waiting(operator) == [pid]
    assert not adding.done()
    await wait_for(operator, "")
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
    assert await waiting(operator)


async def test_a_kept_answer_waits_for_the_standby_too(house: Database, operator: asyncpg.Connection) -> None:
    """A failover may still take away the transaction that gave it."""
    await wait_for(operator, "")
    user = await house.write(_add, "ada")
    await wait_for(operator, "nobody")
    kept = AcceptedRequest(user, "key", b"digest", b"answer")

    def accept(tx: Transaction) -> None:
        idempotency.add(tx, [kept], datetime.now(UTC))

    accepting = asyncio.create_task(house.write(accept))
    await operator.execute("SELECT pg_cancel_backend($1)", await one_waits(operator))
    with pytest.raises(DatabaseUnavailable):
        await accepting
    found: list[asyncio.Task[Any]] = [
        asyncio.create_task(how(idempotency.find, [(user, "key")])) for how in (house.read, house.write)
    ]
    async with asyncio.timeout(SECONDS_MAX):
        while len(await waiting(operator)) < len(found):
            await asyncio.sleep(0.01)
    assert not any(one.done() for one in found)
    await wait_for(operator, "")
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
    await wait_for(operator, "nobody")
    await until(lambda: ready() == (503, "commits nothing"), "it is not ready")
    assert house.anyone.get("/auctions").status_code == 200
    await wait_for(operator, "")
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
    await wait_for(operator, "nobody")
    bids = await asyncio.gather(*(desk.place(bob.bids(gid, "100")) for gid in gids), return_exceptions=True)
    assert {DatabaseUnavailable} == {type(answer) for answer in bids}
    assert 1 == len(await waiting(operator))
    await wait_for(operator, "")
    assert isinstance(await desk.place(bob.bids(gids[-1], "100")), bytes)
    await database.close()
