"""Passkeys: added with the password, used to log in without it, listed and removed."""

from __future__ import annotations

import asyncio
import secrets

import structlog
from msgspec import Struct

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import (
    InvalidPasskey,
    PasskeyNotAdded,
    TooManyPasskeys,
    UnknownPasskey,
    UnknownUser,
)
from saleroom.accounts.domain.passkeys import HANDLE_BYTES, PASSKEYS_MAX, Party, is_copied
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import account_mails, ceremonies
from saleroom.accounts.service.accounts import Accounts, IssuedToken, authenticate, open_session
from saleroom.accounts.service.audit import note
from saleroom.accounts.service.challenges import Adding, Challenge, Challenges
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.service.throttle import FailedLogins
from saleroom.accounts.storage import accounts, passkeys
from saleroom.accounts.storage.passkeys import Passkey
from saleroom.kernel.errors import Refusal
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.turns import Rank

log = structlog.get_logger()


class CeremonyQuestion(Struct, frozen=True):
    """What a browser is asked for, as JSON, and the sealed challenge that comes back with its answer."""

    options: str
    ticket: bytes


class _PasskeyOwner(Struct, frozen=True):
    """A user who adds a passkey, the number by which devices know them, and the passkeys that are there."""

    account: Account
    handle: bytes
    credentials: list[bytes]


class Passkeys:
    """The use cases of passkeys that talk to a browser."""

    def __init__(
        self,
        database: Database,
        accounts: Accounts,
        failed_logins: FailedLogins,
        sealing: Sealing,
        house: str,
        *,
        tells_of_devices: bool = False,
    ) -> None:
        """`house` is the name that devices show. For `tells_of_devices` see `Accounts`."""
        self._database = database
        self._accounts = accounts
        self._failed_logins = failed_logins
        self._challenges = Challenges(sealing)
        self._house = house
        self._tells = tells_of_devices

    async def begin(self, token: str, password: str, name: str, party: Party, address: str) -> CeremonyQuestion:
        """Return what the browser of the token's user is asked for a new passkey called `name`.

        Raises Unauthenticated, WrongPassword, TooManyPasskeys, TooManyRequests or Busy.
        """
        known = await self._accounts.with_password(token, password, address, _known)
        adding = Adding(known.account.id, known.handle, name)
        challenge, ticket = self._challenges.make(token, self._database.clock_now(), adding)
        asked = (party, self._house, known.account.username, known.handle, known.credentials, challenge.value)
        return CeremonyQuestion(await asyncio.to_thread(ceremonies.creation_options, *asked), ticket)

    async def add(self, token: str, ticket: bytes, answer: str, party: Party, address: str) -> Passkey:
        """Store the passkey that a device has made, and return it.

        Raises Unauthenticated, PasskeyNotAdded or TooManyPasskeys.
        """
        # A dead token takes no turn to write.
        username = (await self._database.read(authenticate, token, Right.ACCOUNT)).username
        challenge = self._challenges.read(ticket, token, self._database.clock_now(), adding=True)
        if challenge is None:
            raise PasskeyNotAdded
        made = await asyncio.to_thread(ceremonies.made, answer, party, challenge.value)
        if made is None:
            log.info("a passkey was not added: the answer of the browser is wrong", user=username, address=address)
            raise PasskeyNotAdded
        added = await self._database.write(_add, token, challenge, made, party.id)
        log.info("a passkey was added", user=username, address=address)
        return added

    async def remove(self, token: str, password: str, number: int, address: str) -> None:
        """Remove a passkey of the token's user, who gives the password, and tell them: a thief of a session takes none away.

        Sessions that it has opened count as those by password from now.
        Raises Unauthenticated, UnknownPasskey, WrongPassword, TooManyRequests or Busy.
        """
        await self._accounts.with_password(token, password, address, _remove, number)

    async def ask(self, bound: str, party: Party) -> CeremonyQuestion:
        """Return what the browser that has the secret `bound` is asked for a login."""
        challenge, ticket = self._challenges.make(bound, self._database.clock_now())
        return CeremonyQuestion(await asyncio.to_thread(ceremonies.request_options, party, challenge.value), ticket)

    async def log_in(
        self, ticket: bytes, bound: str, answer: str, party: Party, address: str, agent: str = ""
    ) -> IssuedToken:
        """Return a new token for the user of the passkey that has answered. No one-time code is asked for.

        All faults are one refusal, and count as a failed login does. Raises InvalidPasskey or TooManyRequests.
        """
        claim = await asyncio.to_thread(ceremonies.claim, answer)
        # No name of a user has a space. An answer that is no passkey counts for its network.
        who = f"passkey {claim.credential_id.hex() if claim else ''}"
        async with self._failed_logins.attempt(who, address):
            challenge = self._challenges.read(ticket, bound, self._database.clock_now(), adding=False)
            found = None
            if claim is not None and challenge is not None:
                found = await self._database.read(passkeys.find_by_credential, claim.credential_id)
            if found is None or challenge is None or claim is None or found.handle != claim.handle:
                raise _refused(None, address)
            count = await asyncio.to_thread(ceremonies.signed, answer, party, challenge.value, found.public_key)
            user = await self._database.read(accounts.find, found.user_id)
            if count is None:
                raise _refused(user, address)
            started = await self._database.write(_start, found.id, user.id, challenge, count, agent, tells=self._tells)
            if started is None:
                raise _refused(user, address)
        log.info("somebody logged in", user=user.username, address=address, by="passkey")
        return started


def own(tx: Transaction, token: str) -> list[Passkey]:
    """Return the passkeys of the token's user, the newest first. Raises Unauthenticated or MissingRight."""
    return passkeys.find_all(tx, authenticate(tx, token, Right.ACCOUNT).id)


def remove_all(tx: Transaction, username: str) -> int:
    """Remove all passkeys of a user, for the owner of the house; return how many there were. Raises UnknownUser."""
    login = accounts.find_login(tx, username)
    if login is None:
        raise UnknownUser
    accounts.lock_user(tx, login.account.id)
    removed = passkeys.remove_all(tx, login.account.id)
    if removed:
        note(tx, None, Act.PASSKEYS_REMOVED, login.account.id, {"passkeys": removed}, {"passkeys": 0})
        account_mails.tell(tx, login.account.id, "passkey_removed", {"passkey": None})
    return removed


def _remove(tx: Transaction, account: Account, number: int) -> UnknownPasskey | None:
    accounts.lock_user(tx, account.id)
    name = passkeys.remove(tx, account.id, number)
    if name is None:
        return UnknownPasskey()
    account_mails.tell(tx, account.id, "passkey_removed", {"passkey": name})
    return None


def _known(tx: Transaction, account: Account) -> _PasskeyOwner | Refusal:
    found = passkeys.find_all(tx, account.id)
    if len(found) >= PASSKEYS_MAX:
        return TooManyPasskeys(limit=PASSKEYS_MAX)
    handle = found[0].handle if found else secrets.token_bytes(HANDLE_BYTES)
    return _PasskeyOwner(account, handle, [one.credential_id for one in found])


@ranked(Rank.LOGIN)
def _add(tx: Transaction, token: str, challenge: Challenge, made: ceremonies.NewPasskey, party: str) -> Passkey:
    account, adding = authenticate(tx, token, Right.ACCOUNT), challenge.adding
    accounts.lock_user(tx, account.id)
    if passkeys.count(tx, account.id) >= PASSKEYS_MAX:
        raise TooManyPasskeys(limit=PASSKEYS_MAX)
    if adding is None or adding.user_id != account.id or not challenge.use(tx):
        raise PasskeyNotAdded
    new = passkeys.PasskeyRow(
        user_id=account.id,
        credential_id=made.credential_id,
        public_key=made.public_key,
        handle=adding.handle,
        party=party,
        sign_count=made.sign_count,
        name=adding.name,
        created_at=tx.now(),
    )
    added = passkeys.add(tx, new)
    found = passkeys.find_by_credential(tx, made.credential_id)
    if not added or found is None:
        raise PasskeyNotAdded
    account_mails.tell(tx, account.id, "passkey_added", {"passkey": adding.name})
    return found


@ranked(Rank.LOGIN)
def _start(
    tx: Transaction, number: int, user_id: int, challenge: Challenge, count: int, agent: str, *, tells: bool
) -> IssuedToken | None:
    """Open a session; None if the challenge was used, or the passkey was removed or copied. The challenge is used up."""
    accounts.lock_user(tx, user_id)
    found = passkeys.find(tx, number)
    if found is None or not challenge.use(tx):
        return None
    if is_copied(found.sign_count, count):
        log.warning("a passkey may have been copied: its counter went back", user_id=user_id, passkey=number)
        return None
    passkeys.used(tx, number, count, tx.now())
    return open_session(tx, user_id, agent, tells=tells, passkey_id=number)


def _refused(user: Account | None, address: str) -> InvalidPasskey:
    log.info("a login by passkey failed", user="unknown" if user is None else user.username, address=address)
    return InvalidPasskey()
