"""Moderation at the database: what staff do is decided under the auction's lock, and stored with the log."""

import asyncio

import pytest
from msgspec import UNSET

from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage import accounts, audit
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.domain.auction import Status
from saleroom.bidding.domain.errors import AlreadyHidden, AlreadyVoided, TakenDown, UnknownBid
from saleroom.bidding.domain.events import BidVoided
from saleroom.bidding.domain.ledger import replay
from saleroom.bidding.domain.retrace import retrace
from saleroom.bidding.service import mine, moderation, reading
from saleroom.bidding.service.bidding import buy_now
from saleroom.bidding.service.closing import settle_due
from saleroom.bidding.service.lot import show
from saleroom.bidding.service.reading import Standing
from saleroom.bidding.storage import bids
from saleroom.kernel.errors import MissingRight
from saleroom.storage.database import Database
from tests.bidding.domain.examples import after, eur
from tests.bidding.service.people import Person, bid, logged, once_of, person, sells, stored
from tests.fixtures_database import FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")

SLIP = "A slip of the hand."


async def auctioneer(database: Database) -> Person:
    """A member of the staff who may void bids and moderate lots."""
    found = await person(database)
    await database.write(accounts.set_role, found.account.id, Role.AUCTIONEER)
    return found


async def test_a_voided_bid_is_marked_in_the_history(database: Database) -> None:
    """The row, the log and the history say the same after a void, and the whole database fits its ledgers."""
    ada, bob, cyd, dee = [await person(database) for _ in range(4)]
    staff, gid = await auctioneer(database), await sells(database, ada, reserve_price="500")
    placed = (
        bob.bids(gid, "up to 250"),
        cyd.bids(gid, "150"),
        dee.bids(gid, "up to 1000000"),
        dee.bids(gid, "up to 2000000"),
    )
    assert ["accepted"] * 4 == await bid(database, *placed)
    await database.write(moderation.void_bid, staff.token, gid, 6, SLIP)
    found = await stored(database, gid)
    assert (bob.account.party, eur("160"), eur("250"), 5) == (
        found.leader,
        found.current_bid,
        found.maximum,
        found.bid_count,
    )
    log = await logged(database, gid)
    assert found == replay(found.id, log)
    assert SLIP == next(event.reason for event in log if isinstance(event, BidVoided))
    retrace(log)
    rows = await database.read(bids.newest, found.id, 10, None)
    assert [(5, SLIP), (4, SLIP), (3, None), (2, None), (1, None)] == [(row.number, row.voided) for row in rows]
    history, _ = await database.read(reading.shown_history, gid, None, 10, None)
    assert [SLIP, SLIP, UNSET, UNSET, UNSET] == [view.voided for view in history]
    await database.write(moderation.void_bid, staff.token, gid, 3, SLIP)
    assert [] == await database.read(faults_of)


async def test_a_row_that_hides_a_void_is_a_fault(database: Database) -> None:
    """Anyone who takes a void out of the history, or marks another bid, is found by `saleroom verify --database`."""
    ada, bob, staff = await person(database), await person(database), await auctioneer(database)
    gid = await sells(database, ada)
    await bid(database, bob.bids(gid, "100"))
    await database.write(bids.void, (await stored(database, gid)).id, [1], SLIP)
    assert [f"auction {gid}: bid 1: voided is A slip of the hand., but must be None"] == await database.read(faults_of)
    await database.write(moderation.void_bid, staff.token, gid, 2, "Another reason.")
    assert [] == await database.read(faults_of)


async def test_what_the_bidders_see(database: Database) -> None:
    """Whose only bid was voided neither leads nor was outbid, and reads why; who stood before leads again."""
    ada, bob, cyd, staff = [await person(database) for _ in range(3)] + [await auctioneer(database)]
    gid = await sells(database, ada)
    await bid(database, bob.bids(gid, "100"), cyd.bids(gid, "1000000"))
    await database.write(moderation.void_bid, staff.token, gid, 3, SLIP)
    page = await database.read(show, cyd.token, gid, 10, None)
    assert (None, None, SLIP) == (page.standing, page.limit, page.voided)
    [own], _ = await database.read(reading.my_bids, cyd.token, 10, None)
    assert Standing.VOIDED is own.standing
    [row] = (await database.read(mine.bidding, cyd.token, mine.LIVE, 10, None)).rows
    assert (Standing.VOIDED, False) == (row.standing, row.tied)
    [leads], _ = await database.read(reading.my_bids, bob.token, 10, None)
    assert Standing.LEADING is leads.standing
    reader = await database.read(reading.reader, cyd.token, gid)
    assert reader is not None
    assert not reader.has_bid
    assert ["accepted"] == await bid(database, cyd.bids(gid, "110"))
    [again], _ = await database.read(reading.my_bids, cyd.token, 10, None)
    assert Standing.LEADING is again.standing


async def test_voiding_needs_its_right(database: Database) -> None:
    """A cataloguer, a clerk and a bidder may void nothing, not even their own bid."""
    ada, bob = await person(database), await person(database)
    gid = await sells(database, ada)
    await bid(database, bob.bids(gid, "100"))
    for role in (Role.MEMBER, Role.CLERK, Role.CASHIER, Role.CATALOGUER):
        await database.write(accounts.set_role, bob.account.id, role)
        with pytest.raises(MissingRight):
            await database.write(moderation.void_bid, bob.token, gid, 2, SLIP)
    assert 2 == (await stored(database, gid)).version


@pytest.mark.databases("sqlite", "postgresql")
async def test_the_same_request_again_has_one_effect(database: Database) -> None:
    """With an Idempotency-Key the first answer comes again; without one the bid is voided already."""
    ada, bob, staff = await person(database), await person(database), await auctioneer(database)
    gid = await sells(database, ada)
    await bid(database, bob.bids(gid, "100"))
    first = await database.write(moderation.void_bid, staff.token, gid, 2, SLIP, once_of("k"))
    assert first == await database.write(moderation.void_bid, staff.token, gid, 2, SLIP, once_of("k"))
    with pytest.raises(AlreadyVoided):
        await database.write(moderation.void_bid, staff.token, gid, 2, SLIP)
    with pytest.raises(UnknownBid):
        await database.write(moderation.void_bid, staff.token, gid, 3, SLIP)


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_hidden_lot_takes_no_bids_in_any_process(open_database: OpenDatabase) -> None:
    """A process that remembers the lot as it was shown still refuses bids on it, and decides others in the same batch."""
    database, another = open_database(), open_database()
    ada, bob, staff = await person(database), await person(database), await auctioneer(database)
    gid, other = await sells(database, ada, buy_now_price="900"), await sells(database, ada)
    assert ["accepted"] == await bid(another, bob.bids(other, "100"))
    await another.read(show, None, gid, 10, None)
    await database.write(moderation.hide, staff.token, gid, "It may be stolen.")
    assert ["taken_down", "accepted"] == await bid(another, bob.bids(gid, "100"), staff.bids(other, "110"))
    with pytest.raises(TakenDown):
        await another.write(buy_now, bob.token, gid, None)
    with pytest.raises(TakenDown):
        await another.read(show, bob.token, gid, 10, None)
    assert (await another.read(show, ada.token, gid, 10, None)).auction.hidden_for
    await database.write(moderation.show, staff.token, gid)
    assert ["accepted"] == await bid(another, bob.bids(gid, "100"))
    assert [] == await database.read(faults_of)


async def test_a_hidden_lot_that_ends_is_cancelled_by_the_closer(clocked_database: Database, clock: FakeClock) -> None:
    """The closer cancels it, and the whole database fits its ledgers."""
    database = clocked_database
    ada, bob, staff = await person(database), await person(database), await auctioneer(database)
    gid = await sells(database, ada, ends_at=after(3600))
    await bid(database, bob.bids(gid, "100"))
    await database.write(moderation.hide, staff.token, gid, "It may be stolen.")
    clock.now = after(3605)
    await database.write(settle_due, reopens=False)
    found = await stored(database, gid)
    assert (Status.CANCELLED, None, after(3600)) == (found.status, found.outcome, found.closed_at)
    assert [] == await database.read(faults_of)


async def test_each_act_is_in_the_audit_log(database: Database) -> None:
    """Who did what on which lot, why, and what it changed; a refused act leaves no entry, a repeated one only one."""
    ada, bob, staff = await person(database), await person(database), await auctioneer(database)
    gid = await sells(database, ada)
    await bid(database, bob.bids(gid, "100"))
    for _ in range(2):
        await database.write(moderation.void_bid, staff.token, gid, 2, SLIP, once_of("k"))
    await database.write(moderation.hide, staff.token, gid, "It may be stolen.")
    with pytest.raises(AlreadyHidden):
        await database.write(moderation.hide, staff.token, gid, "It may be stolen.")
    await database.write(moderation.show, staff.token, gid)
    await database.write(moderation.cancel, staff.token, gid, "The seller has withdrawn it.")
    entries = await database.read(audit.newest, EntryFilter(user=staff.account.username), 10, None)
    assert [
        (
            "bid.voided",
            {"price": "100.000", "leader": bob.account.id},
            {"voided": 2, "price": None, "leader": None},
            SLIP,
        ),
        ("lot.hidden", {"status": "open", "hidden": False}, {"status": "open", "hidden": True}, "It may be stolen."),
        ("lot.shown", {"status": "open", "hidden": True}, {"status": "open", "hidden": False}, ""),
        (
            "sale.cancelled",
            {"status": "open", "hidden": False},
            {"status": "cancelled", "hidden": False},
            "The seller has withdrawn it.",
        ),
    ] == [(one.act, one.before, one.after, one.reason) for one in reversed(entries)]
    assert {(staff.account.username, gid, None)} == {(one.by, one.subject, one.user) for one in entries}


async def test_moderating_needs_its_right(database: Database) -> None:
    """Neither a member nor a clerk hides or cancels a lot; a cataloguer does, but voids nothing."""
    ada, staff = await person(database), await person(database)
    gid = await sells(database, ada)
    for role in (Role.MEMBER, Role.CLERK, Role.CASHIER):
        await database.write(accounts.set_role, staff.account.id, role)
        for act in (moderation.hide, moderation.cancel):
            with pytest.raises(MissingRight):
                await database.write(act, staff.token, gid, "No.")
        with pytest.raises(MissingRight):
            await database.read(moderation.overview, staff.token, gid)
    await database.write(accounts.set_role, staff.account.id, Role.CATALOGUER)
    seen = await database.read(moderation.overview, staff.token, gid)
    assert (False, []) == (seen.voids, seen.bids)
    await database.write(moderation.cancel, staff.token, gid, "The seller has withdrawn it.")
    assert "The seller has withdrawn it." == (await stored(database, gid)).cancelled_for


@pytest.mark.databases("sqlite", "postgresql")
async def test_voids_and_bids_at_the_same_time(database: Database) -> None:
    """Bids that come while others are voided are decided before or after each void, and the log fits the rules."""
    ada, staff = await person(database), await auctioneer(database)
    people = [await person(database) for _ in range(4)]
    gid = await sells(database, ada)
    await bid(database, *(one.bids(gid, f"{100 * (n + 1)}") for n, one in enumerate(people)))

    async def void(version: int) -> None:
        await database.write(moderation.void_bid, staff.token, gid, version, SLIP)

    more = [bid(database, one.bids(gid, f"up to {500 + 50 * n}")) for n, one in enumerate(people)]
    await asyncio.gather(*more, *(void(version) for version in (2, 3, 5)))
    log = await logged(database, gid)
    retrace(log)
    assert await stored(database, gid) == replay((await stored(database, gid)).id, log)
    assert [] == await database.read(faults_of)
