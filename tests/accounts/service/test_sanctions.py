"""A bar is part of the row that a decision reads anyway: bids that are decided together are refused one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg
import pytest

from saleroom.accounts.domain.errors import LastOwner, UnknownUser
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.service import sanctions
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts, audit, people
from saleroom.bidding.service.bidding import buy_now, place_bids, refusals_at_door
from saleroom.bidding.service.moderation import hide, void_bid
from saleroom.kernel.errors import Barred, Unauthenticated
from saleroom.storage.database import Database
from tests.bidding.service.people import Person, bid, person, sells
from tests.fixtures_database import FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")


async def test_a_bar_refuses_bids_one_by_one(database: Database) -> None:
    """Of bids in one transaction, and at the door, only those of the barred user are refused, with the reason and the end."""
    ada, bob, cyd = [await person(database) for _ in range(3)]
    gid = await sells(database, ada, buy_now_price="500")
    for kind, lasts in ((Sanction.BAN, None), (Sanction.SUSPENSION, timedelta(days=1))):
        done = await database.write(sanctions.impose, bob.account.username, kind, "Why", lasts)
        bar = done.user.bar
        assert bar is not None
        commands = [bob.bids(gid, "110"), cyd.bids(gid, "100")]
        [refused, other] = await database.read(refusals_at_door, commands)
        assert isinstance(refused, Barred) and other is None
        assert {"sanction": kind, "reason": "Why", "until": bar.until} == refused.facts
        [answer] = await database.write(place_bids, commands[:1])
        assert isinstance(answer, Barred)
        with pytest.raises(Barred):
            await database.write(buy_now, bob.token, gid, None)
    assert ["barred", "accepted"] == await bid(database, bob.bids(gid, "110"), cyd.bids(gid, "100"))


@pytest.mark.databases("sqlite", "postgresql")
async def test_the_house_ends_sessions_of_one_user_or_of_everybody(open_database: OpenDatabase) -> None:
    """Tokens are dead at once, in another process too, and the audit log says so."""
    database, other = open_database(), open_database()
    ada, bob, cyd = [await person(database) for _ in range(3)]
    assert 1 == await database.write(sanctions.end_sessions_by_house, bob.account.username, "A phone was stolen.")
    await other.read(authenticate, ada.token, Right.READ)
    assert 2 <= await database.write(sanctions.end_everybodys_sessions, "A backup was stolen.")
    for one in (ada, bob, cyd):
        with pytest.raises(Unauthenticated):
            await other.read(authenticate, one.token, Right.READ)
    found = await database.read(audit.newest, audit.EntryFilter(), 2, None)
    assert [("sessions.ended", None), ("sessions.ended", bob.account.username)] == [
        (one.act, one.user) for one in found
    ]
    with pytest.raises(UnknownUser):
        await database.write(sanctions.end_sessions_by_house, "nobody", "")


@pytest.mark.databases("sqlite", "postgresql")
async def test_a_bar_ends_by_itself(clocked_database: Database, clock: FakeClock) -> None:
    """At its end the user may bid again, and is no longer listed as barred; nobody has to lift anything."""
    database = clocked_database
    ada, bob = await person(database), await person(database)
    gid = await sells(database, ada)
    await database.write(sanctions.impose, bob.account.username, Sanction.SUSPENSION, "Why", timedelta(hours=1))
    clock.advance(3599)
    assert ["barred"] == await bid(database, bob.bids(gid, "100"))
    which = people.PeopleFilter(barred=Sanction.SUSPENSION)
    assert [bob.account.username] == [one.username for one in (await database.read(people.page, which, 9))[0]]
    clock.advance(1)
    assert ["accepted"] == await bid(database, bob.bids(gid, "100"))
    assert [] == (await database.read(people.page, which, 9))[0]


async def test_the_command_line_keeps_an_owner_who_can_act(database: Database) -> None:
    """Of two owners one may be banned, then no longer the other one."""
    ada, bob = await person(database), await person(database)
    for one in (ada, bob):
        await database.write(accounts.set_role, one.account.id, Role.OWNER)
    await database.write(sanctions.impose, ada.account.username, Sanction.BAN, "Why")
    with pytest.raises(LastOwner):
        await database.write(sanctions.impose, bob.account.username, Sanction.BAN, "Why")
    await database.write(sanctions.pardon, ada.account.username, "A mistake")
    await database.write(sanctions.impose, bob.account.username, Sanction.BAN, "Why")


ACTS: list[Callable[[Database, Person, str], Awaitable[bytes]]] = [
    lambda database, one, gid: database.write(buy_now, one.token, gid, None),
    lambda database, one, gid: database.write(void_bid, one.token, gid, 2, "Why"),
    lambda database, one, gid: database.write(hide, one.token, gid, "Why"),
]
"""What waits for others who hold the lock of a lot."""


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize("act", ACTS)
async def test_what_waited_for_a_lot_is_refused_after_the_ban(
    database: Database, database_url: str, act: Callable[[Database, Person, str], Awaitable[bytes]]
) -> None:
    """A purchase or an act of staff that began before the ban, and waited for the lot meanwhile, is decided after the ban."""
    ada, bob = await person(database), await person(database)
    await database.write(accounts.set_role, bob.account.id, Role.MANAGER)
    gid = await sells(database, ada, buy_now_price="500")
    other = await asyncpg.connect(database_url)
    try:
        async with other.transaction():
            await other.execute("SELECT 1 FROM auctions WHERE gid = $1 FOR UPDATE", gid)
            waiting = asyncio.ensure_future(act(database, bob, gid))
            await asyncio.sleep(0.5)  # shorter, and the act would begin after the ban, which tries nothing
            await database.write(sanctions.impose, bob.account.username, Sanction.BAN, "Why")
        with pytest.raises(Barred):
            await waiting
    finally:
        await other.close()
