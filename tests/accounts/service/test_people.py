"""People, as staff sees and changes them, and the audit log of it."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import Executable, delete, text, update
from sqlalchemy.exc import DBAPIError

from saleroom.accounts.domain.audit import Act, Entry
from saleroom.accounts.domain.errors import LastOwner, NotAboveThem, RoleAboveOwn, UnknownUser
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.service import audit_log, people, roles_of_users, sanctions
from saleroom.accounts.service.audit import note
from saleroom.accounts.storage import accounts
from saleroom.accounts.storage import people as rows
from saleroom.accounts.storage.audit import EntryFilter
from saleroom.accounts.storage.people import PeopleFilter
from saleroom.accounts.storage.tables import audit
from saleroom.kernel.errors import MissingRight, Unauthenticated
from saleroom.storage.database import Database, Transaction
from tests.bidding.service.people import Person, person
from tests.fixtures_database import T0, FakeClock, OpenDatabase

pytestmark = pytest.mark.databases("sqlite")


async def staff(database: Database, role: Role, name: str | None = None) -> Person:
    """A new user with a role."""
    made = await person(database, name)
    await database.write(accounts.set_role, made.account.id, role)
    return made


async def log(database: Database, owner: Person) -> list[Entry]:
    """The audit log as its owner reads it, the latest entry first."""
    found, place = await database.read(audit_log.entries, owner.token, EntryFilter(), 100, None)
    assert place is None
    return found


async def role_of(database: Database, who: Person) -> Role:
    """The role of a user, as stored."""
    found = await database.read(rows.find, who.account.username)
    assert found is not None
    return found.role


async def test_a_role_is_given_and_noted(clocked_database: Database, clock: FakeClock) -> None:
    """A role counts at once; the log has who gave it to whom, when, from what to what, and why. The same again adds nothing."""
    owner, bob = await staff(clocked_database, Role.OWNER, "olga"), await person(clocked_database, "bob")
    with pytest.raises(MissingRight):
        await clocked_database.read(people.listed, bob.token, PeopleFilter())
    clock.advance(60)
    for _ in range(2):
        given = await clocked_database.write(roles_of_users.give_role, owner.token, "bob", Role.CLERK, "at the desk")
        assert ("bob", Role.CLERK) == (given.username, given.role)
    assert ["bob", "olga"] == [
        one.username for one in (await clocked_database.read(people.listed, bob.token, PeopleFilter())).rows
    ]
    [entry] = await log(clocked_database, owner)
    assert entry == Entry(
        id=entry.id,
        at=T0 + timedelta(minutes=1),
        by="olga",
        act="role.changed",
        user="bob",
        subject=None,
        before={"role": "member"},
        after={"role": "clerk"},
        reason="at the desk",
    )


async def test_nobody_gives_or_takes_a_role_above_their_own(database: Database) -> None:
    """A manager makes clerks and managers, but no owner, and takes nothing from either; others give no role at all."""
    owner, manager, clerk, bob = [
        await staff(database, role) for role in (Role.OWNER, Role.MANAGER, Role.CLERK, Role.MEMBER)
    ]
    name = bob.account.username
    for role in (Role.CLERK, Role.MEMBER, Role.MANAGER):
        await database.write(roles_of_users.give_role, manager.token, name, role)
        assert role is await role_of(database, bob)
    with pytest.raises(NotAboveThem):
        await database.write(roles_of_users.give_role, manager.token, name, Role.MEMBER)
    await database.write(roles_of_users.give_role, owner.token, name, Role.MEMBER)
    with pytest.raises(RoleAboveOwn):
        await database.write(roles_of_users.give_role, manager.token, name, Role.OWNER)
    with pytest.raises(RoleAboveOwn):
        await database.write(roles_of_users.give_role, manager.token, owner.account.username, Role.MEMBER)
    for who in (clerk, bob):
        with pytest.raises(MissingRight):
            await database.write(roles_of_users.give_role, who.token, who.account.username, Role.OWNER)
    with pytest.raises(Unauthenticated):
        await database.write(roles_of_users.give_role, "no token", name, Role.CLERK)
    with pytest.raises(UnknownUser):
        await database.write(roles_of_users.give_role, manager.token, "nobody", Role.CLERK)
    assert 4 == len(await log(database, owner))


async def test_the_last_owner_stays(database: Database) -> None:
    """The last owner cannot be made anything else, by nobody and not by the command line; one of two can."""
    owner = await staff(database, Role.OWNER)
    name = owner.account.username
    with pytest.raises(LastOwner):
        await database.write(roles_of_users.give_role, owner.token, name, Role.MEMBER)
    with pytest.raises(LastOwner):
        await database.write(roles_of_users.set_role, name, Role.MEMBER)
    other = await staff(database, Role.OWNER)
    await database.write(roles_of_users.give_role, owner.token, name, Role.MEMBER)
    assert [Role.MEMBER, Role.OWNER] == [await role_of(database, one) for one in (owner, other)]


async def test_the_last_owner_who_can_act_stays(database: Database) -> None:
    """An owner who is banned is none to whom the house could be left."""
    owner, banned = await staff(database, Role.OWNER), await staff(database, Role.OWNER)
    await database.write(sanctions.impose, banned.account.username, Sanction.BAN, "Why")
    with pytest.raises(LastOwner):
        await database.write(roles_of_users.give_role, owner.token, owner.account.username, Role.MEMBER)
    await database.write(roles_of_users.set_role, banned.account.username, Role.MEMBER)
    assert [Role.OWNER, Role.MEMBER] == [await role_of(database, one) for one in (owner, banned)]


async def test_a_ban_is_not_undone_by_way_of_the_role(database: Database) -> None:
    """A manager does not make another whom the owner has banned a member for a moment, so as to lift the ban."""
    owner, banned, manager = [await staff(database, role) for role in (Role.OWNER, Role.MANAGER, Role.MANAGER)]
    name = banned.account.username
    await database.write(sanctions.sanction, owner.token, name, Sanction.BAN, "Why")
    with pytest.raises(NotAboveThem):
        await database.write(roles_of_users.give_role, manager.token, name, Role.MEMBER)
    await database.write(roles_of_users.give_role, owner.token, name, Role.MEMBER)


async def test_two_owners_do_not_both_lose_their_role(open_database: OpenDatabase) -> None:
    """Of two owners who take each other's role at the same moment, in two processes, one stays, and the other is refused."""
    here, there = open_database(), open_database()
    for _ in range(8):
        ada, bob = await staff(here, Role.OWNER), await staff(here, Role.OWNER)
        outcomes = await asyncio.gather(
            here.write(roles_of_users.give_role, ada.token, bob.account.username, Role.MEMBER),
            there.write(roles_of_users.give_role, bob.token, ada.account.username, Role.MEMBER),
            return_exceptions=True,
        )
        assert 1 == sum(isinstance(one, MissingRight) for one in outcomes), outcomes
        left = {await role_of(here, ada), await role_of(here, bob)}
        assert {Role.OWNER, Role.MEMBER} == left
        for one in (ada, bob):
            await here.write(accounts.set_role, one.account.id, Role.MEMBER)


async def test_a_seller_is_approved_and_noted(database: Database) -> None:
    """An approval is kept with its instant and noted, and so is its end; the same again adds nothing."""
    owner, clerk, bob = [await staff(database, role) for role in (Role.OWNER, Role.CLERK, Role.MEMBER)]
    name = bob.account.username
    for approved in (True, True, False, False):
        user = await database.write(roles_of_users.approve_seller, clerk.token, name, approved=approved, reason="why")
        assert approved == (user.seller_since is not None)
        assert user == await database.read(people.one, clerk.token, name)
    withdrawn, given = await log(database, owner)
    assert ("seller.approved", {"seller": False}, {"seller": True}) == (given.act, given.before, given.after)
    assert ("seller.withdrawn", {"seller": True}, {"seller": False}) == (
        withdrawn.act,
        withdrawn.before,
        withdrawn.after,
    )
    with pytest.raises(MissingRight):
        await database.write(roles_of_users.approve_seller, bob.token, name, approved=True)


@pytest.mark.databases("sqlite", "postgresql")
async def test_an_act_and_its_entry_stand_or_fall_together(database: Database) -> None:
    """If the act's transaction fails, the log says nothing of it."""
    owner, bob = await staff(database, Role.OWNER), await person(database)

    def fail(tx: Transaction) -> None:
        roles_of_users.give_role(tx, owner.token, bob.account.username, Role.CLERK)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(fail)
    assert [] == await log(database, owner)
    assert Role.MEMBER is await role_of(database, bob)


@pytest.mark.databases("sqlite", "postgresql")
async def test_the_log_is_only_appended_to(database: Database) -> None:
    """The database refuses to change or delete an entry, no matter who asks."""
    owner = await staff(database, Role.OWNER)
    await database.write(note, None, Act.ROLE_CHANGED, "a lot", {"a": 1}, {"a": None}, "why")
    attempts: list[Executable] = [update(audit).values(reason="other"), delete(audit)]
    if database.kind == "postgresql":
        attempts.append(text("TRUNCATE audit"))
    for attempt in attempts:
        with pytest.raises(DBAPIError, match="only appended to"):
            await database.write(Transaction.execute, attempt)
    [entry] = await log(database, owner)
    assert (None, "a lot", {"a": 1}, {"a": None}, "why") == (
        entry.by,
        entry.subject,
        entry.before,
        entry.after,
        entry.reason,
    )


@pytest.mark.databases("sqlite", "postgresql")
async def test_the_log_is_read_by_page_and_by_user(database: Database) -> None:
    """A page is read before a number; only what a user did or had done is found by the user, only such acts by the act."""
    owner, bob, cyd = await staff(database, Role.OWNER), await person(database), await person(database)
    for who in (bob, cyd, bob):
        role = Role.CLERK if await role_of(database, who) is Role.MEMBER else Role.MEMBER
        await database.write(roles_of_users.give_role, owner.token, who.account.username, role)
    await database.write(roles_of_users.approve_seller, owner.token, cyd.account.username, approved=True)
    everything = await log(database, owner)
    assert sorted((one.id for one in everything), reverse=True) == [one.id for one in everything]
    first, place = await database.read(audit_log.entries, owner.token, EntryFilter(), 3, None)
    rest, none = await database.read(audit_log.entries, owner.token, EntryFilter(), 3, place)
    assert (everything, None) == (first + rest, none)

    async def count(which: EntryFilter) -> int:
        return len((await database.read(audit_log.entries, owner.token, which, 100, None))[0])

    assert [2, 2, 4, 3] == [
        await count(EntryFilter(user=bob.account.username)),
        await count(EntryFilter(user=cyd.account.username)),
        await count(EntryFilter(user=owner.account.username)),
        await count(EntryFilter(act="role.changed")),
    ]
    for who in (bob, cyd):
        with pytest.raises(MissingRight):
            await database.read(audit_log.entries, who.token, EntryFilter(), 1, None)
        with pytest.raises(MissingRight):
            await database.read(audit_log.last, who.token)


async def test_an_export_has_every_entry_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are all entries up to the last one, the earliest first, however many pages they are."""
    monkeypatch.setattr(audit_log, "PAGE", 3)
    owner = await staff(database, Role.OWNER)
    for number in range(8):
        await database.write(note, owner.account, Act.ROLE_CHANGED, f"lot {number}", {}, {})
    until = await database.read(audit_log.last, owner.token)
    await database.write(note, owner.account, Act.ROLE_CHANGED, "later", {}, {})
    written = b"".join([lines async for lines in audit_log.lines(database, until)])
    entries = (await log(database, owner))[:0:-1]
    assert b"".join(map(audit_log.line, entries)) == written
    assert [f"lot {number}" for number in range(8)] == [one.subject for one in entries]
