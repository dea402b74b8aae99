"""Users and their tokens, as rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from msgspec import Struct, structs
from sqlalchemy import Row, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.domain.accounts import Account, Holder, expiry
from saleroom.accounts.domain.rights import Role, Scope
from saleroom.accounts.domain.sanctions import Bar, Sanction, in_force
from saleroom.accounts.storage.tables import auth_tokens, users
from saleroom.kernel.errors import Unauthenticated
from saleroom.storage import bulk
from saleroom.storage.bulk import BulkLookup
from saleroom.storage.database import Note, Switch, Transaction, brief, ranked
from saleroom.storage.schema import read_instant
from saleroom.storage.turns import Rank

SESSIONS_USED: Note[str] = Note()
"""Digests of live tokens, as transactions find them; those of programs may be among them."""
MAIL_REQUIRED = Switch()
"""Whether somebody who bids or sells needs a verified mail address."""
ACCESS_TOKENS_USED: Note[str] = Note()
"""Digests of live tokens of programs."""


class Login(Struct, frozen=True):
    """A user with the password digest; a user without one cannot log in."""

    account: Account
    password_digest: str | None


class Token(Struct, frozen=True):
    """A stored token by its number and digest. `agent` is the name of its device, if known."""

    id: int
    digest: str
    created_at: datetime
    expires_at: datetime
    agent: str | None


def add_user(tx: Transaction, username: str, digest: str | None, now: datetime) -> Account | None:
    """Store a user, or return None if the username is taken."""
    row = {"username": username, "password_digest": digest, "created_at": now}
    try:
        with tx.connection.begin_nested():
            user_id = tx.execute(insert(users).returning(users.c.id), row).scalar_one()
    except IntegrityError:
        return None
    return Account(id=user_id, username=username, created_at=now)


def add_users_with_tokens(
    tx: Transaction, usernames: Sequence[str], digests: Sequence[str], now: datetime
) -> list[Account] | None:
    """Store a test user without a password for each name, with a token by its digest; None if a name or a token is taken.

    `digests` go with `usernames` one by one. Two statements, however many users. No house asks them for a mail address.
    """
    rows = [{"username": username, "created_at": now, "mail_verified": True} for username in usernames]
    try:
        with tx.connection.begin_nested():
            # The rows come back in any order. To keep their order, SQLAlchemy would insert them one by one on SQLite.
            added = tx.execute(insert(users).returning(users.c.username, users.c.id), rows)
            ids = {row.username: row.id for row in added}
            tokens = [
                {"user_id": ids[username], "token": digest, "created_at": now, "expires_at": expiry(now)}
                for username, digest in zip(usernames, digests, strict=True)
            ]
            tx.execute(insert(auth_tokens), tokens)
    except IntegrityError:
        return None
    return [Account(id=ids[username], username=username, created_at=now) for username in usernames]


@ranked(Rank.LOGIN)
@brief
def find_login(tx: Transaction, username: str) -> Login | None:
    """Return the first user with this name (docs/specification.md, "POST /login")."""
    statement = select(users).where(users.c.username == username).order_by(users.c.id).limit(1)
    row = tx.execute(statement).first()
    return None if row is None else Login(account_of(row), row.password_digest)


def login_of(tx: Transaction, user_id: int) -> Login:
    """Return a user by number, who exists."""
    row = tx.execute(select(users).where(users.c.id == user_id)).one()
    return Login(account_of(row), row.password_digest)


def find(tx: Transaction, user_id: int) -> Account:
    """Return the account of a user, who exists, as it is now."""
    return account_of(tx.execute(select(*ACCOUNT).where(users.c.id == user_id)).one(), tx.now())


def lock_digest(tx: Transaction, user_id: int) -> str | None:
    """Return a user's password digest, locked until the transaction ends."""
    found = select(users.c.password_digest).where(users.c.id == user_id).with_for_update(key_share=True)
    digest: str | None = tx.execute(found).scalar_one()
    return digest


def names_of(tx: Transaction, user_ids: Collection[int]) -> dict[int, str]:
    """Return the names of these users by their numbers."""
    if not user_ids:
        return {}
    found = select(users.c.id, users.c.username).where(bulk.among(tx, users.c.id, user_ids))
    return {row.id: row.username for row in tx.execute(found)}


def lock_user(tx: Transaction, user_id: int) -> None:
    """Lock a user until the transaction ends, so that nobody else counts or adds what belongs to them.

    Raises Unauthenticated for somebody who was erased since their token was read.
    """
    mine = (users.c.id == user_id, users.c.erased_at.is_(None))
    if tx.execute(select(users.c.id).where(*mine).with_for_update(key_share=True)).first() is None:
        raise Unauthenticated


def set_digest(tx: Transaction, user_id: int, digest: str) -> None:
    """Replace a user's password digest."""
    tx.execute(update(users).where(users.c.id == user_id).values(password_digest=digest))


def set_role(tx: Transaction, user_id: int, role: Role) -> None:
    """Give a user another role."""
    tx.execute(update(users).where(users.c.id == user_id).values(role=role.value))


def set_seller(tx: Transaction, user_id: int, since: datetime | None) -> None:
    """Note since when a user is approved as a seller; None takes it back."""
    tx.execute(update(users).where(users.c.id == user_id).values(seller_since=since))


def list_users(tx: Transaction) -> list[Account]:
    """Return all users, by name."""
    return [account_of(row) for row in tx.execute(select(*ACCOUNT).order_by(users.c.username))]


def add_token(
    tx: Transaction,
    user_id: int,
    digest: str,
    now: datetime,
    agent: str | None = None,
    passkey_id: int | None = None,
) -> bool:
    """Store a token issued at `now` by its digest; False if another token has the same value."""
    row = {
        "user_id": user_id,
        "token": digest,
        "created_at": now,
        "expires_at": expiry(now),
        "agent": agent,
        "passkey_id": passkey_id,
    }
    try:
        with tx.connection.begin_nested():
            tx.execute(insert(auth_tokens), row)
    except IntegrityError:
        return False
    return True


def sessions(tx: Transaction, user_id: int, now: datetime) -> list[Token]:
    """Return the live tokens of a user's logins, the newest first."""
    live = select(auth_tokens).where(*_SESSION, auth_tokens.c.user_id == user_id, auth_tokens.c.expires_at > now)
    rows = tx.execute(live.order_by(auth_tokens.c.created_at.desc(), auth_tokens.c.id.desc()))
    return [Token(row.id, row.token, row.created_at, row.expires_at, row.agent) for row in rows]


def has_session_of(tx: Transaction, user_id: int, agent: str | None, now: datetime) -> bool:
    """Return whether a device of this name is logged in as a user."""
    mine = (auth_tokens.c.user_id == user_id, auth_tokens.c.expires_at > now)
    same = auth_tokens.c.agent.is_not_distinct_from(agent)
    return tx.execute(select(auth_tokens.c.id).where(*mine, same).limit(1)).first() is not None


def delete_session(tx: Transaction, user_id: int, token_id: int, now: datetime) -> bool:
    """Delete a live token of a login of this user by its number; False if there is none."""
    mine = (*_SESSION, auth_tokens.c.id == token_id, auth_tokens.c.user_id == user_id, auth_tokens.c.expires_at > now)
    return tx.execute(delete(auth_tokens).where(*mine)).rowcount > 0


def delete_oldest_sessions(tx: Transaction, user_id: int, but: int) -> None:
    """Delete all tokens of a user's logins but the newest `but`."""
    newest_first = select(auth_tokens.c.id).where(*_SESSION, auth_tokens.c.user_id == user_id)
    older = newest_first.order_by(auth_tokens.c.created_at.desc(), auth_tokens.c.id.desc()).offset(but)
    tx.execute(delete(auth_tokens).where(auth_tokens.c.id.in_(older)))


def delete_sessions(tx: Transaction, user_id: int, keep: str = "") -> int:
    """Delete all tokens of a user, those of programs too, but the one with the digest `keep`; return how many there were."""
    return tx.execute(delete(auth_tokens).where(auth_tokens.c.user_id == user_id, auth_tokens.c.token != keep)).rowcount


def delete_all_sessions(tx: Transaction) -> int:
    """Delete all tokens of all users, and return how many there were."""
    return tx.execute(delete(auth_tokens)).rowcount


def holders_by_token(tx: Transaction, digests: Iterable[str], now: datetime) -> dict[str, Holder]:
    """Return the users of live tokens by digest. A token is dead from the instant `expires_at`."""
    asked = tx.is_on(MAIL_REQUIRED)
    found = {
        digest: Holder(
            id=user_id,
            username=name,
            role=_ROLES[role],
            scopes=scopes_of(scopes),
            bar=None if barred is None else _bar(barred, _until(until), reason, now),
            needs_mail=asked and not mail_verified,
        )
        for digest, user_id, name, role, scopes, barred, until, reason, mail_verified in _LIVE_TOKENS(
            tx, set(digests), now=now
        )
    }
    tx.note(SESSIONS_USED, found)
    if programs := [digest for digest, holder in found.items() if holder.scopes is not None]:
        tx.note(ACCESS_TOKENS_USED, programs)
    return found


def live_digests(tx: Transaction, digests: Collection[str], now: datetime) -> list[str]:
    """Return those of the digests that belong to live tokens, and note no use of them."""
    live = select(auth_tokens.c.token).where(auth_tokens.c.expires_at > now)
    return list(tx.execute(live.where(bulk.among(tx, auth_tokens.c.token, digests))).scalars())


def account_by_token(tx: Transaction, digest: str, now: datetime) -> Account | None:
    """Return the account of a live token, as `holders_by_token` does."""
    statement = (
        select(*ACCOUNT, users.c.mail_verified, auth_tokens.c.scopes, auth_tokens.c.passkey_id)
        .join_from(auth_tokens, users)
        .where(auth_tokens.c.token == digest, auth_tokens.c.expires_at > now)
    )
    row = tx.execute(statement).first()
    if row is None:
        return None
    scopes = scopes_of(row.scopes)
    tx.note(SESSIONS_USED if scopes is None else ACCESS_TOKENS_USED, [digest])
    account = account_of(row, now, scopes, needs_mail=tx.is_on(MAIL_REQUIRED) and not row.mail_verified)
    return account if row.passkey_id is None else structs.replace(account, passkey_id=row.passkey_id)


def delete_token(tx: Transaction, digest: str) -> bool:
    """Delete one token; False if there is none."""
    return tx.execute(delete(auth_tokens).where(auth_tokens.c.token == digest)).rowcount > 0


def sweep_tokens(tx: Transaction, now: datetime, limit: int) -> int:
    """Delete up to `limit` expired tokens and return their number."""
    expired = select(auth_tokens.c.id).where(auth_tokens.c.expires_at <= now).limit(limit)
    return tx.execute(delete(auth_tokens).where(auth_tokens.c.id.in_(expired))).rowcount


@lru_cache(maxsize=64)
def scopes_of(text: str | None) -> frozenset[Scope] | None:
    """Return the scopes in their column; None for a token of a login."""
    return None if text is None else frozenset(map(Scope, text.split()))


def account_of(
    row: Row[Any], now: datetime | None = None, scopes: frozenset[Scope] | None = None, *, needs_mail: bool = False
) -> Account:
    """Return the account of a row that has the columns `ACCOUNT`, as it is at `now`; without it, an ended bar counts."""
    return Account(
        scopes=scopes,
        id=row.id,
        username=row.username,
        role=_ROLES[row.role],
        bar=_bar(row.barred, row.barred_until, row.barred_reason, now),
        created_at=row.created_at,
        seller_since=row.seller_since,
        warning=row.warning,
        needs_mail=needs_mail,
    )


def _bar(kind: str | None, until: datetime | None, reason: str | None, now: datetime | None) -> Bar | None:
    bar = None if kind is None else Bar(Sanction(kind), reason or "", until)
    return bar if now is None else in_force(bar, now)


def _until(text: str | None) -> datetime | None:
    """Return an instant that came as JSON."""
    return read_instant(datetime.fromisoformat(text)) if text else None


_SESSION = (auth_tokens.c.scopes.is_(None),)
_ROLES = {role.value: role for role in Role}
ACCOUNT = (
    users.c.id,
    users.c.username,
    users.c.role,
    users.c.barred,
    users.c.barred_until,
    users.c.barred_reason,
    users.c.created_at,
    users.c.seller_since,
    users.c.warning,
)
_LIVE_TOKENS = BulkLookup(
    tuple[Any, ...],
    select(
        auth_tokens.c.token,
        auth_tokens.c.user_id,
        users.c.username,
        users.c.role,
        auth_tokens.c.scopes,
        users.c.barred,
        users.c.barred_until,
        users.c.barred_reason,
        users.c.mail_verified,
    )
    .join_from(auth_tokens, users)
    .where(auth_tokens.c.expires_at > bindparam("now")),
    auth_tokens.c.token,
)
