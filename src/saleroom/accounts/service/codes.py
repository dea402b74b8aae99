"""Codes: the check of a one-time code or a recovery code, within the transaction of what it permits."""

from __future__ import annotations

import math

import structlog
from msgspec import structs

from saleroom.accounts.domain import one_time_codes as rules
from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import CodeRequired, WrongCode
from saleroom.accounts.domain.rights import Role, is_staff
from saleroom.accounts.service.sealing import Sealing
from saleroom.accounts.service.throttle import left_of
from saleroom.accounts.storage import second_factors
from saleroom.accounts.storage.second_factors import StoredOneTimeCodes
from saleroom.kernel.errors import Refusal, TooManyRequests
from saleroom.storage.database import Switch, Transaction

log = structlog.get_logger()

STAFF_NEEDS_CODES = Switch()
"""Whether staff has the rights of its roles only with one-time codes."""


def refusal_of(tx: Transaction, sealing: Sealing | None, user_id: int, code: str | None) -> Refusal | None:
    """Use up a code. Return None if it is right or the user has no one-time codes, otherwise CodeRequired, WrongCode or
    TooManyRequests (fact `retry_after`, seconds).

    The refusal is returned, because raising it would roll back the count of wrong codes. The caller has locked the user.
    Only somebody who knows the password comes here, and the delay is that of the account, whatever the network. A recovery
    code waits for no delay: it cannot be guessed, and it lets the user in while a thief of the password tries codes.
    """
    codes = second_factors.find(tx, user_id)
    if codes is None or codes.confirmed_at is None:
        return None
    sent = rules.normalised(code or "")
    if not sent:
        return CodeRequired()
    digest = rules.recovery_digest(sent)
    if digest is not None and second_factors.use_recovery_code(tx, user_id, digest):
        second_factors.accepted(tx, user_id, None)
        return None
    return _app_code_refusal(tx, sealing, codes, sent) if rules.is_app_code(sent) else WrongCode()


def _app_code_refusal(tx: Transaction, sealing: Sealing | None, codes: StoredOneTimeCodes, sent: str) -> Refusal | None:
    now = tx.now()
    if codes.failed_at is not None:
        left = left_of(rules.delay(codes.failures), codes.failed_at, now).total_seconds()
        if left > 0:
            message = "Too many wrong codes; wait, or use a recovery code."
            return TooManyRequests(message, retry_after=math.ceil(left))
    secret = secret_of(sealing, codes)
    step = None if secret is None else rules.matching_step(secret, sent, now, codes.last_step)
    if step is None:
        second_factors.failed(tx, codes.user_id, now)
        return WrongCode()
    second_factors.accepted(tx, codes.user_id, step)
    return None


def with_role(tx: Transaction, account: Account) -> Account:
    """Return the account with the role that counts: where staff needs one-time codes, a member until they are set up.

    A session that a passkey has opened needs none: the device had the passkey, and has verified its user.
    """
    if account.passkey_id is not None:
        return account
    if is_staff(account.role) and tx.is_on(STAFF_NEEDS_CODES) and not second_factors.are_on(tx, account.id):
        return structs.replace(account, role=Role.MEMBER, needs_codes=True)
    return account


def seal_secret(sealing: Sealing, user_id: int, secret: bytes) -> bytes:
    """Return a secret as its row keeps it. Raises DatabaseUnavailable."""
    return sealing.seal(secret, f"one-time codes of {user_id}")


def seal_again(tx: Transaction, before: Sealing, after: Sealing) -> None:
    """Seal the secrets of all users by another key. Those that the key before does not open stay as they are."""
    for codes in second_factors.every(tx):
        secret = secret_of(before, codes)
        if secret is not None:
            second_factors.put_secret(tx, codes.user_id, seal_secret(after, codes.user_id, secret))


def secret_of(sealing: Sealing | None, codes: StoredOneTimeCodes) -> bytes | None:
    """Return the secret of a row; None if the house cannot open it. Raises DatabaseUnavailable."""
    secret = None if sealing is None else sealing.open(codes.secret, f"one-time codes of {codes.user_id}")
    if secret is None:
        log.error(
            "one-time codes cannot be checked: the secret of the house was replaced; only recovery codes count",
            user_id=codes.user_id,
        )
    return secret
