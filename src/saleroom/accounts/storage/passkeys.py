"""Passkeys of users, and the challenges that were used, as rows."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, structs
from sqlalchemy import Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.storage.tables import auth_tokens, passkeys, used_challenges
from saleroom.storage.database import Transaction, brief, ranked
from saleroom.storage.turns import Rank


class PasskeyRow(Struct, frozen=True, kw_only=True):
    """A passkey as it is added. `party` is the name that the device bound it to."""

    user_id: int
    credential_id: bytes
    public_key: bytes
    handle: bytes
    party: str
    sign_count: int
    name: str
    created_at: datetime


class Passkey(PasskeyRow, frozen=True, kw_only=True):
    """A passkey of a user. `used_at` is None until its first use."""

    id: int
    used_at: datetime | None


def find_all(tx: Transaction, user_id: int) -> list[Passkey]:
    """Return the passkeys of a user, the newest first."""
    found = select(passkeys).where(passkeys.c.user_id == user_id)
    return [_passkey(row) for row in tx.execute(found.order_by(passkeys.c.created_at.desc(), passkeys.c.id.desc()))]


def count(tx: Transaction, user_id: int) -> int:
    """Return how many passkeys a user has."""
    statement = select(func.count()).select_from(passkeys).where(passkeys.c.user_id == user_id)
    number: int = tx.execute(statement).scalar_one()
    return number


@ranked(Rank.LOGIN)
@brief
def find_by_credential(tx: Transaction, credential_id: bytes) -> Passkey | None:
    """Return the passkey that its device knows by this number."""
    row = tx.execute(select(passkeys).where(passkeys.c.credential_id == credential_id)).first()
    return None if row is None else _passkey(row)


def find(tx: Transaction, number: int) -> Passkey | None:
    """Return a passkey by its number. Anyone who changes it has locked its user."""
    row = tx.execute(select(passkeys).where(passkeys.c.id == number)).first()
    return None if row is None else _passkey(row)


def add(tx: Transaction, made: PasskeyRow) -> bool:
    """Store a passkey; False if any user has one with this number already."""
    try:
        with tx.connection.begin_nested():
            tx.execute(insert(passkeys), structs.asdict(made))
    except IntegrityError:
        return False
    return True


def used(tx: Transaction, number: int, sign_count: int, now: datetime) -> None:
    """Remember when a passkey was used, and its counter."""
    tx.execute(update(passkeys).where(passkeys.c.id == number).values(sign_count=sign_count, used_at=now))


def remove(tx: Transaction, user_id: int, number: int) -> str | None:
    """Delete a passkey of this user and return its name, or None. Sessions that it has opened go on as any others do."""
    mine = (passkeys.c.id == number, passkeys.c.user_id == user_id)
    name: str | None = tx.execute(delete(passkeys).where(*mine).returning(passkeys.c.name)).scalar()
    if name is not None:
        opened = (auth_tokens.c.user_id == user_id, auth_tokens.c.passkey_id == number)
        tx.execute(update(auth_tokens).where(*opened).values(passkey_id=None))
    return name


def remove_all(tx: Transaction, user_id: int) -> int:
    """Delete all passkeys of a user, and return how many there were."""
    opened = (auth_tokens.c.user_id == user_id, auth_tokens.c.passkey_id.is_not(None))
    tx.execute(update(auth_tokens).where(*opened).values(passkey_id=None))
    return tx.execute(delete(passkeys).where(passkeys.c.user_id == user_id)).rowcount


def use_challenge(tx: Transaction, digest: str, expires_at: datetime) -> bool:
    """Use up a challenge by its digest; False if it was used before, in any process."""
    try:
        with tx.connection.begin_nested():
            tx.execute(insert(used_challenges), {"digest": digest, "expires_at": expires_at})
    except IntegrityError:
        return False
    return True


def sweep(tx: Transaction, now: datetime, limit: int) -> int:
    """Delete up to `limit` used challenges that have expired, and return how many."""
    old = select(used_challenges.c.digest).where(used_challenges.c.expires_at <= now).limit(limit)
    return tx.execute(delete(used_challenges).where(used_challenges.c.digest.in_(old))).rowcount


def _passkey(row: Row[tuple[object, ...]]) -> Passkey:
    return Passkey(**{name: getattr(row, name) for name in Passkey.__struct_fields__})
