"""`saleroom users`: add and list users, set passwords, switch one-time codes off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from saleroom.accounts.domain.accounts import Account, parse_password, parse_username
from saleroom.accounts.service import one_time_codes
from saleroom.accounts.service.accounts import Accounts
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.storage import accounts as account_rows
from saleroom.kernel.errors import Fault, Refusal
from saleroom.kernel.instants import instant
from saleroom.opening import run, with_tables
from saleroom.settings import Settings
from saleroom.storage.database import Database

R = TypeVar("R")


def add(settings: Settings, name: str, password: str) -> str:
    """Add a user, even while registration is closed, and return a line that says so. Raises Refusal."""
    username, password = (
        _well_formed("username", parse_username(name)),
        _well_formed("password", parse_password(password)),
    )
    account = _with_accounts(settings, lambda accounts: accounts.add(username, password))
    return f"Added {account.username}."


def set_password(settings: Settings, name: str, password: str) -> str:
    """Give a user a new password and return a line that says so. Raises Refusal."""
    username, password = (
        _well_formed("username", parse_username(name)),
        _well_formed("password", parse_password(password)),
    )
    _with_accounts(settings, lambda accounts: accounts.set_password(username, password))
    return f"{username} has a new password."


def switch_codes_off(settings: Settings, name: str) -> str:
    """Switch a user's one-time codes off and return a line that says so. Raises Refusal."""
    username = _well_formed("username", parse_username(name))

    async def work(database: Database) -> bool:
        await with_tables(database)
        return await database.write(one_time_codes.switch_off, username)

    if run(settings, work):
        return f"{username} logs in without one-time codes now."
    return f"{username} has no one-time codes."


def everyone(settings: Settings) -> Sequence[tuple[str, str]]:
    """Return the name and the time of registration of every user, sorted by name. Raises Refusal."""

    async def work(database: Database) -> list[Account]:
        await with_tables(database)
        return await database.read(account_rows.list_users)

    return [(account.username, instant(account.created_at)) for account in run(settings, work)]


def _with_accounts(settings: Settings, work: Callable[[Accounts], Awaitable[R]]) -> R:
    async def with_accounts(database: Database) -> R:
        await with_tables(database)
        passwords = Passwords()
        try:
            return await work(Accounts(database, passwords, None))
        finally:
            passwords.close()

    return run(settings, with_accounts)


def _well_formed(what: str, value: str | Fault) -> str:
    if isinstance(value, Fault):
        raise Refusal(f"the {what} {value.message}")
    return value
