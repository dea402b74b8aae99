"""Sessions: the user's own are listed and ended."""

from __future__ import annotations

from datetime import datetime

import structlog
from msgspec import Struct

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.errors import UnknownSession
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import Accounts, authenticate, token_digest
from saleroom.accounts.storage import accounts
from saleroom.storage.database import Transaction, ranked
from saleroom.storage.turns import Rank

log = structlog.get_logger()


class Session(Struct, frozen=True):
    """A live token without its value. `agent` is the name of its device, or empty; `current` marks the asker's own."""

    id: int
    created_at: datetime
    expires_at: datetime
    agent: str
    current: bool


def sessions(tx: Transaction, token: str) -> list[Session]:
    """Return the sessions of the token's user, the latest login first. Raises Unauthenticated."""
    account, digest = authenticate(tx, token, Right.ACCOUNT), token_digest(token)
    return [
        Session(one.id, one.created_at, one.expires_at, one.agent or "", current=one.digest == digest)
        for one in accounts.sessions(tx, account.id, tx.now())
    ]


@ranked(Rank.LOGIN)
def end_session(tx: Transaction, token: str, session_id: int) -> None:
    """End a session of the token's user, at once and in every process. Raises Unauthenticated or UnknownSession."""
    if (refused := _end_session(tx, authenticate(tx, token, Right.ACCOUNT), session_id)) is not None:
        raise refused


@ranked(Rank.LOGIN)
def end_all(tx: Transaction, token: str) -> None:
    """End all sessions of the token's user, at once and in every process. Raises Unauthenticated."""
    _end_all(tx, authenticate(tx, token, Right.ACCOUNT))


async def end_session_by_password(house: Accounts, token: str, password: str, address: str, session_id: int) -> None:
    """End a session as `end_session` does, for a user who gives the password: a thief of a session logs nobody out.

    Raises Unauthenticated, UnknownSession, WrongPassword, TooManyRequests or Busy.
    """
    await house.with_password(token, password, address, _end_session, session_id)


async def end_all_by_password(house: Accounts, token: str, password: str, address: str) -> None:
    """End all sessions as `end_all` does, for a user who gives the password.

    Raises Unauthenticated, WrongPassword, TooManyRequests or Busy.
    """
    await house.with_password(token, password, address, _end_all)


def _end_session(tx: Transaction, account: Account, session_id: int) -> UnknownSession | None:
    if not accounts.delete_session(tx, account.id, session_id, tx.now()):
        return UnknownSession()
    log.info("a session was ended", user=account.username)
    return None


def _end_all(tx: Transaction, account: Account) -> None:
    accounts.delete_sessions(tx, account.id)
    log.info("all sessions of a user were ended", user=account.username)
