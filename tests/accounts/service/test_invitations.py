"""Invitations: once, for as long as they are good, and only while their inviter may give the role."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import (
    HigherRole,
    InvalidInvitation,
    RoleAboveOwn,
    TooManyInvitations,
    UnknownInvitation,
)
from saleroom.accounts.domain.invitations import LIFETIME, PER_DAY_MAX
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.service import invitations, sanctions, sweeper
from saleroom.accounts.storage import accounts, audit, people
from saleroom.accounts.storage import invitations as rows
from saleroom.kernel.errors import Barred, MissingRight, Refusal
from saleroom.storage.database import Database
from tests.accounts.service.mailed import code as mailed_code
from tests.accounts.service.mailed import mails, says, sign
from tests.bidding.service.people import Person, person
from tests.fixtures_database import FakeClock, unique


async def of_role(database: Database, role: Role) -> Person:
    """A new user with a role."""
    one = await person(database)
    await database.write(accounts.set_role, one.account.id, role)
    return one


async def link(database: Database, by: Person, role: Role = Role.CLERK) -> str:
    """The code of a new invitation."""
    made = await database.write(invitations.invite, by.token, role, None, "en", sign)
    assert made.code is not None
    return str(made.code)


async def role_of(database: Database, one: Person) -> Role:
    """The role that a user has now."""
    found: Account | None = await database.read(people.find, one.account.username)
    assert found is not None
    return found.role


async def test_of_many_who_take_it_at_once_one_gets_the_role(database: Database) -> None:
    """Each waits for the one before, and finds it taken; a new account that comes too late is not made."""
    owner, everyone = await of_role(database, Role.OWNER), [await person(database) for _ in range(4)]
    code, late = await link(database, owner), unique("late")
    tries = [database.write(invitations.take, one.token, code, sign) for one in everyone]
    done = await asyncio.gather(*tries, return_exceptions=True)
    assert 3 == sum(isinstance(one, InvalidInvitation) for one in done)
    assert [Role.CLERK, *[Role.MEMBER] * 3] == sorted([await role_of(database, one) for one in everyone])
    with pytest.raises(InvalidInvitation):
        await database.write(invitations.join, late, "no digest", code, sign)
    assert None is await database.read(people.find, late)


async def test_who_has_no_account_gets_one_with_the_role(database: Database) -> None:
    """The account and its role are one transaction, which the audit log has; a name that is taken uses nothing up."""
    owner, bob = await of_role(database, Role.OWNER), await person(database)
    code, name = await link(database, owner, Role.MANAGER), unique("new")
    with pytest.raises(Refusal, match="taken"):
        await database.write(invitations.join, bob.account.username, "no digest", code, sign)
    joined = await database.write(invitations.join, name, "no digest", code, sign)
    assert (name, Role.MANAGER) == (joined.username, joined.role)
    [found] = await database.read(invitations.listed, owner.token)
    assert (owner.account.username, name, False) == (found.by, found.used_by, found.is_good(found.made_at))


async def test_who_may_invite_to_what(database: Database) -> None:
    """Nobody invites to a role above their own, and staff without the right invites nobody; nobody makes too many in a day."""
    owner, manager = await of_role(database, Role.OWNER), await of_role(database, Role.MANAGER)
    with pytest.raises(RoleAboveOwn):
        await link(database, manager, Role.OWNER)
    for role in set(Role) - {Role.OWNER, Role.MANAGER}:
        with pytest.raises(MissingRight):
            await link(database, await of_role(database, role), Role.MEMBER)
    for _ in range(PER_DAY_MAX):
        await link(database, manager, Role.MANAGER)
    with pytest.raises(TooManyInvitations):
        await link(database, manager)
    await link(database, owner, Role.OWNER)


@pytest.mark.parametrize("change", ["manager", "member", "banned"])
async def test_the_inviter_is_looked_at_again(database: Database, change: str) -> None:
    """An invitation is worth nothing once its inviter could no longer make it."""
    first, owner, bob = await of_role(database, Role.OWNER), await of_role(database, Role.OWNER), await person(database)
    code = await link(database, owner, Role.OWNER)
    if change == "banned":
        await database.write(sanctions.impose, owner.account.username, Sanction.BAN, "Why")
    else:
        await database.write(accounts.set_role, owner.account.id, Role(change))
    with pytest.raises(InvalidInvitation):
        await database.write(invitations.take, bob.token, code, sign)
    with pytest.raises(InvalidInvitation):
        await database.write(invitations.join, unique("new"), "no digest", code, sign)
    assert [Role.OWNER, Role.MEMBER] == [await role_of(database, one) for one in (first, bob)]


async def test_who_cannot_take_it(database: Database) -> None:
    """It takes no role from those above it, and gives none to who is barred; it stays good for others."""
    owner, bob, cyd = await of_role(database, Role.OWNER), await person(database), await person(database)
    code = await link(database, owner)
    with pytest.raises(HigherRole):
        await database.write(invitations.take, owner.token, code, sign)
    await database.write(sanctions.impose, bob.account.username, Sanction.BAN, "Why")
    with pytest.raises(Barred):
        await database.write(invitations.take, bob.token, code, sign)
    await database.write(invitations.take, cyd.token, code, sign)
    assert [Role.OWNER, Role.MEMBER, Role.CLERK] == [await role_of(database, one) for one in (owner, bob, cyd)]


async def test_it_ends_and_cannot_be_made_up(clocked_database: Database, clock: FakeClock) -> None:
    """From its end on, after it is revoked, changed or cut off, it gives nothing; it goes after some weeks."""
    database = clocked_database
    owner, bob = await of_role(database, Role.OWNER), await person(database)
    code, revoked = await link(database, owner), await link(database, owner)
    await database.write(invitations.revoke, owner.token, int(revoked.partition(".")[0]))
    with pytest.raises(UnknownInvitation):
        await database.write(invitations.revoke, owner.token, int(revoked.partition(".")[0]))
    number, _, signature = code.partition(".")
    for wrong in ("", code[:-1], f"{int(number) + 1}.{signature}", f"9{number}.{signature}", revoked, "\0", "1" * 4000):
        with pytest.raises(InvalidInvitation):
            await database.write(invitations.take, bob.token, wrong, sign)
    with pytest.raises(InvalidInvitation):
        await database.write(invitations.take, bob.token, code, lambda text: sign(f"another {text}"))
    clock.advance(LIFETIME.total_seconds())
    # The login has not ended, so it is the invitation that has.
    with pytest.raises(InvalidInvitation):
        await database.write(invitations.take, bob.token, code, sign)
    clock.advance(timedelta(days=60).total_seconds())
    await database.write(sweeper.sweep)
    assert not (await database.read(rows.latest, 9))


async def test_a_mail_brings_it(database: Database) -> None:
    """It is posted with the invitation, without its secret, and says nothing more once it is revoked."""
    owner, bob = await of_role(database, Role.OWNER), await person(database)
    asked = (owner.token, Role.CLERK, "eva@example.org", "en", sign)
    made = [await database.write(invitations.invite, *asked) for _ in range(2)]
    assert [None, None] == [one.code for one in made]
    assert [("invitation", "eva@example.org")] * 2 == await mails(database)
    await database.write(invitations.take, bob.token, await mailed_code(database, 0), sign)
    await database.write(invitations.revoke, owner.token, made[1].invitation.id)
    assert [None, None] == [await says(database, number) for number in (0, 1)]


async def test_the_log_has_every_step(database: Database) -> None:
    """Who invited, who took it and who revoked it are entries of the audit log."""
    owner, bob = await of_role(database, Role.OWNER), await person(database)
    code, other = await link(database, owner), await link(database, owner)
    await database.write(invitations.take, bob.token, code, sign)
    await database.write(invitations.revoke, owner.token, int(other.partition(".")[0]))
    entries = await database.read(audit.newest, audit.EntryFilter(), 4, None)
    acts = ["invitation.revoked", "role.changed", "invitation.made", "invitation.made"]
    assert acts == [one.act for one in entries]
