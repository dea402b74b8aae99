"""Sessions: the user's own are listed and ended."""

from __future__ import annotations

from datetime import datetime

import structlog
from msgspec import Struct

from saleroom.accounts.domain.errors import UnknownSession
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate, token_digest
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
    account = authenticate(tx, token, Right.ACCOUNT)
    if not accounts.delete_session(tx, account.id, session_id, tx.now()):
        raise UnknownSession
    log.info("a session was ended", user=account.username)


@ranked(Rank.LOGIN)
def end_all(tx: Transaction, token: str) -> None:
    """End all sessions of the token's user, at once and in every process. Raises Unauthenticated."""
    account = authenticate(tx, token, Right.ACCOUNT)
    accounts.delete_sessions(tx, account.id)
    log.info("all sessions of a user were ended", user=account.username)
