"""Lots that are over and hidden: who still sees them, in every process, and that their ledgers stay as they are."""

import pytest

from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts, audit
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.domain.errors import AlreadyHidden, AuctionOver, NotHidden, TakenDown
from saleroom.bidding.service import auctions, moderation, reading
from saleroom.bidding.service.closing import settle_due
from saleroom.bidding.service.lot import show
from saleroom.bidding.service.results import pages
from saleroom.bidding.storage import listing
from saleroom.bidding.storage.event_log import LOG
from saleroom.bidding.storage.listing import Filter, Sort
from saleroom.kernel.errors import MissingRight
from saleroom.mqtt import retained
from saleroom.mqtt.outbox import STATE_KEPT
from saleroom.storage.database import Database
from tests.bidding.domain.examples import after
from tests.bidding.service.people import Person, bid, logged, person, sells, stored
from tests.fixtures_database import FakeClock, OpenDatabase

REASON = "The photo shows a person."


async def auctioneer(database: Database) -> Person:
    """A member of the staff who may moderate lots."""
    found = await person(database)
    await database.write(accounts.set_role, found.account.id, Role.AUCTIONEER)
    return found


async def names(database: Database, which: Filter) -> list[str]:
    """The names of the lots of a list."""
    found, _ = await database.read(listing.page, which, Sort.ENDING, 10, None)
    return [one.name for one in found]


async def test_only_those_who_need_it_see_a_hidden_lot_that_is_over(open_database: OpenDatabase) -> None:
    """Its seller, its winner and staff see it, in every process; no list, search or file of results has it; then it is back."""
    database, another = open_database(), open_database()
    ada, bob, cyd, staff = *[await person(database) for _ in range(3)], await auctioneer(database)
    gid = await sells(database, ada, name="Stolen clock")
    assert ["accepted"] * 2 == await bid(database, cyd.bids(gid, "100"), bob.bids(gid, "200"))
    await database.write(auctions.close, ada.token, gid, None, None)
    ledger, before = await logged(database, gid), await another.read(reading.shown, [(gid, None)])
    over, found = Filter(over=True), Filter(over=True, text="stolen")
    assert ["Stolen clock"] == await names(database, over) == await names(database, found)
    await database.write(moderation.hide, staff.token, gid, REASON)
    for house in (database, another):
        for token in (None, cyd.token):
            with pytest.raises(TakenDown):
                await house.read(show, token, gid, 10, None)
        views = {one: (await house.read(show, one.token, gid, 10, None)).auction for one in (ada, bob, staff)}
        assert ["Stolen clock"] * 3 == [view.name for view in views.values()]
        assert [REASON, None, REASON] == [view.hidden_for or None for view in views.values()]
        [bought], _ = await house.read(reading.my_bids, bob.token, 10, None)
        [lost], _ = await house.read(reading.my_bids, cyd.token, 10, None)
        assert ("Stolen clock", "") == (bought.auction.name, lost.auction.name)
        assert 1 == len((await house.read(reading.my_auctions, ada.token, 10, None))[0])
        assert [] == await names(house, over) == await names(house, found)
        assert [[]] == [page async for page in pages(house, None)]
        answers = await house.read(reading.shown, [(gid, token) for token in (None, cyd.token, bob.token)])
        assert [True, True, False] == [b"Stolen" not in one.json for one in answers if not isinstance(one, Exception)]
        assert 3 == len({one.tag for one in [*before, *answers] if not isinstance(one, Exception)})
    assert ledger == await logged(database, gid)
    assert [] == await database.read(faults_of)
    await database.write(moderation.show, staff.token, gid)
    assert "Stolen clock" == (await another.read(show, None, gid, 10, None)).auction.name
    assert ["Stolen clock"] == await names(another, over)
    assert [] == await database.read(faults_of)
    entries = await database.read(audit.newest, EntryFilter(), 9, None)
    assert [(Act.LOT_SHOWN, gid, ""), (Act.LOT_HIDDEN, gid, REASON)] == [
        (one.act, one.subject, one.reason) for one in entries
    ]


async def test_what_cannot_be_hidden_or_shown(clocked_database: Database, clock: FakeClock) -> None:
    """Members hide nothing; no lot is hidden twice or cancelled after its end; one that ended while it was hidden stays so."""
    database = clocked_database
    ada, staff = await person(database), await auctioneer(database)
    gid, hidden = [await sells(database, ada, ends_at=after(3600)) for _ in range(2)]
    await database.write(moderation.hide, staff.token, hidden, REASON)
    clock.now = after(3605)
    with pytest.raises(AuctionOver):
        await database.write(moderation.hide, staff.token, gid, REASON)
    await database.write(settle_due, reopens=False)
    with pytest.raises(MissingRight):
        await database.write(moderation.hide, ada.token, gid, REASON)
    with pytest.raises(NotHidden):
        await database.write(moderation.show, staff.token, gid)
    await database.write(moderation.hide, staff.token, gid, REASON)
    for one in (gid, hidden):
        with pytest.raises(AlreadyHidden):
            await database.write(moderation.hide, staff.token, one, REASON)
        with pytest.raises(AuctionOver):
            await database.write(moderation.cancel, staff.token, one, REASON)
    with pytest.raises(AuctionOver):
        await database.write(moderation.show, staff.token, hidden)
    assert (await stored(database, gid)).withheld
    assert [] == await database.read(faults_of)


async def test_brokers_let_go_of_its_state(clocked_database: Database, clock: FakeClock) -> None:
    """The state that a broker retains of a lot that is over is removed as soon as it is hidden, and comes back at no start."""
    database = clocked_database
    ada, staff = await person(database), await auctioneer(database)
    gid, other = [await sells(database, ada) for _ in range(2)]
    for one in (gid, other):
        await database.write(auctions.close, ada.token, one, None, None)
    owed = await database.read(LOG.owed, 100)
    await database.write(LOG.mark_delivered, [event.id for event in owed])
    assert 2 == len(await database.read(retained.fresh, LOG, STATE_KEPT, None, 9))
    await database.write(moderation.hide, staff.token, gid, REASON)
    assert [gid] == [one.gid for one in await database.read(retained.overdue, LOG, STATE_KEPT, 9)]
    assert [other] == [one.gid for one in await database.read(retained.fresh, LOG, STATE_KEPT, None, 9)]
