"""A sale pauses and goes on with all its lots, and ends follow late bids, on both databases."""

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.service.audit_log import entries
from saleroom.accounts.service.roles_of_users import set_role
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import AuctionExtended, AuctionPaused, AuctionResumed, Reason
from saleroom.bidding.domain.retrace import retrace
from saleroom.bidding.service.closing import EARLIEST_ENDS, settle_due
from saleroom.bidding.service.recording import begin_ledger
from saleroom.bidding.storage.auctions import CHANGED
from saleroom.kernel.errors import MissingRight
from saleroom.sales.domain import publication
from saleroom.sales.domain.errors import SaleNotPaused, SaleNotRunning
from saleroom.sales.domain.lots import Entry, Lot, LotTerms
from saleroom.sales.domain.sale import Kind, Sale, SaleTerms
from saleroom.sales.service.clocks import Clocks, earliest_ends, follow, pause, resume
from saleroom.sales.storage import lots, sales
from saleroom.storage.database import Database, Transaction
from tests.bidding.domain.examples import after, eur
from tests.bidding.service.people import Person, bid, logged, person, stored
from tests.fixtures_database import FakeClock
from tests.patience import until

LOTS = 4
GIDS = [f"lot-{number}" for number in range(1, LOTS + 1)]


@pytest.fixture
async def eve(clocked_database: Database) -> Person:
    """An auctioneer, who has published a sale of four lots that end a minute apart, the first in an hour."""
    eve = await person(clocked_database)
    await clocked_database.write(set_role, eve.account.username, Role.AUCTIONEER)
    return eve


@pytest.fixture
async def bob(clocked_database: Database) -> Person:
    """A bidder."""
    return await person(clocked_database)


async def publish(database: Database, owner: Person, **terms: Any) -> Sale:
    """Publish the sale."""
    said = SaleTerms(title="An evening", kind=Kind.TIMED, starts_at=after(3600), **terms)

    def put_up(tx: Transaction) -> Sale:
        now = tx.now()
        sale = sales.add(tx, Sale(id=0, gid="sale", owner=owner.account.party, terms=said, created_at=now))
        lots.add(tx, [_lot(sale, rank, gid) for rank, gid in enumerate(GIDS, 1)])
        events, plan = publication.publish(sale, lots.of_sale(tx, sale.id), now)
        begun = {
            lot.id: begin_ledger(tx, publication.created(sale, lot, end, now, "p1.seed"), sale_id=sale.id).id
            for lot, end in plan
        }
        lots.put_up(tx, begun)
        return sales.record(tx, sale, events)

    return await database.write(put_up)


def _lot(sale: Sale, rank: int, gid: str) -> Lot:
    terms = LotTerms(name="A clock", starting_price=eur("100"))
    return Lot(
        id=0,
        gid=gid,
        sale_id=sale.id,
        auction_id=None,
        rank=rank,
        entry=Entry(label=str(rank)),
        terms=terms,
        withdrawn_for=None,
        created_at=sale.created_at,
    )


async def ends(database: Database) -> list[datetime | None]:
    """The ends of the lots, in order."""
    return [(await stored(database, gid)).ends_at for gid in GIDS]


async def test_a_pause_holds_all_lots_and_gives_the_time_back(
    clocked_database: Database, clock: FakeClock, eve: Person, bob: Person
) -> None:
    """While the sale is paused no lot takes a bid or ends; afterwards each has the time that it had, by its own ledger."""
    database = clocked_database
    await publish(database, eve)
    before = await ends(database)
    await bid(database, bob.bids(GIDS[0], "100"))
    clock.now = after(3590)
    assert "paused" == json.loads(await database.write(pause, eve.token, "sale"))["status"]
    assert ["auction_paused"] == await bid(database, bob.bids(GIDS[1], "100"))
    with pytest.raises(SaleNotRunning):
        await database.write(pause, eve.token, "sale")
    clock.now = after(9000)
    await database.write(settle_due, reopens=False)
    assert ["open"] * LOTS == [(await stored(database, gid)).status for gid in GIDS]
    clock.now = after(9010)
    assert "running" == json.loads(await database.write(resume, eve.token, "sale"))["status"]
    gap = timedelta(seconds=9010 - 3590)
    assert [end + gap for end in before if end is not None] == await ends(database)
    with pytest.raises(SaleNotPaused):
        await database.write(resume, eve.token, "sale")
    assert ["accepted"] == await bid(database, bob.bids(GIDS[1], "100"))
    for gid in GIDS:
        log = await logged(database, gid)
        assert [AuctionPaused, AuctionResumed] == [
            type(each) for each in log if isinstance(each, AuctionPaused | AuctionResumed)
        ]
        retrace(log)
    noted, _ = await database.read(entries, await _owner(database), EntryFilter(None, None), 10, None)
    assert [Act.SALE_RESUMED, Act.SALE_PAUSED] == [one.act for one in noted][1:3]


async def _owner(database: Database) -> str:
    owner = await person(database)
    await database.write(set_role, owner.account.username, Role.OWNER)
    return owner.token


async def test_only_those_who_manage_sales_pause_them(clocked_database: Database, eve: Person, bob: Person) -> None:
    """A bidder is refused, and nothing stands still."""
    await publish(clocked_database, eve)
    for act in (pause, resume):
        with pytest.raises(MissingRight):
            await clocked_database.write(act, bob.token, "sale")
    assert (await stored(clocked_database, GIDS[0])).paused_at is None


@pytest.mark.parametrize("following", [False, True])
async def test_ends_follow_a_late_bid_if_the_sale_says_so(
    clocked_database: Database, clock: FakeClock, eve: Person, bob: Person, following: bool
) -> None:
    """The lots after the one with the late bid keep a minute's distance, with events that say why; otherwise they stay."""
    database = clocked_database
    sale = await publish(database, eve, following=following)
    clock.now = after(3590)
    await bid(database, bob.bids(GIDS[0], "100"))
    assert (LOTS - 1 if following else 0) == await database.write(follow, sale.id)
    moved = [after(3710 + 60 * place) for place in range(LOTS)]
    stays = [after(3710), *(after(3600 + 60 * place) for place in range(1, LOTS))]
    assert (moved if following else stays) == await ends(database)
    assert 0 == await database.write(follow, sale.id)
    last = (await logged(database, GIDS[-1]))[-1]
    assert following == (isinstance(last, AuctionExtended) and last.reason is Reason.FOLLOWS)
    for gid in GIDS:
        retrace(await logged(database, gid))


async def test_the_closer_knows_of_ends_that_have_not_followed_yet(
    clocked_database: Database, clock: FakeClock, eve: Person, bob: Person
) -> None:
    """If the house stopped right after the late bid, no lot closes before the ones before it: its end moves first."""
    database = clocked_database
    database.provide(EARLIEST_ENDS, earliest_ends)
    await publish(database, eve, following=True)
    clock.now = after(3590)
    await bid(database, bob.bids(GIDS[0], "100"))
    clock.now = after(3660)
    await database.write(settle_due, reopens=False)
    second = await stored(database, GIDS[1])
    assert ("open", after(3770)) == (second.status, second.ends_at)
    clock.now = after(3770)
    await database.write(settle_due, reopens=False)
    assert ["closed", "closed"] == [(await stored(database, gid)).status for gid in GIDS[:2]]


async def test_ends_follow_right_after_the_bid(
    clocked_database: Database, clock: FakeClock, eve: Person, bob: Person
) -> None:
    """The task of the house hears of the commit and moves them, without anybody asking."""
    database = clocked_database
    await publish(database, eve, following=True)
    clocks = Clocks(database)
    heard: list[Auction] = []

    def hear(changed: Sequence[Auction]) -> None:
        heard.extend(changed)
        clocks.heard(changed)

    database.after_commit(CHANGED, hear)
    task = asyncio.create_task(clocks.run())
    try:
        clock.now = after(3590)
        await bid(database, bob.bids(GIDS[0], "100"))
        await until(lambda: len(heard) >= LOTS, "the ends have followed")
        assert [after(3710 + 60 * place) for place in range(LOTS)] == await ends(database)
    finally:
        task.cancel()
