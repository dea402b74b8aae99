"""Access tokens of programs, as rows: they stand among the tokens of logins, so that one look finds either."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs
from sqlalchemy import ColumnElement, delete, func, insert, or_, select, update

from saleroom.accounts.domain.access_tokens import scopes_text
from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.rights import Scope
from saleroom.accounts.storage.accounts import scopes_of
from saleroom.accounts.storage.tables import auth_tokens
from saleroom.storage.database import Transaction


class AccessToken(Struct, frozen=True):
    """An access token without its value. `used_at` is coarse; None if it was never used."""

    id: int
    name: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None


def add(tx: Transaction, user: Account, digest: str, new: AccessToken) -> AccessToken:
    """Store an access token of a user by its digest, and return it with its number."""
    row = {
        "user_id": user.id,
        "passkey_id": user.passkey_id,
        "token": digest,
        "created_at": new.created_at,
        "expires_at": new.expires_at,
        "label": new.name,
        "scopes": scopes_text(new.scopes),
    }
    number: int = tx.execute(insert(auth_tokens).returning(auth_tokens.c.id), row).scalar_one()
    return structs.replace(new, id=number)


def count(tx: Transaction, user_id: int, now: datetime) -> int:
    """Return how many live access tokens a user has."""
    statement = select(func.count()).select_from(auth_tokens).where(*_live(user_id, now))
    number: int = tx.execute(statement).scalar_one()
    return number


def find_all(tx: Transaction, user_id: int, now: datetime) -> list[AccessToken]:
    """Return the live access tokens of a user, the newest first."""
    newest_first = (auth_tokens.c.created_at.desc(), auth_tokens.c.id.desc())
    rows = tx.execute(select(auth_tokens).where(*_live(user_id, now)).order_by(*newest_first))
    return [
        AccessToken(
            row.id, row.label, scopes_of(row.scopes) or frozenset(), row.created_at, row.expires_at, row.used_at
        )
        for row in rows
    ]


def remove(tx: Transaction, user_id: int, number: int, now: datetime) -> bool:
    """Delete a live access token of this user by its number; False if there is none."""
    return tx.execute(delete(auth_tokens).where(*_live(user_id, now), auth_tokens.c.id == number)).rowcount > 0


def stale(tx: Transaction, digests: Sequence[str], before: datetime) -> list[int]:
    """Return the numbers of those tokens whose last use was written `before`, or never."""
    old = or_(auth_tokens.c.used_at.is_(None), auth_tokens.c.used_at < before)
    return [row.id for row in tx.execute(select(auth_tokens.c.id).where(auth_tokens.c.token.in_(digests), old))]


def touch(tx: Transaction, numbers: Sequence[int], now: datetime) -> None:
    """Write that these tokens were used."""
    tx.execute(update(auth_tokens).where(auth_tokens.c.id.in_(numbers)).values(used_at=now))


def delete_idle_sessions(tx: Transaction, before: datetime, limit: int) -> int:
    """Delete up to `limit` sessions whose last use was `before`, and return their number."""
    idle = (auth_tokens.c.scopes.is_(None), func.coalesce(auth_tokens.c.used_at, auth_tokens.c.created_at) < before)
    found = select(auth_tokens.c.id).where(*idle).limit(limit)
    return tx.execute(delete(auth_tokens).where(auth_tokens.c.id.in_(found))).rowcount


def begin_idle_times(tx: Transaction, now: datetime) -> None:
    """Have sessions whose use was never written count from now: nobody is logged out by the setting itself."""
    never = (auth_tokens.c.scopes.is_(None), auth_tokens.c.used_at.is_(None))
    tx.execute(update(auth_tokens).where(*never).values(used_at=now))


def _live(user_id: int, now: datetime) -> tuple[ColumnElement[bool], ...]:
    return (auth_tokens.c.user_id == user_id, auth_tokens.c.scopes.is_not(None), auth_tokens.c.expires_at > now)
