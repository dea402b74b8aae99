"""One-time codes: set up, confirmed, switched off; and the recovery codes for a lost app."""

from __future__ import annotations

import secrets
from datetime import datetime

import structlog
from msgspec import Struct

from saleroom.accounts.domain import one_time_codes as rules
from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.errors import CodesOff, CodesOn, UnknownUser, WrongCode
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import account_mails, codes
from saleroom.accounts.service.accounts import Accounts, authenticate
from saleroom.accounts.service.audit import note
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.storage import accounts, second_factors
from saleroom.kernel.errors import Refusal
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.turns import Rank

log = structlog.get_logger()


class Security(Struct, frozen=True):
    """How an account is secured besides its password. `codes_since` is None while one-time codes are off."""

    codes_since: datetime | None
    recovery_codes_left: int


class Enrolment(Struct, frozen=True):
    """A new secret for an app, shown once: as text, and as the address that apps read from a QR code."""

    secret: str
    address: str


class OneTimeCodes:
    """The use cases of one-time codes. Those that weaken or change them need the password."""

    def __init__(self, database: Database, accounts: Accounts, sealing: Sealing, house: str) -> None:
        """`house` is the name that apps show beside the codes."""
        self._database = database
        self._accounts = accounts
        self._sealing = sealing
        self._house = house

    async def begin(self, token: str, password: str, address: str) -> Enrolment:
        """Return a new secret. It counts only once a code has confirmed it; until then it can be replaced.

        Raises Unauthenticated, WrongPassword, CodesOn, TooManyRequests or Busy.
        """
        secret = secrets.token_bytes(rules.SECRET_BYTES)
        account = await self._accounts.with_password(token, password, address, _begin, self._sealing, secret)
        return self._enrolment(account, secret)

    async def confirm(self, token: str, code: str) -> list[str]:
        """Switch one-time codes on by a code of the app, and return the recovery codes.

        Raises Unauthenticated, CodesOff, CodesOn or WrongCode.
        """
        made = _new_recovery_codes()
        await self._database.read(authenticate, token, Right.ACCOUNT)  # a dead token takes no turn to write
        account = await self._database.write(_confirm, token, self._sealing, code, made)
        log.info("one-time codes were switched on", user=account.username)
        return made

    async def unconfirmed(self, token: str) -> Enrolment | None:
        """Return the secret that waits for its first code again, None if none does. Raises Unauthenticated."""
        account, secret = await self._database.read(_unconfirmed, token, self._sealing)
        return None if secret is None else self._enrolment(account, secret)

    async def renew_recovery_codes(self, token: str, password: str, code: str, address: str) -> list[str]:
        """Return new recovery codes; the old ones no longer count.

        Raises Unauthenticated, WrongPassword, CodesOff, CodeRequired, WrongCode, TooManyRequests or Busy.
        """
        made = _new_recovery_codes()
        account = await self._accounts.with_password(token, password, address, _renew, self._sealing, code, made)
        log.info("new recovery codes were made", user=account.username, address=address)
        return made

    async def end(self, token: str, password: str, code: str, address: str) -> None:
        """Switch one-time codes off by a code or a recovery code. Raises as `renew_recovery_codes` does."""
        account = await self._accounts.with_password(token, password, address, _end, self._sealing, code)
        log.info("one-time codes were switched off", user=account.username, address=address)

    def _enrolment(self, account: Account, secret: bytes) -> Enrolment:
        return Enrolment(rules.secret_text(secret), rules.app_address(secret, account.username, self._house))


def security(tx: Transaction, token: str) -> Security:
    """Return how the account of the token's user is secured. Raises Unauthenticated."""
    user_id = authenticate(tx, token, Right.ACCOUNT).id
    found = second_factors.find(tx, user_id)
    since = None if found is None else found.confirmed_at
    return Security(since, 0 if since is None else second_factors.recovery_codes_left(tx, user_id))


def switch_off(tx: Transaction, username: str) -> bool:
    """Switch the one-time codes of a user off, for the owner of the house; False if they were off. Raises UnknownUser."""
    login = accounts.find_login(tx, username)
    if login is None:
        raise UnknownUser
    accounts.lock_user(tx, login.account.id)
    removed = second_factors.remove(tx, login.account.id)
    if removed:
        note(tx, None, Act.CODES_SWITCHED_OFF, login.account.id, {}, {})
        account_mails.tell(tx, login.account.id, "codes_off")
    return removed


def _begin(tx: Transaction, account: Account, sealing: Sealing, secret: bytes) -> Account | Refusal:
    if _is_on(tx, account):
        return CodesOn()
    second_factors.begin(tx, account.id, codes.seal_secret(sealing, account.id, secret), tx.now())
    return account


@ranked(Rank.LOGIN)
def _confirm(tx: Transaction, token: str, sealing: Sealing, code: str, made: list[str]) -> Account:
    account = authenticate(tx, token, Right.ACCOUNT)
    accounts.lock_user(tx, account.id)
    found = second_factors.find(tx, account.id)
    if found is None:
        raise CodesOff
    if found.confirmed_at is not None:
        raise CodesOn
    now = tx.now()
    if not rules.still_waits(found.created_at, now):
        raise CodesOff
    secret, sent = codes.secret_of(sealing, found), rules.normalised(code)
    is_form = rules.is_app_code(sent)
    step = rules.matching_step(secret, sent, now, found.last_step) if secret is not None and is_form else None
    if step is None:
        raise WrongCode
    second_factors.confirm(tx, account.id, now)
    second_factors.accepted(tx, account.id, step)
    second_factors.replace_recovery_codes(tx, account.id, _digests(made))
    return account


def _unconfirmed(tx: Transaction, token: str, sealing: Sealing) -> tuple[Account, bytes | None]:
    account = authenticate(tx, token, Right.ACCOUNT)
    found = second_factors.find(tx, account.id)
    waits = found is not None and found.confirmed_at is None and rules.still_waits(found.created_at, tx.now())
    return account, codes.secret_of(sealing, found) if found is not None and waits else None


def _renew(tx: Transaction, account: Account, sealing: Sealing, code: str, made: list[str]) -> Account | Refusal:
    refused = _refusal(tx, account, sealing, code)
    if refused is None:
        second_factors.replace_recovery_codes(tx, account.id, _digests(made))
    return refused or account


def _end(tx: Transaction, account: Account, sealing: Sealing, code: str) -> Account | Refusal:
    refused = _refusal(tx, account, sealing, code)
    if refused is None:
        second_factors.remove(tx, account.id)
        account_mails.tell(tx, account.id, "codes_off")
    return refused or account


def _refusal(tx: Transaction, account: Account, sealing: Sealing, code: str) -> Refusal | None:
    return codes.refusal_of(tx, sealing, account.id, code) if _is_on(tx, account) else CodesOff()


def _is_on(tx: Transaction, account: Account) -> bool:
    found = second_factors.find(tx, account.id)
    return found is not None and found.confirmed_at is not None


def _new_recovery_codes() -> list[str]:
    return [rules.recovery_code(secrets.token_bytes(rules.RECOVERY_BYTES)) for _ in range(rules.RECOVERY_CODES)]


def _digests(made: list[str]) -> list[str]:
    found = [rules.recovery_digest(rules.normalised(code)) for code in made]
    return [digest for digest in found if digest is not None]
