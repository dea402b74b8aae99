"""A process's cache agrees with the database, whichever process wrote last, and holds nothing that was rolled back."""

from decimal import Decimal

import pytest

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.storage import auctions
from saleroom.storage.cache import CachedValues
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import place
from tests.bidding.domain.playing import party
from tests.fixtures_database import OpenDatabase
from tests.storage.rows import add_auction, add_people, go_on


def sell(tx: Transaction) -> Auction:
    """Store people and an auction of the first one."""
    add_people(tx)
    return add_auction(tx, party(0))


def bid(tx: Transaction, gid: str, text: str) -> Auction:
    """Record bids."""
    auction = auctions.lock(tx, [gid])[gid]
    return go_on(tx, auction, place(auction, text)[1])


async def test_writes_of_other_processes_are_seen_at_once(open_database: OpenDatabase) -> None:
    """Two processes have both cached an auction; each sees the other's next bid in its next transaction."""
    here, there = open_database(), open_database()
    gid = (await here.write(sell)).gid
    for number in range(1, 11):
        writer, reader = (here, there) if number % 2 else (there, here)
        written = await writer.write(bid, gid, f"{'bob' if number % 2 else 'cyd'} {100 * number}")
        assert written == await reader.read(auctions.get, gid)
        assert written == await writer.read(auctions.get, gid)
        assert Decimal(100 * number) == written.current_bid


async def test_an_undone_bid_is_not_cached(database: Database) -> None:
    """A bid whose transaction fails leaves no trace: neither auction nor JSON."""
    auction = await database.write(sell)
    before = await database.read(auctions.public_states, [auction.id])

    def fail(tx: Transaction) -> None:
        undone = bid(tx, auction.gid, "bob 100")
        assert undone == auctions.get(tx, auction.gid)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(fail)
    assert auction == await database.read(auctions.get, auction.gid)
    assert before == await database.read(auctions.public_states, [auction.id])


async def test_a_known_auction_costs_no_row(database: Database) -> None:
    """A cached auction is not read again: the very same value comes back until it changes."""
    gid = (await database.write(sell)).gid
    known = await database.read(auctions.get, gid)
    assert known is await database.read(auctions.get, gid)
    after = await database.write(bid, gid, "bob 100")
    assert after is await database.read(auctions.get, gid)


def test_the_oldest_is_forgotten() -> None:
    """The cache is bounded: the entry put in longest ago goes first, and putting it in again renews it."""
    recent: CachedValues[str] = CachedValues(2)
    for number, value in ((1, "a"), (2, "b"), (1, "c"), (3, "d")):
        recent.put(number, value)
    assert ["c", None, "d"] == [recent.get(number) for number in (1, 2, 3)]
    assert 2 == len(recent)
