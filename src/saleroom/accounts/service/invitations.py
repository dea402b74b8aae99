"""Invitations: staff make, list and revoke them; a user or a newcomer takes one, only once."""

from __future__ import annotations

from datetime import timedelta

import structlog
from msgspec import Struct, structs

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import InvalidInvitation, UnknownInvitation
from saleroom.accounts.domain.invitations import Invitation, refuse_to_invite, refuse_to_take
from saleroom.accounts.domain.mails import Sign, link_number
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.service import codes
from saleroom.accounts.service.account_mails import post_invitation
from saleroom.accounts.service.accounts import authenticate, register
from saleroom.accounts.service.audit import note
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.storage import accounts, people
from saleroom.accounts.storage import invitations as rows
from saleroom.kernel.errors import Unauthenticated
from saleroom.kernel.networks import network
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.turns import Rank

log = structlog.get_logger()

LISTED_MAX = 200
"""The most invitations that are shown."""


class Invitations:
    """The use case of those who are invited and have no account yet."""

    def __init__(self, database: Database, passwords: Passwords, sign: Sign) -> None:
        self._database = database
        self._passwords = passwords
        self._sign = sign

    async def join(self, code: str, username: str, password: str, address: str) -> Account:
        """Return a new account with the role of an invitation, also if registration is closed.

        Raises InvalidInvitation, UsernameTaken, ObviousPassword, BreachedPassword or Busy.
        """
        # A digest takes a while, which only the holder of a link may ask for.
        await self._database.read(check, code, self._sign)
        digest = await self._passwords.digest(username, password, network(address))
        account = await self._database.write(join, username, digest, code, self._sign)
        log.info("somebody joined by an invitation", user=username, address=address)
        return account


class NewInvitation(Struct, frozen=True):
    """A new invitation with its code, for the inviter who hands the link on; None if a mail brings it."""

    invitation: Invitation
    code: str | None


def invite(
    tx: Transaction, token: str, role: Role, address: str | None, language: str | None, sign: Sign
) -> NewInvitation:
    """Invite somebody to a role, by mail if an address is given.

    Raises Unauthenticated, MissingRight, Barred, RoleAboveOwn or TooManyInvitations.
    """
    by = authenticate(tx, token, Right.MANAGE_PEOPLE)
    made = _invite(tx, by, role, address)
    if address is None:
        return NewInvitation(made, made.code(sign))
    post_invitation(tx, made, language)
    return NewInvitation(made, None)


def invite_by_house(tx: Transaction, role: Role, sign: Sign) -> str:
    """Return the code of a new invitation that the command line of the house makes."""
    return _invite(tx, None, role, None).code(sign)


def listed(tx: Transaction, token: str | None) -> list[Invitation]:
    """Return the invitations of the house, the latest first. Raises Unauthenticated, MissingRight or Barred."""
    authenticate(tx, token, Right.MANAGE_PEOPLE)
    return rows.latest(tx, LISTED_MAX)


def revoke(tx: Transaction, token: str, number: int) -> None:
    """Revoke an invitation that was not taken. Raises Unauthenticated, MissingRight, Barred or UnknownInvitation."""
    by = authenticate(tx, token, Right.MANAGE_PEOPLE)
    found = rows.find(tx, number)
    if found is None or not rows.revoke(tx, number, tx.now()):
        raise UnknownInvitation
    note(tx, by, Act.INVITATION_REVOKED, _subject(found), {"role": found.role.value}, {"role": None})


def take(tx: Transaction, token: str, code: str, sign: Sign) -> Account:
    """Give the token's user the role of an invitation.

    Raises Unauthenticated, MissingRight, Barred, InvalidInvitation or HigherRole.
    """
    account = authenticate(tx, token, Right.ACCOUNT)
    if account.bar is not None:
        account.bar.refuse(Right.MANAGE_PEOPLE)
    return _take(tx, account.username, code, sign)


@ranked(Rank.LOGIN)
def join(tx: Transaction, username: str, digest: str, code: str, sign: Sign) -> Account:
    """Store a new user with the role of an invitation. Raises InvalidInvitation or UsernameTaken."""
    check(tx, code, sign)
    return _take(tx, register(tx, username, digest).username, code, sign)


def check(tx: Transaction, code: str, sign: Sign) -> Invitation:
    """Return the invitation of a code, if it can still be taken. Raises InvalidInvitation."""
    number = link_number(code)
    found = None if number is None else rows.find(tx, number)
    if found is None or not found.is_good(tx.now()) or not found.has_code(code, sign):
        raise InvalidInvitation
    return found


def _invite(tx: Transaction, by: Account | None, role: Role, address: str | None) -> Invitation:
    now = tx.now()
    made_today = 0 if by is None else rows.made_since(tx, by.id, now - timedelta(days=1))
    refuse_to_invite(None if by is None else by.role, role, made_today)
    made = rows.add(tx, role, None if by is None else by.id, address, now)
    note(tx, by, Act.INVITATION_MADE, _subject(made), {}, {"role": role.value})
    return made


def _take(tx: Transaction, username: str, code: str, sign: Sign) -> Account:
    found = check(tx, code, sign)
    # Both stay as they are until the role is given: a ban of the inviter comes before it or after it.
    locked = people.lock(tx, username, found.by_id)
    user = next((one for one in locked if one.username == username), None)
    if user is None:
        raise Unauthenticated  # they were erased until the rows were locked
    inviter = next((codes.with_role(tx, one) for one in locked if one.id == found.by_id), None)
    refuse_to_take(found, inviter, user.role)
    if user.bar is not None:
        user.bar.refuse(Right.MANAGE_PEOPLE)
    if not rows.use(tx, found.id, user.id, tx.now()):
        raise InvalidInvitation
    accounts.set_role(tx, user.id, found.role)
    before, after = {"role": user.role.value}, {"role": found.role.value}
    note(tx, user, Act.ROLE_CHANGED, user.id, before, after, f"by {_subject(found)}")
    return structs.replace(user, role=found.role)


def _subject(invitation: Invitation) -> str:
    return f"invitation {invitation.id}"
