"""A lot that another session has locked, as by a repair or by a commit that hangs, does not hold up the others for good."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from sqlalchemy import make_url, text

from saleroom.bidding.service.bidding import place_bids
from saleroom.bidding.service.closing import Closer
from saleroom.bidding.service.desk import Desk
from saleroom.bidding.storage.auctions import lock_free
from saleroom.storage import database as transactions
from saleroom.storage import postgresql
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.faults import DatabaseUnavailable, LockTimeout
from saleroom.storage.turns import Rank
from tests.bidding.domain.examples import after
from tests.bidding.service.people import Person, person, sells, stored
from tests.fixtures_database import FakeClock, OpenDatabase

pytestmark = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)

Hold = Callable[[str], Awaitable[asyncpg.transaction.Transaction]]
LOCK_SECONDS = 0.3


@pytest.fixture
async def house(open_database: OpenDatabase, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A database as a house has it, which waits for locks for a moment."""
    monkeypatch.setattr(postgresql, "LOCK_SECONDS_MAX", LOCK_SECONDS)
    return open_database(clock=clock)


@pytest.fixture
async def hold(database_url: str) -> AsyncIterator[Hold]:
    """Lock a lot in another session: `hold(gid)`, until the transaction that it returns is rolled back."""
    url = make_url(database_url).set(drivername="postgresql")
    session = await asyncpg.connect(url.render_as_string(hide_password=False))

    async def lock(gid: str) -> asyncpg.transaction.Transaction:
        held = session.transaction()
        await held.start()
        await session.execute("SELECT 1 FROM auctions WHERE gid = $1 FOR UPDATE", gid)
        return held

    yield lock
    await session.close()


def counted(house: Database, done: list[Any]) -> Callable[..., Awaitable[Any]]:
    """Return `house.write`, with a note of the use cases that it has done."""
    write = house.write

    async def noted(use_case: Any, *args: Any, **more: Any) -> Any:
        answer = await write(use_case, *args, **more)
        done.append(use_case)
        return answer

    return noted


async def test_bids_on_other_lots_do_not_wait_for_it(
    house: Database, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bids that share a transaction with one on the lot are decided. Later ones do not even wait for its lock once."""
    ada, bob, cid = [await person(house) for _ in range(3)]
    held, free = [await sells(house, ada, ends_at=after(3600)) for _ in range(2)]
    desk = Desk(house)
    session = await hold(held)

    async def both(who: Person, amount: str) -> list[object]:
        bids = [desk.place(who.bids(gid, amount)) for gid in (held, held, free)]
        return await asyncio.gather(*bids, return_exceptions=True)

    first = await both(bob, "100")
    assert [LockTimeout, LockTimeout, bytes] == [type(answer) for answer in first]
    waited: list[Any] = []
    monkeypatch.setattr(house, "write", counted(house, waited))
    second = await both(cid, "200")
    assert [LockTimeout, LockTimeout, bytes] == [type(answer) for answer in second]
    assert [lock_free, place_bids] == waited
    await session.rollback()
    third = await both(bob, "300")
    assert [bytes, bytes] == [type(answer) for answer in (third[0], third[2])]
    assert not desk._locked


async def test_other_lots_close(house: Database, hold: Hold, clock: FakeClock) -> None:
    """The lot closes once its lock is released."""
    ada = await person(house)
    held, free = [await sells(house, ada, ends_at=after(60), soft_close=None) for _ in range(2)]
    session = await hold(held)
    clock.now = after(60)
    closer = Closer(house)
    await closer.settle()
    assert ["open", "closed"] == [(await stored(house, gid)).status for gid in (held, free)]
    await session.rollback()
    await closer.settle()
    assert "closed" == (await stored(house, held)).status


async def test_a_server_that_does_not_answer(house: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its machine may still do, as when its disk hangs. The work of the sale is cut off, and not tried again."""
    monkeypatch.setattr(transactions, "WORK_SECONDS_MAX", LOCK_SECONDS)
    tries: list[int] = []

    @ranked(Rank.HOUSE)
    def hangs(tx: Transaction) -> None:
        tries.append(1)
        tx.execute(text("SELECT pg_sleep(600)"))

    for how in (house.write, house.read):
        with pytest.raises(DatabaseUnavailable, match=r"no answer within 0\.3 seconds"):
            await how(hangs)
    assert [1, 1] == tries
    await person(house)  # it goes on
