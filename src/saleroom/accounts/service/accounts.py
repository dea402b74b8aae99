"""Accounts: register, log in, log out, identify a token, change passwords."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import structlog
from msgspec import Struct, structs

from saleroom.accounts.domain.accounts import SESSIONS_MAX, TOKEN_BYTES, Account, Holder, expiry
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import (
    CodeRequired,
    InvalidAuthentication,
    LoginExpired,
    RegistrationClosed,
    UnknownUser,
    UsernameTaken,
    WrongPassword,
)
from saleroom.accounts.domain.rights import Right, Role
from saleroom.accounts.service import account_mails, codes
from saleroom.accounts.service.audit import note
from saleroom.accounts.service.passwords import Passwords
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.service.throttle import FailedLogins, Registrations
from saleroom.accounts.service.tickets import LoginKeys, Ticket
from saleroom.accounts.storage import accounts, erasures
from saleroom.kernel.errors import Contradiction, Refusal, Unauthenticated
from saleroom.kernel.networks import network
from saleroom.kernel.parties import RESERVED
from saleroom.storage.database import Database, Transaction, brief, ranked
from saleroom.storage.faults import TryAgain
from saleroom.storage.turns import Rank

log = structlog.get_logger()

R = TypeVar("R")

FAILED_LOGINS_PER_HOUR = 600
AGENT_MAX = 80
"""Characters of a device's name."""


class IssuedToken(Struct, frozen=True):
    """A new token. Its `value` is shown once and stored nowhere."""

    value: str
    created_at: datetime
    expires_at: datetime


class Accounts:
    """The use cases that digest a password. Each access to the database in them is a separate transaction."""

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        registrations: Registrations | None,
        failed_logins: FailedLogins | None = None,
        keys: LoginKeys | None = None,
        *,
        tells_of_devices: bool = False,
    ) -> None:
        """`registrations` is None if registration is closed. Without `keys` nobody with one-time codes can log in.

        With `tells_of_devices` a login from a device that is not logged in yet is told by mail.
        """
        self._database = database
        self._passwords = passwords
        self._registrations = registrations
        self._failed_logins = failed_logins or FailedLogins(database, FAILED_LOGINS_PER_HOUR)
        self._keys = keys
        self._tells = tells_of_devices

    async def register(self, username: str, password: str, address: str) -> Account:
        """Return the new account.

        Raises RegistrationClosed, UsernameTaken, ObviousPassword, BreachedPassword, TooManyRequests or Busy.
        """
        if self._registrations is None:
            raise RegistrationClosed
        await self._registrations.take(address)
        digest = await self._passwords.digest(username, password, network(address))
        account = await self._database.write(register, username, digest)
        log.info("somebody registered", user=username, address=address)
        return account

    async def log_in(
        self, username: str, password: str, address: str, agent: str = "", code: str | None = None
    ) -> IssuedToken:
        """Return a new token for a device called `agent`.

        Raises InvalidAuthentication, TooManyRequests or Busy. For an account with one-time codes it also raises WrongCode, or
        CodeRequired with a ticket for `log_in_by_ticket`.
        """
        username = username.lower() if username.isascii() and "\0" not in username else ""
        keys, started = self._keys, None
        async with self._failed_logins.attempt(username, address):
            while started is None:
                account, digest = await self._verified(username, password, address, "a login failed")
                newer = await self._passwords.digest_again(password) if self._passwords.is_outdated(digest) else None
                secrets = None if keys is None else keys.secrets
                values = (account.id, digest, newer, agent, code, secrets)
                started = await self._database.write(start_session, *values, tells=self._tells)
                if isinstance(started, CodeRequired) and keys is not None:
                    started.ticket = keys.ticket(account.id, username, digest, self._database.clock_now())
            token = _started(started, username, address)
        log.info("somebody logged in", user=username, address=address)
        return token

    async def log_in_by_ticket(self, ticket: bytes, code: str, address: str, agent: str = "") -> IssuedToken:
        """Return a new token after the second step of a login. Raises LoginExpired, and as `log_in` does."""
        if self._keys is None:
            raise LoginExpired
        one = self._keys.read(ticket, self._database.clock_now())
        async with self._failed_logins.attempt(one.username, address):
            started = await self._database.write(
                _continue_session, one, agent, code, self._keys.secrets, tells=self._tells
            )
            token = _started(started, one.username, address)
        log.info("somebody logged in", user=one.username, address=address)
        return token

    async def with_password(
        self,
        token: str,
        password: str,
        address: str,
        use_case: Callable[..., R | Refusal],
        *args: Any,
    ) -> R:
        """Run `use_case(tx, account, *args)` for the token's user, whose password is checked first as at a login.

        Raises Unauthenticated, WrongPassword, TooManyRequests or Busy, and the refusal that the use case returns: what it has
        written is kept.
        """
        username = (await self._database.read(authenticate, token, Right.ACCOUNT)).username
        done: tuple[R | Refusal] | None = None
        try:
            async with self._failed_logins.attempt(username, address):
                while done is None:
                    _, verified = await self._verified(username, password, address, "a password was wrong")
                    done = await self._database.write(_with_digest, token, verified, use_case, *args)
                [result] = done
                if isinstance(result, Refusal):
                    raise result
        except InvalidAuthentication:
            raise WrongPassword from None
        return result

    async def change_password(self, token: str, current: str, new: str, address: str) -> None:
        """Replace the password of the token's user, and end all their other sessions.

        A wrong `current` counts as a failed login. Otherwise a thief of a token could guess the password at any speed.
        Raises Unauthenticated, Contradiction, WrongPassword, ObviousPassword, BreachedPassword, TooManyRequests or Busy.
        """
        username = (await self._database.read(authenticate, token, Right.ACCOUNT)).username
        if new == current:
            # Otherwise a user who thinks the password has leaked would believe that the leaked one no longer works.
            raise Contradiction.one("new_password", "same_password", "must differ from the current password")
        digest, changed = "", False
        try:
            async with self._failed_logins.attempt(username, address):
                while not changed:
                    _, verified = await self._verified(username, current, address, "a change of password failed")
                    digest = digest or await self._passwords.digest(username, new, network(address))
                    changed = await self._database.write(change_digest, token, verified, digest)
        except InvalidAuthentication:
            raise WrongPassword from None
        log.info("a password was changed", user=username, address=address)

    async def _verified(self, username: str, password: str, address: str, failed: str) -> tuple[Account, str]:
        """Return the account and its digest. Raises Busy, or InvalidAuthentication after the same work for every cause.

        The digest may be replaced before the caller relies on it: compare it in that transaction, and verify again.
        """
        login = await self._database.read(accounts.find_login, username)
        digest = None if login is None else login.password_digest
        if not await self._passwords.verify(digest, password, network(address)) or login is None or digest is None:
            # An unknown name is not logged, because people type their password into that field by mistake.
            log.info(failed, user="unknown" if login is None else username, address=address)
            raise InvalidAuthentication
        return login.account, digest

    async def set_password(self, username: str, password: str) -> None:
        """Replace a user's password, and end all their sessions, by the command line. Raises UnknownUser."""
        digest = await self._passwords.digest(username, password)
        await self._database.write(set_digest, username, digest)

    async def add(self, username: str, password: str, role: Role = Role.MEMBER) -> Account:
        """Return a new account, made by the command line, even if registration is closed. Raises UsernameTaken."""
        digest = await self._passwords.digest(username, password)
        return await self._database.write(add, username, digest, role)


@ranked(Rank.LOGIN)
def register(tx: Transaction, username: str, digest: str) -> Account:
    """Store a new user. Raises UsernameTaken, also for the name of somebody who was erased and for those of the house."""
    if username.startswith(RESERVED) or erasures.was_name(tx, username):
        raise UsernameTaken
    account = accounts.add_user(tx, username, digest, tx.now())
    if account is None:
        raise UsernameTaken
    return account


def refuse_taken(tx: Transaction, username: str) -> None:
    """Raise UsernameTaken if `register` would, before anybody chooses a password."""
    if username.startswith(RESERVED) or erasures.was_name(tx, username) or accounts.find_login(tx, username):
        raise UsernameTaken


def add(tx: Transaction, username: str, digest: str, role: Role) -> Account:
    """Store and note a user that the command line of the house adds, with a role. Raises UsernameTaken."""
    account = register(tx, username, digest)
    accounts.set_role(tx, account.id, role)
    note(tx, None, Act.USER_ADDED, account.id, {}, {"role": role.value})
    return structs.replace(account, role=role)


def set_digest(tx: Transaction, username: str, digest: str) -> None:
    """Replace a user's digest by the command line, and end all their sessions: a thief of the old password may have some.

    Raises UnknownUser.
    """
    login = accounts.find_login(tx, username)
    if login is None or erasures.is_erased(tx, login.account.id):
        raise UnknownUser
    accounts.set_digest(tx, login.account.id, digest)
    accounts.delete_sessions(tx, login.account.id)
    note(tx, None, Act.PASSWORD_SET, login.account.id, {}, {})
    account_mails.tell(tx, login.account.id, "password_changed", {"by": "house"})


@ranked(Rank.LOGIN)
def change_digest(tx: Transaction, token: str, verified: str, digest: str) -> bool:
    """Replace the digest `verified` by `digest`, and end all sessions but that of `token`.

    Return False if `verified` is no longer the user's digest. Raises Unauthenticated.
    """
    account = authenticate(tx, token, Right.ACCOUNT)
    if accounts.lock_digest(tx, account.id) != verified:
        return False
    accounts.set_digest(tx, account.id, digest)
    accounts.delete_sessions(tx, account.id, keep=token_digest(token))
    account_mails.tell(tx, account.id, "password_changed", {"by": "user"})
    return True


@ranked(Rank.LOGIN)
def start_session(
    tx: Transaction,
    user_id: int,
    verified: str,
    newer: str | None,
    agent: str,
    code: str | None = None,
    secrets: Sealing | None = None,
    *,
    tells: bool = False,
) -> IssuedToken | Refusal | None:
    """Store and return a new token for the user whose password belongs to the digest `verified`.

    Return None if `verified` is no longer the user's digest: an old password no longer works. `newer` replaces the digest, if
    given. Return the refusal of `code` if the user has one-time codes. For `tells` see `open_session`.
    """
    if accounts.lock_digest(tx, user_id) != verified:
        return None
    refused = codes.refusal_of(tx, secrets, user_id, code)
    if refused is not None:
        return refused
    if newer is not None:
        accounts.set_digest(tx, user_id, newer)
    return open_session(tx, user_id, agent, tells=tells)


def open_session(
    tx: Transaction, user_id: int, agent: str, *, tells: bool, passkey_id: int | None = None
) -> IssuedToken:
    """Store and return a new token for a locked user who has proven who they are, by this passkey if one is given.

    Of more than `SESSIONS_MAX` sessions the oldest ends. With `tells` the user is told if no device of this name is logged in.
    """
    if tells and not accounts.has_session_of(tx, user_id, agent[:AGENT_MAX] or None, tx.now()):
        account_mails.tell(tx, user_id, "new_login", {"agent": agent[:AGENT_MAX]})
    token = issue_token(tx, user_id, agent=agent, passkey_id=passkey_id)
    accounts.delete_oldest_sessions(tx, user_id, SESSIONS_MAX)
    return token


@ranked(Rank.LOGIN)
def _continue_session(
    tx: Transaction, ticket: Ticket, agent: str, code: str, secrets: Sealing, *, tells: bool
) -> IssuedToken | Refusal:
    """Do as `start_session` for the user of a ticket; return LoginExpired if the password was changed since."""
    digest = accounts.lock_digest(tx, ticket.user_id)
    if digest is None or not ticket.is_of(digest):
        return LoginExpired()
    return start_session(tx, ticket.user_id, digest, None, agent, code, secrets, tells=tells) or LoginExpired()


def _started(started: IssuedToken | Refusal, username: str, address: str) -> IssuedToken:
    """Return the token. Raises the refusal in its place."""
    if isinstance(started, Refusal):
        if not isinstance(started, CodeRequired):
            log.info("a login failed by its code", user=username, address=address)
        raise started
    return started


@ranked(Rank.LOGIN)
def _with_digest(
    tx: Transaction, token: str, verified: str, use_case: Callable[..., R | Refusal], *args: Any
) -> tuple[R | Refusal] | None:
    """Return the result of `use_case`; None if `verified` is no longer the user's digest. Raises Unauthenticated."""
    account = authenticate(tx, token, Right.ACCOUNT)
    if accounts.lock_digest(tx, account.id) != verified:
        return None
    return (use_case(tx, account, *args),)


def new_token_value() -> str:
    """Return 10 random bytes in standard Base64 with padding (docs/specification.md, "AuthToken")."""
    return base64.b64encode(secrets.token_bytes(TOKEN_BYTES)).decode()


def token_digest(value: str) -> str:
    """Return the digest that the column `token` holds, so that a stolen copy of the database logs nobody in."""
    return hashlib.sha256(value.encode()).hexdigest()


def issue_token(
    tx: Transaction,
    user_id: int,
    make: Callable[[], str] = new_token_value,
    *,
    agent: str = "",
    passkey_id: int | None = None,
) -> IssuedToken:
    """Store a new token for the user and return it. Raises TryAgain if three values in a row are taken."""
    now = tx.now()
    for _ in range(3):
        value = make()
        if accounts.add_token(tx, user_id, token_digest(value), now, agent[:AGENT_MAX] or None, passkey_id):
            return IssuedToken(value, now, expiry(now))
    raise TryAgain("three tokens in a row were taken")


def authenticate(tx: Transaction, token: str | None, right: Right) -> Account:
    """Return the account of `token`, which has the `right` that the use case needs. Raises Unauthenticated or MissingRight."""
    if not token:
        raise Unauthenticated
    account = accounts.account_by_token(tx, token_digest(token), tx.now())
    if account is None:
        raise Unauthenticated
    account = codes.with_role(tx, account)
    account.refuse_without(right)
    return account


def holder_with(holder: Holder | None, right: Right) -> Holder:
    """Return the holder of a token, read among many, as `authenticate` does."""
    if holder is None:
        raise Unauthenticated
    holder.refuse_without(right)
    return holder


@ranked(Rank.HOUSE)
@brief
def token_owners(tx: Transaction, tokens: Sequence[str]) -> list[int | Exception]:
    """Return the number of each token's user, or Unauthenticated for a dead token."""
    digests = [token_digest(token) for token in tokens]
    owners = accounts.holders_by_token(tx, digests, tx.now())
    return [owners[digest].id if digest in owners else Unauthenticated() for digest in digests]


@ranked(Rank.HOUSE)
@brief
def live_tokens(tx: Transaction, tokens: Sequence[str]) -> list[str]:
    """Return those of the tokens that are live. It counts as no use of them."""
    digests = {token_digest(token): token for token in tokens}
    return [digests[digest] for digest in accounts.live_digests(tx, digests, tx.now())]


@ranked(Rank.LOGIN)
def log_out(tx: Transaction, token: str) -> None:
    """End the session of `token`, at once and in every process. Raises Unauthenticated."""
    account = authenticate(tx, token, Right.READ)
    accounts.delete_token(tx, token_digest(token))
    log.info("a session was ended", user=account.username)
