"""Invitations to roles, as rows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update

from saleroom.accounts.domain.invitations import LIFETIME, Invitation
from saleroom.accounts.domain.rights import Role
from saleroom.accounts.storage.tables import invitations, users
from saleroom.storage.database import Transaction

RETENTION = timedelta(days=60)
_inviters, _takers = users.alias("inviters"), users.alias("takers")
_FOUND = (
    select(*invitations.c, _inviters.c.username.label("by"), _takers.c.username.label("used_by"))
    .outerjoin(_inviters, _inviters.c.id == invitations.c.by_id)
    .outerjoin(_takers, _takers.c.id == invitations.c.used_by_id)
)


def add(tx: Transaction, role: Role, by_id: int | None, address: str | None, now: datetime) -> Invitation:
    """Store a new invitation."""
    values = {
        "role": role.value,
        "by_id": by_id,
        "address": address,
        "made_at": now,
        "expires_at": now + LIFETIME,
    }
    number = tx.execute(insert(invitations).returning(invitations.c.id), values).scalar_one()
    return _invitation(tx.execute(_FOUND.where(invitations.c.id == number)).one())


def find(tx: Transaction, number: int) -> Invitation | None:
    """Return an invitation by its number."""
    row = tx.execute(_FOUND.where(invitations.c.id == number)).first()
    return None if row is None else _invitation(row)


def latest(tx: Transaction, limit: int) -> list[Invitation]:
    """Return the invitations that were made last, the latest first."""
    return [_invitation(row) for row in tx.execute(_FOUND.order_by(invitations.c.id.desc()).limit(limit))]


def made_since(tx: Transaction, by_id: int, since: datetime) -> int:
    """Return how many invitations a user has made since then."""
    mine = (invitations.c.by_id == by_id, invitations.c.made_at > since)
    return int(tx.execute(select(func.count()).select_from(invitations).where(*mine)).scalar_one())


def use(tx: Transaction, number: int, by_id: int, now: datetime) -> bool:
    """Use an invitation up; False if it is used or revoked, also by a transaction that has just committed."""
    return tx.execute(_open(number).values(used_at=now, used_by_id=by_id)).rowcount == 1


def revoke(tx: Transaction, number: int, now: datetime) -> bool:
    """Revoke an invitation; False if it is used or revoked, also by a transaction that has just committed."""
    return tx.execute(_open(number).values(revoked_at=now)).rowcount == 1


def sweep(tx: Transaction, now: datetime, limit: int) -> int:
    """Delete up to `limit` old invitations, and return how many."""
    old = select(invitations.c.id).where(invitations.c.made_at < now - RETENTION).limit(limit)
    return tx.execute(delete(invitations).where(invitations.c.id.in_(old))).rowcount


def _open(number: int) -> Any:
    return update(invitations).where(
        invitations.c.id == number, invitations.c.used_at.is_(None), invitations.c.revoked_at.is_(None)
    )


def _invitation(row: Row[Any]) -> Invitation:
    values = {name: getattr(row, name) for name in Invitation.__struct_fields__}
    return Invitation(**values | {"role": Role(row.role)})
