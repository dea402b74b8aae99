"""The log: it gives back the auction as stored, bit by bit, and lists the events still to be delivered."""

import msgspec
from hypothesis import given
from sqlalchemy import select

from saleroom.bidding.domain.events import AuctionCreated, BidPlaced, MaximumRaised
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.service.recording import begin_ledger, steps
from saleroom.bidding.storage import auction_columns, auctions, bids, event_log, tables
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import BOB, place
from tests.bidding.domain.oracle import Oracle, Row
from tests.bidding.domain.playing import Game, party, units
from tests.fixtures_database import unique
from tests.fixtures_hypothesis import on_a_database
from tests.histories import History, histories
from tests.storage.rows import add_auction, add_people, go_on

FEW = on_a_database(40)


def store(tx: Transaction, history: History) -> Game:
    """Play a history and record each of its steps, as the use cases do."""
    add_people(tx)
    game, oracle = Game(history.lot, unique("gid")), Oracle(history.lot)
    [created] = game.log
    assert isinstance(created, AuctionCreated)
    auction = begin_ledger(tx, created)
    for now, act in history.acts(oracle):
        oracle.do(act, now)
        game.do(act, now)
        auction = go_on(tx, auction, game.taken[-1].events)
    return game


@FEW
@given(histories())
async def test_the_stored_log_gives_the_stored_auction(database: Database, history: History) -> None:
    """'Replaying the auction's events from an empty state gives the stored state, bit by bit', private parts too."""
    game = await database.write(store, history)

    def ask(tx: Transaction) -> None:
        stored = auctions.get(tx, game.auction.gid)
        assert stored is not None
        events = event_log.read(tx, stored.id)
        assert game.log == events
        assert stored == replay(stored.id, events)
        assert msgspec.structs.replace(game.auction, id=stored.id) == stored
        row = tx.execute(select(tables.auctions).where(tables.auctions.c.id == stored.id)).mappings().one()
        written = auction_columns.row_of(stored) | {"id": stored.id, "renamed": 0, "withheld": None, "sale_id": None}
        assert written == row, "every column is as if all were written"

    database.cache.clear()
    await database.read(ask)


@FEW
@given(histories())
async def test_the_stored_bids_are_those_of_the_log(database: Database, history: History) -> None:
    """The history holds every recorded bid, numbered from 1 without a gap, newest first, by pages of any size."""
    game = await database.write(store, history)

    def ask(tx: Transaction) -> None:
        stored = auctions.get(tx, game.auction.gid)
        assert stored is not None
        found: list[bids.Bid] = []
        before: int | None = None
        while page := bids.newest(tx, stored.id, 3, before):
            found += page
            before = page[-1].number
        assert list(range(len(game.rows()), 0, -1)) == [bid.number for bid in found]
        assert game.rows() == [
            Row(bid.bidder_id - 100, units(bid.amount), units(bid.maximum), bid.automatic) for bid in reversed(found)
        ]
        assert [party(bid.bidder_id - 100).name for bid in found] == [bid.bidder for bid in found]

    await database.read(ask)


async def test_public_events_are_owed_in_order(database: Database) -> None:
    """Public events are owed in order of version until they are delivered; a raise is owed to nobody."""

    def sell(tx: Transaction) -> str:
        add_people(tx)
        auction = add_auction(tx, party(0))
        _, first = place(auction, "bob up to 150")
        auction = go_on(tx, auction, first)
        _, raised = place(auction, "bob up to 200")
        assert [MaximumRaised] == [type(event) for event in raised]
        auction = go_on(tx, auction, raised)
        go_on(tx, auction, place(auction, "cyd 120")[1])
        return auction.gid

    gid = await database.write(sell)
    owed = await database.read(event_log.LOG.owed, 100)
    assert [(gid, version) for version in (1, 2, 3, 4)] == [(event.gid, event.version) for event in owed]
    assert 4 == await database.read(event_log.LOG.owed_count)
    assert [1, 2] == [event.version for event in await database.read(event_log.LOG.owed, 2)]
    assert [f"{gid}/{n}" for n in (1, 2, 3, 4)] == [msgspec.json.decode(event.payload)["id"] for event in owed]
    await database.write(event_log.LOG.mark_delivered, [event.id for event in owed[:3]])
    assert [4] == [event.version for event in await database.read(event_log.LOG.owed, 100)]
    assert 1 == await database.read(event_log.LOG.owed_count)


async def test_each_auction_has_numbers_of_its_own(database: Database) -> None:
    """Events and bids of several auctions, written together, are numbered per auction."""

    def sell(tx: Transaction) -> list[int]:
        add_people(tx)
        several = [add_auction(tx, party(0)) for _ in range(3)]
        taken = [step for auction in several for step in steps(auction, place(auction, "bob 100", "cyd 110")[1])]
        auctions.save(tx, [auction for auction, _, _ in taken], {BidPlaced})
        event_log.append(tx, taken)
        return [auction.id for auction in several]

    for auction_id in await database.write(sell):
        events = await database.read(event_log.read, auction_id)
        assert ["auction.created", "bid.placed", "bid.placed"] == [event.TYPE for event in events]
        assert 3 == replay(auction_id, events).version


async def test_one_sees_on_which_auctions_one_has_bid(database: Database) -> None:
    """The auctions of a bidder are listed once each, newest auction first, by pages."""

    def sell(tx: Transaction) -> list[int]:
        add_people(tx)
        several = [add_auction(tx, party(0)) for _ in range(5)]
        for auction in several[1:]:
            go_on(tx, auction, place(auction, "bob 100", "cyd up to 150", "bob 130")[1])
        return [auction.id for auction in several]

    ids = await database.write(sell)
    assert ids[:2:-1] == await database.read(bids.auctions_of_bidder, BOB.id, 2, None)
    assert ids[2:0:-1] == await database.read(bids.auctions_of_bidder, BOB.id, 9, ids[3])
    assert [] == await database.read(bids.auctions_of_bidder, party(0).id, 9, None)
