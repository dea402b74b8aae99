"""Users for load tests, made many at a time with a token each (docs/decisions/0015)."""

from __future__ import annotations

import secrets

from msgspec import Struct

from saleroom.accounts.domain.accounts import expiry
from saleroom.accounts.service.accounts import IssuedToken, new_token_value, token_digest
from saleroom.accounts.storage import accounts
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

TEST_NAME_BYTES = 8
"""Random bytes in the name of a test user, so that nobody can register it first."""


class UserToken(Struct, frozen=True):
    """A new user and their token."""

    username: str
    token: IssuedToken


def make_test_users(tx: Transaction, count: int) -> list[UserToken]:
    """Store `count` users without a password, and return them with a token each (docs/decisions/0015)."""
    now = tx.now()
    names = [f"test.{secrets.token_hex(TEST_NAME_BYTES)}.{number}" for number in range(1, count + 1)]
    values = [new_token_value() for _ in names]
    if accounts.add_users_with_tokens(tx, names, [token_digest(value) for value in values], now) is None:
        raise TryAgain("a name or a token was taken")
    return [UserToken(name, IssuedToken(value, now, expiry(now))) for name, value in zip(names, values, strict=True)]
