"""`saleroom users` and `saleroom roles`: users added, listed, given roles, banned; second factors taken off."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar

from msgspec import Struct

from saleroom.accounts.domain.accounts import Account, parse_password, parse_username
from saleroom.accounts.domain.audit import parse_reason
from saleroom.accounts.domain.invitations import PATH as INVITATION
from saleroom.accounts.domain.mails import Sign
from saleroom.accounts.domain.owner_link import PATH
from saleroom.accounts.domain.rights import MEANINGS, RIGHTS, Right, Role
from saleroom.accounts.domain.sanctions import Sanction
from saleroom.accounts.service import erasures, invitations, one_time_codes, passkeys, roles_of_users, sanctions
from saleroom.accounts.service import owner_link as owner_links
from saleroom.accounts.service.accounts import Accounts, refuse_taken
from saleroom.accounts.service.breached_passwords import BreachedPasswords
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.storage import people
from saleroom.accounts.storage.people import PeopleFilter
from saleroom.areas import forget
from saleroom.broker.embedded import reached_at
from saleroom.http.secret import HouseSecret, Purpose
from saleroom.kernel.errors import Fault, Refusal
from saleroom.kernel.instants import instant
from saleroom.opening import run, sqlite_file, with_tables
from saleroom.settings import Settings
from saleroom.storage import processes, secrets
from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import current_revision
from saleroom.tools.new_files import refuse_place

R = TypeVar("R")
EVERYBODY = 2**31
"""More users than a house has."""


class Link(Struct, frozen=True):
    """A link to the house. `is_guess`: no process serves and `public_url` is not set, so its port may be another one."""

    url: str
    is_guess: bool


def add(settings: Settings, name: str, password: str, role: str) -> str:
    """Add a user with a role, even while registration is closed, and return a line that says so. Raises Refusal."""
    username, password = (
        _well_formed("username", parse_username(name)),
        _well_formed("password", parse_password(password)),
    )
    account = _with_accounts(settings, lambda accounts: accounts.add(username, password, Role(role)), makes=True)
    return f"Added {account.username}{'' if account.role is Role.MEMBER else f' as {account.role}'}."


def set_password(settings: Settings, name: str, password: str) -> str:
    """Give a user a new password and return a line that says so. Raises Refusal."""
    username, password = (
        _well_formed("username", parse_username(name)),
        _well_formed("password", parse_password(password)),
    )
    _with_accounts(settings, lambda accounts: accounts.set_password(username, password))
    return f"{username} has a new password."


def refuse_unknown(settings: Settings, name: str) -> None:
    """Raise Refusal unless there is a user of this name, before anybody is asked about them."""
    username = _well_formed("username", parse_username(name))
    _read(settings, lambda tx: erasures.refuse_unknown(tx, username))


def refuse_to_add(settings: Settings, name: str) -> None:
    """Raise Refusal unless a user of this name can be added, before anybody is asked for a password. It makes no house."""
    username = _well_formed("username", parse_username(name))
    file = sqlite_file(settings)
    if file is not None and not file.exists():
        refuse_place(file, force=False)
        return

    async def look(database: Database) -> None:
        if await database.read(current_revision) is not None:
            await with_tables(database)
            await database.read(refuse_taken, username)

    run(settings, look, makes=True)


def switch_codes_off(settings: Settings, name: str) -> str:
    """Switch a user's one-time codes off and return a line that says so. Raises Refusal."""
    username = _well_formed("username", parse_username(name))

    async def work(database: Database) -> bool:
        await with_tables(database)
        return await database.write(one_time_codes.switch_off, username)

    if run(settings, work):
        return f"{username} logs in without one-time codes now."
    return f"{username} has no one-time codes."


def remove_passkeys(settings: Settings, name: str) -> str:
    """Remove all passkeys of a user and return a line that says so. Raises Refusal."""
    username = _well_formed("username", parse_username(name))
    removed = _write(settings, lambda tx: passkeys.remove_all(tx, username))
    if removed:
        return f"Nobody logs in as {username} by a passkey any more: {removed} removed."
    return f"{username} has no passkeys."


def log_out(settings: Settings, name: str | None, reason: str) -> str:
    """End all sessions of a user, of everybody without a name, and return a line that says so. Raises Refusal."""
    if name is None:
        ended = _write(settings, lambda tx: sanctions.end_everybodys_sessions(tx, reason))
        return f"Everybody is logged out: {ended} sessions and access tokens ended."
    username = _well_formed("username", parse_username(name))
    ended = _write(settings, lambda tx: sanctions.end_sessions_by_house(tx, username, reason))
    return f"{username} is logged out: {ended} sessions and access tokens ended."


def everyone(settings: Settings, text: str = "", role: str | None = None) -> Sequence[tuple[str, str, str]]:
    """Return the name, the time of registration and the role of every user with `text` in the name, of this role if given.

    Sorted by name. Raises Refusal.
    """

    def found(tx: Transaction) -> list[Account]:
        which = PeopleFilter(text=text.lower() or None, role=Role(role) if role else None)
        return people.page(tx, which, EVERYBODY).rows

    return [(account.username, instant(account.created_at), account.role.value) for account in _read(settings, found)]


def give_role(settings: Settings, name: str, role: str, reason: str) -> str:
    """Give a user another role, and return a line that says so. Raises Refusal."""
    username, why = _well_formed("username", parse_username(name)), _well_formed("reason", parse_reason(reason))
    user = _write(settings, lambda tx: roles_of_users.set_role(tx, username, Role(role), why))
    return f"{user.username} is {user.role} now."


def approve(settings: Settings, name: str, reason: str, *, approved: bool) -> str:
    """Approve a user as a seller, or take that back, and return a line that says so. Raises Refusal."""
    username, why = _well_formed("username", parse_username(name)), _well_formed("reason", parse_reason(reason))
    user = _write(settings, lambda tx: roles_of_users.set_seller(tx, username, approved=approved, reason=why))
    return f"{user.username} is {'an' if approved else 'no longer an'} approved seller."


def sanction(settings: Settings, name: str, kind: str, reason: str, days: int | None) -> str:
    """Warn, suspend or ban a user, and return a line that says so. Raises Refusal."""
    username, why = _well_formed("username", parse_username(name)), _reason(reason)
    lasts = None if days is None else timedelta(days=days)
    done = _write(settings, lambda tx: sanctions.impose(tx, username, Sanction(kind), why, lasts))
    bar = done.user.bar
    if kind == Sanction.WARNING or bar is None:
        return f"{username} is warned."
    state = "banned" if bar.kind is Sanction.BAN else "suspended"
    return f"{username} is {state}{'' if bar.until is None else f' until {instant(bar.until)}'}."


def lift(settings: Settings, name: str, reason: str) -> str:
    """Lift a user's suspension or ban, and return a line that says so. Raises Refusal."""
    username, why = _well_formed("username", parse_username(name)), _reason(reason)
    _write(settings, lambda tx: sanctions.pardon(tx, username, why))
    return f"{username} is in good standing."


def _reason(text: str) -> str:
    reason = _well_formed("reason", parse_reason(text))
    if not reason:
        raise Refusal("the reason is empty: say why, as the user reads it")
    return reason


def owner_link(settings: Settings) -> Link:
    """Return a new owner link. Raises Refusal if the house has an owner."""

    def link(tx: Transaction) -> Link | None:
        code = new_owner_code(tx)
        return None if code is None else _link(tx, settings, PATH, code)

    made = _write(settings, link, makes=True)
    if made is None:
        raise Refusal("the house has an owner; who has the role says saleroom users list --role owner")
    return made


def _link(tx: Transaction, settings: Settings, path: str, code: str) -> Link:
    """Return a link to the house: at its `public_url`, otherwise where it serves, otherwise where the settings say."""
    serves_at = processes.origin_of_house(tx, socket.gethostname())
    known = settings.public_url or serves_at
    house = known or f"http://{reached_at(settings.host, settings.port)}"
    return Link(f"{house.rstrip('/')}{path}#{code}", is_guess=known is None)


def erase(settings: Settings, name: str, reason: str) -> str:
    """Erase a user for good, and return a line that says so. Raises Refusal."""
    username, why = _well_formed("username", parse_username(name)), _well_formed("reason", parse_reason(reason))
    pseudonym = _write(settings, lambda tx: erasures.erase_by_house(tx, username, why, forget))
    return f"{username} is erased; what stays of them is under {pseudonym}."


def _sign(tx: Transaction) -> Sign:
    secret = HouseSecret()
    secret.learn(secrets.find_or_make(tx))
    return partial(secret.sign, Purpose.MAILS)


def invite(settings: Settings, role: str) -> Link:
    """Return the link of a new invitation to a role. Raises Refusal."""

    def link(tx: Transaction) -> Link:
        return _link(tx, settings, INVITATION, invitations.invite_by_house(tx, Role(role), _sign(tx)))

    return _write(settings, link, makes=True)


def new_owner_code(tx: Transaction) -> str | None:
    """Return the code of a new owner link; None if the house has an owner."""
    return owner_links.make(tx, _sign(tx))


def roles() -> Sequence[tuple[str, str, str]]:
    """Return each right with its words, and the roles that have it."""
    return [(right.value, MEANINGS[right], " ".join(role for role in Role if right in RIGHTS[role])) for right in Right]


def _read(settings: Settings, work: Callable[[Transaction], R]) -> R:
    async def read(database: Database) -> R:
        await with_tables(database)
        return await database.read(work)

    return run(settings, read)


def _write(settings: Settings, work: Callable[[Transaction], R], *, makes: bool = False) -> R:
    async def write(database: Database) -> R:
        await with_tables(database)
        return await database.write(work)

    return run(settings, write, makes=makes)


def _with_accounts(settings: Settings, work: Callable[[Accounts], Awaitable[R]], *, makes: bool = False) -> R:
    async def with_accounts(database: Database) -> R:
        await with_tables(database)
        listed = settings.breached_passwords
        passwords = Passwords(None if listed is None else BreachedPasswords(listed), settings.house_name)
        try:
            return await work(Accounts(database, passwords, None))
        finally:
            passwords.close()

    return run(settings, with_accounts, makes=makes)


def _well_formed(what: str, value: str | Fault) -> str:
    if isinstance(value, Fault):
        raise Refusal(f"the {what} {value.message}")
    return value
