"""Access tokens for programs: made with the password, listed, revoked."""

from __future__ import annotations

import secrets
from datetime import timedelta

import structlog
from msgspec import Struct

from saleroom.accounts.domain import access_tokens as rules
from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import TooManyAccessTokens, UnknownAccessToken
from saleroom.accounts.domain.rights import Right, Scope
from saleroom.accounts.service.accounts import Accounts, authenticate, token_digest
from saleroom.accounts.storage import access_tokens, accounts
from saleroom.accounts.storage.access_tokens import AccessToken
from saleroom.kernel.errors import Contradiction, Refusal
from saleroom.storage.database import Transaction, ranked
from saleroom.storage.turns import Rank

log = structlog.get_logger()


class AccessTokenTerms(Struct, frozen=True):
    """What an access token is to be called, what it is for, and how many days it is valid."""

    name: str
    scopes: frozenset[Scope]
    days: int


class NewAccessToken(Struct, frozen=True):
    """A new access token. Its `value` is shown once and stored nowhere."""

    value: str
    token: AccessToken


async def make(
    house: Accounts,
    token: str,
    password: str,
    address: str,
    wanted: AccessTokenTerms,
    *,
    new_name: bool = False,
) -> NewAccessToken:
    """Return a new access token of the token's user, who gives the password: a thief of a session gets no longer one.

    With `new_name` a name in use is refused: a form that is sent twice makes no token that nobody sees.
    Raises Unauthenticated, MissingRight, WrongPassword, TooManyAccessTokens, TooManyRequests or Busy, and Contradiction for a
    name in use.
    """
    made = await house.with_password(token, password, address, _make, wanted, new_name)
    log.info("an access token was made", scopes=rules.scopes_text(wanted.scopes), address=address)
    return made


def own(tx: Transaction, token: str) -> list[AccessToken]:
    """Return the access tokens of the token's user, the newest first. Raises Unauthenticated or MissingRight."""
    return access_tokens.find_all(tx, authenticate(tx, token, Right.ACCOUNT).id, tx.now())


@ranked(Rank.LOGIN)
def revoke(tx: Transaction, token: str, number: int) -> None:
    """End an access token of the token's user, at once and in every process.

    Raises Unauthenticated, MissingRight or UnknownAccessToken.
    """
    account = authenticate(tx, token, Right.ACCOUNT)
    if not access_tokens.remove(tx, account.id, number, tx.now()):
        raise UnknownAccessToken


def _make(tx: Transaction, account: Account, wanted: AccessTokenTerms, new_name: bool) -> NewAccessToken | Refusal:
    accounts.lock_user(tx, account.id)
    now = tx.now()
    if new_name and any(one.name == wanted.name for one in access_tokens.find_all(tx, account.id, now)):
        return Contradiction.one("name", "name_in_use", "must not be that of another access token of yours")
    if access_tokens.count(tx, account.id, now) >= rules.ACCESS_TOKENS_MAX:
        return TooManyAccessTokens(limit=rules.ACCESS_TOKENS_MAX)
    value = rules.access_token(secrets.token_bytes(rules.SECRET_BYTES))
    new = AccessToken(0, wanted.name, wanted.scopes, now, now + timedelta(days=wanted.days), None)
    return NewAccessToken(value, access_tokens.add(tx, account, token_digest(value), new))
