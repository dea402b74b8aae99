"""After a failover that lost commits, a process that survived it trusts the database and not its own memory.

`here` is that process. `there` is another process, which starts after the failover and remembers nothing.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.service.accounts import token_digest
from saleroom.accounts.storage import accounts
from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.service.bidding import place_bids
from saleroom.bidding.service.reading import shown, shown_history
from saleroom.bidding.storage import auctions
from saleroom.bidding.storage.listing import Filter, Sort, page
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person, bid, outcome, person, read, sells, stored
from tests.fixtures_database import OpenDatabase, unique
from tests.rewinding import standby

FailOver = Callable[[], Awaitable[Database]]


class FailoverSale:
    """An auction that `here` knows, and its bidders; `fail_over` loses what is committed from now on."""

    def __init__(self, here: Database, gid: str, people: list[Person], fail_over: FailOver) -> None:
        self.here = here
        self.gid = gid
        self.bob, self.cyd, self.dan = people
        self.fail_over = fail_over


@pytest.fixture
async def sale(open_database: OpenDatabase, database_url: str) -> AsyncIterator[FailoverSale]:
    """A sale with one bid, bob's, on each database."""
    here = open_database()
    people = [await person(here) for _ in range(3)]
    gid = await sells(here, await person(here))
    assert ["accepted"] == await bid(here, people[0].bids(gid, "100"))
    async with standby(database_url) as take_over:

        async def fail_over() -> Database:
            await take_over()
            return open_database()

        yield FailoverSale(here, gid, people, fail_over)


async def leads(database: Database, who: Person, gid: str, asked: str) -> bool:
    """Bid, and return whether the bid leads."""
    (answer,) = await database.write(place_bids, [who.bids(gid, asked)])
    assert "accepted" == outcome(answer)
    return bool(read(answer)["leading"])


async def seen(database: Database, gid: str) -> Auction | None:
    """Return the auction as this process sees it."""
    return await database.read(auctions.get, gid)


async def test_a_bid_is_judged_by_the_bid_that_is_there(sale: FailoverSale) -> None:
    """A bid must beat the maximum in the database, not the lost maximum at the same position."""
    assert await leads(sale.here, sale.cyd, sale.gid, "up to 500")
    there = await sale.fail_over()
    assert await leads(there, sale.cyd, sale.gid, "up to 200")
    assert await leads(sale.here, sale.dan, sale.gid, "up to 300")
    now = await stored(there, sale.gid)
    assert sale.dan.account.username == (now.leader and now.leader.name)
    assert now == await seen(sale.here, sale.gid)
    assert [] == await there.read(faults_of)


async def test_a_lost_raise_is_forgotten(sale: FailoverSale) -> None:
    """A raise changes nothing in the public chain; even so, a bid must beat the raise that replaced a lost one."""
    assert await leads(sale.here, sale.bob, sale.gid, "up to 500")
    there = await sale.fail_over()
    assert await leads(there, sale.bob, sale.gid, "up to 200")
    assert await leads(sale.here, sale.dan, sale.gid, "up to 300")
    assert [] == await there.read(faults_of)


async def test_a_number_may_be_another_users(sale: FailoverSale) -> None:
    """A user who registers after the failover bids, leads and is listed by their own name, even with a lost user's number."""
    eve = await person(sale.here)
    assert await leads(sale.here, eve, sale.gid, "110")
    assert eve.account.username == (await sale.here.read(shown_history, sale.gid, None, 1, None))[0][0].bidder
    there = await sale.fail_over()
    mal = await person(there)
    while mal.account.id < eve.account.id:  # PostgreSQL may go on behind the lost number
        mal = await person(there)
    assert await leads(sale.here, mal, sale.gid, "110")
    name = mal.account.username
    assert [name] == [one.username for one in (await sale.here.read(parties, mal)).values()]
    for database in (sale.here, there):
        now = await seen(database, sale.gid)
        assert now is not None and now.leader is not None
        assert name == now.leader.name
        assert name == (await database.read(shown_history, sale.gid, None, 1, None))[0][0].bidder
    assert await leads(there, sale.cyd, sale.gid, "120")
    assert [] == await there.read(faults_of)


async def test_a_number_may_be_another_auctions(sale: FailoverSale) -> None:
    """An auction created after the failover is shown, listed and bid on, even if a lost one had its number."""
    lost = await sells(sale.here, sale.bob, name="lost")
    old = await seen(sale.here, lost)
    there = await sale.fail_over()
    gid, new = "", None
    while new is None or (old is not None and new.id < old.id):
        gid = await sells(there, sale.cyd, name="found")
        new = await seen(there, gid)
    assert new == await seen(sale.here, gid)
    assert None is await seen(sale.here, lost)
    listed, _ = await sale.here.read(page, Filter(text="found"), Sort.NEWEST, 1, None)
    assert [new] == listed
    assert await leads(sale.here, sale.dan, gid, "100")


async def test_the_public_json_is_that_of_the_rows(sale: FailoverSale) -> None:
    """An auction's JSON is that of its rows, and its tag is new, though the version is the same as before."""
    assert await leads(sale.here, sale.cyd, sale.gid, "120")
    (before,) = await sale.here.read(shown, [(sale.gid, None)])
    there = await sale.fail_over()
    assert await leads(there, sale.dan, sale.gid, "130")
    (here,), (other,) = [await database.read(shown, [(sale.gid, None)]) for database in (sale.here, there)]
    assert here == other
    assert not isinstance(here, Exception) and not isinstance(before, Exception)
    assert b'"currentBid":"130.000"' in here.json
    assert before.tag != here.tag
    assert before.tag.split("-")[0] == here.tag.split("-")[0]


async def test_a_lost_token_and_a_lost_key_are_not_remembered(sale: FailoverSale) -> None:
    """Every process refuses the token of a lost login, and decides a bid whose Idempotency-Key was lost."""
    lost = await person(sale.here)
    command = sale.cyd.bids(sale.gid, "120", key=unique("key"))
    assert ["accepted"] == await bid(sale.here, command)
    there = await sale.fail_over()
    assert ["unauthenticated"] == await bid(sale.here, lost.bids(sale.gid, "110"))
    assert ["accepted"] == await bid(sale.here, command)
    assert 3 == (await stored(there, sale.gid)).version


def parties(tx: Transaction, who: Person) -> dict[str, Holder]:
    """Return the user of a person's token, as placing a bid finds it."""
    return accounts.holders_by_token(tx, [token_digest(who.token)], tx.now())
