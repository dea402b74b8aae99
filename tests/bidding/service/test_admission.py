"""Bids on lots of a sale: the second name of a bidder wherever a name is shown, and what the sale says against a bid."""

from collections.abc import Collection
from datetime import timedelta
from decimal import Decimal

import pytest
from msgspec import structs
from sqlalchemy import select, text

from saleroom.accounts.service import erasures
from saleroom.admin import ledger_check
from saleroom.areas import forget
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import HasBids
from saleroom.bidding.service import ledgers, lot, mine, moderation, reading, receipts
from saleroom.bidding.service.admission import GATE, Pair
from saleroom.bidding.service.bidding import buy_now, place_bids, refusals_at_door
from saleroom.bidding.service.closing import settle_due
from saleroom.bidding.service.reading import Standing
from saleroom.bidding.storage import bidder_names
from saleroom.bidding.storage.tables import events
from saleroom.kernel.parties import Party
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person, bid, outcome, person, read, sells, sells_in_sale, stored
from tests.bidding.service.test_moderation import SLIP, auctioneer
from tests.fixtures_database import FakeClock
from tests.tools.verify.ledgers import verified


class Sale:
    """The sales of a house, for tests: who is barred from them, and how far everybody may go.

    Its refusal is one that no rule of a bid gives.
    """

    def __init__(self, barred: Collection[int] = (), most: Decimal = Decimal(10**9)) -> None:
        self.barred, self.most = barred, most
        self.calls: list[tuple[list[str], bool]] = []
        self.taken: list[tuple[str, Decimal, int | None]] = []

    def __call__(self, tx: Transaction, pairs: Collection[Pair], *, deciding: bool) -> "Sale":
        self.calls.append(([f"{one.gid} {bidder.name}" for one, bidder in pairs], deciding))
        return self

    def admit(self, lot: Auction, bidder: Party) -> None:
        if bidder.id in self.barred:
            raise HasBids

    def take(self, lot: Auction, bidder: Party, limit: Decimal, after: Auction) -> None:
        if limit > self.most:
            raise HasBids(limit=limit)
        self.taken.append((lot.gid, limit, None if after.leader is None else after.leader.id))


async def named(database: Database, one: Person, name: str = "#12", sale_id: int = 7) -> Person:
    """Give a person a name in a sale."""
    await database.write(bidder_names.put, sale_id, one.account.id, name)
    return one


async def test_a_lot_of_a_sale_shows_paddles(clocked_database: Database, clock: FakeClock) -> None:
    """In each answer, view, event and receipt stands the name of the sale, and nowhere the username; ledgers verify."""
    database = clocked_database
    ada, bob, cyd = [await person(database) for _ in range(3)]
    await named(database, bob)
    gid, plain = await sells_in_sale(database, ada, ends_at=clock.now + timedelta(hours=1)), await sells(database, ada)
    asked = [bob.bids(gid, "up to 200"), cyd.bids(gid, "150"), bob.bids(gid, "up to 300")]
    received = [structs.replace(one.request, received_at=clock.now) for one in asked]
    commands = [structs.replace(one, request=request) for one, request in zip(asked, received, strict=True)]
    first, _, raised = await database.write(place_bids, commands)
    await bid(database, bob.bids(plain, "100"))
    assert ("#12", "#12") == (read(first)["bid"]["bidder"], read(first)["auction"]["currentBidder"])
    assert read(raised)["leading"]
    assert (
        "#12" == (await _leader(database, gid)).name and bob.account.username == (await _leader(database, plain)).name
    )
    history, _ = await database.read(reading.shown_history, gid, None, 9, None)
    assert ["#12", cyd.account.username, "#12"] == [each.bidder for each in history]
    shown = await database.read(lot.show, bob.token, gid, 9, None)
    assert ("#12", Standing.LEADING) == (shown.known_as, shown.standing)
    auction, name = await database.read(receipts.bidder, bob.token, gid)
    assert name == "#12"
    assert [(True, "#12")] * 2 == [(one.leading, one.bidder) for one in await receipts.find(database, auction, name)]
    [over_two, mine_too] = (await database.read(mine.bidding, bob.token, mine.LIVE, 9, None)).rows
    assert {Standing.LEADING} == {over_two.standing, mine_too.standing}
    clock.advance(3601)
    await database.write(settle_due, reopens=False)
    payloads = b"".join(await database.read(_payloads, auction.id))
    assert b'"winner":"#12"' in payloads and bob.account.username.encode() not in payloads
    ledger = b"".join([page async for page in ledgers.lines(database, await stored(database, gid))])
    assert (await stored(database, gid)).chain.head == verified(ledger).head
    assert [] == await database.read(ledger_check.faults_of)


async def test_an_equal_bid_of_a_paddle(database: Database) -> None:
    """Somebody with a paddle who leads by an earlier equal bid is not told that somebody else leads, and the other one is."""
    ada, bob, cyd = [await person(database) for _ in range(3)]
    gid = await sells_in_sale(database, ada)
    await named(database, bob), await named(database, cyd, "#13")
    await bid(database, bob.bids(gid, "up to 200"), cyd.bids(gid, "200"))
    for one, tied in ((bob, False), (cyd, True)):
        [row] = (await database.read(mine.bidding, one.token, mine.LIVE, 9, None)).rows
        assert tied == row.tied


async def test_a_void_and_an_erasure_with_a_paddle(clocked_database: Database, clock: FakeClock) -> None:
    """A voided bid gives the lead back to a paddle; an erasure takes paddle and username out of the ledger, which verifies."""
    database = clocked_database
    ada, bob, cyd = [await person(database) for _ in range(3)]
    staff = await auctioneer(database)
    await named(database, bob), await named(database, cyd, "#13")
    gid = await sells_in_sale(database, ada, ends_at=clock.now + timedelta(hours=1))
    await bid(database, bob.bids(gid, "100"), cyd.bids(gid, "1000000"))
    await database.write(moderation.void_bid, staff.token, gid, 3, SLIP)
    assert Party(bob.account.id, "#12") == await _leader(database, gid)
    assert [] == await database.read(ledger_check.faults_of)
    clock.advance(3601)
    await database.write(settle_due, reopens=False)
    auction = await stored(database, gid)
    pseudonym = await database.write(erasures.erase_by_house, bob.account.username, "", forget)
    assert pseudonym == (await _leader(database, gid)).name
    payloads = b"".join(await database.read(_payloads, auction.id))
    assert b'"#12"' not in payloads and b'"#13"' in payloads
    ledger = b"".join([page async for page in ledgers.lines(database, await stored(database, gid))])
    assert auction.chain.head == verified(ledger).head
    assert [] == await database.read(ledger_check.faults_of)
    assert {} == await database.read(bidder_names.of_user, bob.account.id)


async def test_a_paddle_of_another_is_a_fault(database: Database) -> None:
    """`verify --database` finds a bidder of a sale who has another name there than in the log."""
    ada, bob = await person(database), await named(database, await person(database))
    await bid(database, bob.bids(await sells_in_sale(database, ada), "100"))
    await named(database, bob, "#21")
    [fault] = await database.read(ledger_check.faults_of)
    assert "'#12'" in fault or ("#12" in fault and "#21" in fault)


async def test_the_sale_decides_within_the_transaction(database: Database) -> None:
    """It is asked once for all lots of sales in a batch; whom it refuses leaves nothing, and others are not affected."""
    ada, bob, cyd, dee = [await person(database) for _ in range(4)]
    sale = Sale(barred=[dee.account.id], most=Decimal(500))
    database.provide(GATE, sale)
    gid, other, plain = (
        await sells_in_sale(database, ada),
        await sells_in_sale(database, ada),
        await sells(database, ada),
    )
    answers = await bid(
        database,
        bob.bids(gid, "100"),
        dee.bids(gid, "200"),
        dee.bids(plain, "200"),
        cyd.bids(other, "up to 501"),
        cyd.bids(gid, "up to 500"),
        cyd.bids("nowhere", "100"),
        Person(bob.account, "no token").bids(gid, "110"),
    )
    expected = ["accepted", "has_bids", "accepted", "has_bids", "accepted", "unknown_auction", "unauthenticated"]
    assert expected == answers
    [(pairs, deciding)] = sale.calls
    assert deciding and {f"{gid} {bob.account.username}", f"{other} {cyd.account.username}"} <= {*pairs}
    assert [(gid, Decimal(100), bob.account.id), (gid, Decimal(500), cyd.account.id)] == sale.taken
    assert (2, 0) == ((await stored(database, gid)).bid_count, (await stored(database, other)).bid_count)
    assert [] == await database.read(ledger_check.faults_of)


async def test_the_sale_decides_about_purchases_and_at_the_door(database: Database) -> None:
    """Buying now is refused as a bid of that price is, and at the door those whom the sale does not admit at all."""
    ada, bob, dee = [await person(database) for _ in range(3)]
    sale = Sale(barred=[dee.account.id], most=Decimal(500))
    database.provide(GATE, sale)
    cheap, dear = [await sells_in_sale(database, ada, buy_now_price=Decimal(price)) for price in ("500.000", "500.001")]
    for who, gid in ((dee, cheap), (bob, dear)):
        with pytest.raises(HasBids):
            await database.write(buy_now, who.token, gid, None)
    await database.write(buy_now, bob.token, cheap, None)
    refused = await database.read(refusals_at_door, [dee.bids(dear, "1"), bob.bids(dear, "999"), bob.bids("no", "1")])
    assert ["has_bids", None, "unknown_auction"] == [None if one is None else outcome(one) for one in refused]
    assert not sale.calls[-1][1]


async def test_a_sale_is_not_asked_about_other_auctions(database: Database) -> None:
    """A bid outside sales does not come to the area of sales; so it costs what it cost before."""
    sale = Sale(most=Decimal(1))
    database.provide(GATE, sale)
    ada, bob = await person(database), await named(database, await person(database))
    gid = await sells(database, ada, buy_now_price="200")
    await database.read(refusals_at_door, [bob.bids(gid, "1")])
    await database.write(buy_now, bob.token, gid, None)
    assert ["accepted"] == await bid(database, bob.bids(await sells(database, ada), "100"))
    assert [] == sale.calls


async def _leader(database: Database, gid: str) -> Party:
    leader = (await stored(database, gid)).leader
    assert leader is not None
    return leader


def _payloads(tx: Transaction, auction_id: int) -> list[bytes]:
    rows = tx.execute(select(events.c.payload).where(events.c.auction_id == auction_id, text("payload IS NOT NULL")))
    return [bytes(payload) for payload in rows.scalars()]
