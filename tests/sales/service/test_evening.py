"""A timed sale on both databases: from the draft to the last lot, with what must hold in the rows."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts
from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.service import photos
from saleroom.bidding.service.closing import settle_due
from saleroom.bidding.service.renditions import make as make_photo
from saleroom.bidding.storage import auctions
from saleroom.kernel.errors import Refusal
from saleroom.log.store import LoggedEvent
from saleroom.sales.domain.lots import LotTerms
from saleroom.sales.domain.sale import Kind, Sale, SaleStatus, SaleTerms
from saleroom.sales.service import lots as lot_cases
from saleroom.sales.service import managing, ordering
from saleroom.sales.service.keeping import Keeper
from saleroom.sales.service.lots import NewLot
from saleroom.sales.storage import lots, sales
from saleroom.sales.storage.sales import LOG
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, bid, person
from tests.fixtures_database import T0, FakeClock
from tests.pictures import plain


async def auctioneer(database: Database) -> Person:
    """A member of the staff who manages sales."""
    found = await person(database)
    await database.write(accounts.set_role, found.account.id, Role.AUCTIONEER)
    return found


async def drafted(database: Database, staff: Person, count: int, **terms: object) -> str:
    """The draft of a timed sale with lots; the first ends in an hour."""
    said = {"title": "An evening", "kind": Kind.TIMED, "starts_at": T0 + timedelta(hours=1), **terms}
    body = await database.write(managing.make, staff.token, SaleTerms(**said))  # type: ignore[arg-type]  # by name
    gid = str(msgspec.json.decode(body)["gid"])
    for number in range(1, count + 1):
        new = NewLot(terms=LotTerms(name=f"Lot {number}", starting_price=eur("100")))
        await database.write(lot_cases.add, staff.token, gid, new)
    return gid


async def test_an_evening(clocked_database: Database, clock: FakeClock) -> None:
    """Lots swap numbers, become auctions with their photos, and the sale begins and closes by its lots; all ledgers fit."""
    database = clocked_database
    staff, bob = await auctioneer(database), await person(database)
    gid = await drafted(database, staff, 3, opens_at=T0 + timedelta(minutes=10))
    photo = await database.write(photos.keep, staff.token, make_photo(plain()))
    await database.write(lot_cases.change, staff.token, gid, "2", {"photos": [photo.id]})
    clock.advance(hours=25)
    assert 0 == await database.write(photos.sweep), "a photo of a draft is kept"
    clock.advance(hours=-25)
    await database.write(ordering.set_order, staff.token, gid, ["3", "2", "1"], renumber_from=1)
    await database.write(managing.publish, staff.token, gid)
    sale = await database.read(_sale, gid)
    offered = await database.read(lots.offered, sale.id)
    assert [("1", "Lot 3"), ("2", "Lot 2"), ("3", "Lot 1")] == [
        (one.lot.label, one.auction.name) for one in offered if one.auction is not None
    ]
    assert [photo.id] == [one.id for one in await database.read(photos.of_lot, offered[1].lot.gid)]
    assert (SaleStatus.PUBLISHED, 600.0) == (sale.status, await database.write(managing.settle))
    clock.advance(minutes=10)
    await database.write(managing.settle)
    assert SaleStatus.RUNNING is (await database.read(_sale, gid)).status
    assert ["accepted"] == await bid(database, bob.bids(offered[0].lot.gid, "up to 150"))
    await database.write(lot_cases.withdraw, staff.token, gid, "2", "Broken.")
    clock.advance(hours=1)
    await database.write(settle_due, reopens=False)
    await database.write(managing.settle)
    closed = await database.read(_sale, gid)
    assert (SaleStatus.CLOSED, ["sold", None, "no_bids"]) == (
        closed.status,
        [one.auction.outcome for one in await database.read(lots.offered, sale.id) if one.auction is not None],
    )
    assert ["sale.published", "sale.running", "lot.withdrawn", "sale.closed"] == [
        msgspec.json.decode(event.payload)["type"] for event in await database.read(_events, gid)
    ]
    assert [] == await database.read(faults_of)


async def test_nothing_is_published_if_one_lot_cannot_be(database: Database) -> None:
    """Publication is all or nothing: a lot at fault leaves the draft as it was."""
    staff = await auctioneer(database)
    gid = await drafted(database, staff, 3)
    sale = await database.read(_sale, gid)
    with pytest.raises(Refusal):
        await database.write(_publish_badly, staff, gid)
    offered = await database.read(lots.offered, sale.id)
    assert [None] * 3 == [one.auction for one in offered]
    assert {} == await database.read(auctions.get_many, [one.lot.gid for one in offered])
    assert (SaleStatus.DRAFT, 0) == (sale.status, (await database.read(_sale, gid)).version)


async def test_two_orders_at_once_leave_one_of_them(database: Database) -> None:
    """Each order is whole: after two at the same time the sale has one of them, and no number twice."""
    staff = await auctioneer(database)
    gid = await drafted(database, staff, 4)
    wanted = [["4", "3", "2", "1"], ["2", "1", "4", "3"]]
    await asyncio.gather(*(database.write(ordering.set_order, staff.token, gid, labels) for labels in wanted))
    assert await database.read(_labels, gid) in wanted


@pytest.mark.databases("sqlite")
async def test_the_keeper_closes_a_sale_with_its_last_lot(clocked_database: Database, clock: FakeClock) -> None:
    """A commit that ends a lot of a sale wakes the keeper, which closes the sale."""
    database = clocked_database
    staff = await auctioneer(database)
    gid = await drafted(database, staff, 1)
    await database.write(managing.publish, staff.token, gid)
    keeper, closed = Keeper(database), asyncio.Event()
    database.after_commit(auctions.CHANGED, keeper.heard)
    database.after_commit(LOG.appended, lambda _: closed.set())
    running = asyncio.create_task(keeper.run())
    clock.advance(hours=2)
    await database.write(settle_due, reopens=False)
    try:
        async with asyncio.timeout(60):
            await closed.wait()
    finally:
        running.cancel()
    assert SaleStatus.CLOSED is (await database.read(_sale, gid)).status


def _publish_badly(tx: Transaction, staff: Person, gid: str) -> None:
    """Publish with a lot that has lost its category, which only the last of them says."""
    sale = sales.get(tx, gid)
    assert sale is not None
    last = lots.of_sale(tx, sale.id)[-1]
    assert last.terms is not None
    lots.save(tx, [msgspec.structs.replace(last, terms=msgspec.structs.replace(last.terms, category="Gone"))])
    managing.publish(tx, staff.token, gid)


def _sale(tx: Transaction, gid: str) -> Sale:
    found = sales.get(tx, gid)
    assert found is not None
    return found


def _labels(tx: Transaction, gid: str) -> list[str]:
    return lots.labels(tx, _sale(tx, gid).id)


def _events(tx: Transaction, gid: str) -> list[LoggedEvent]:
    [backlog] = LOG.backlogs(tx, [(gid, 0)])
    assert not isinstance(backlog, Exception)
    return backlog.events
