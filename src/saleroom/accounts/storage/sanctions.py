"""The sanctions of users, as rows, and what follows from them in the rows of the users."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, func, insert, select, update

from saleroom.accounts.domain.sanctions import BARS, Bar, Sanction
from saleroom.accounts.storage.tables import sanctions, users
from saleroom.storage import bulk
from saleroom.storage.database import Transaction

NONE = {"barred": None, "barred_until": None, "barred_reason": None}


class Record(Struct, frozen=True, kw_only=True):
    """A sanction as it was imposed, and how it ended early, if it did. `by` is None for the command line of the house."""

    kind: Sanction
    reason: str
    by: str | None
    at: datetime
    until: datetime | None
    ended_at: datetime | None
    ended_by: str | None
    ended_reason: str | None


def warn(tx: Transaction, user_id: int, reason: str, by_id: int | None, now: datetime) -> int:
    """Store a warning, which the user sees until they have read it; return its number."""
    tx.execute(update(users).where(users.c.id == user_id).values(warning=reason))
    return _add(tx, user_id=user_id, kind=Sanction.WARNING.value, reason=reason, by_id=by_id, at=now)


def read_warnings(tx: Transaction, user_id: int, now: datetime) -> None:
    """Note that a user has read all their warnings."""
    tx.execute(update(users).where(users.c.id == user_id).values(warning=None))
    unread = (sanctions.c.kind == Sanction.WARNING.value, sanctions.c.ended_at.is_(None))
    mine = update(sanctions).where(sanctions.c.user_id == user_id, *unread)
    tx.execute(mine.values(ended_at=now, ended_by_id=user_id))


def bar(tx: Transaction, user_id: int, new: Bar, by_id: int | None, now: datetime, subject: str | None = None) -> int:
    """Suspend or ban a user, in place of what is in force; return the number of the sanction."""
    _end(tx, user_id, by_id, now, None)
    values = {"barred": new.kind.value, "barred_until": new.until, "barred_reason": new.reason}
    tx.execute(update(users).where(users.c.id == user_id).values(values))
    row = {"kind": new.kind.value, "reason": new.reason, "until": new.until, "subject": subject}
    return _add(tx, user_id=user_id, by_id=by_id, at=now, **row)


def strike(tx: Transaction, user_id: int, reason: str, subject: str, by_id: int | None, now: datetime) -> None:
    """Store a strike, for the `subject` that was not paid."""
    kind = Sanction.STRIKE.value
    _add(tx, user_id=user_id, kind=kind, reason=reason, by_id=by_id, at=now, subject=subject)


def give_strikes(tx: Transaction, source: int, target: int) -> int:
    """Make the strikes of one user those of another, who is the same person; return how many there were."""
    theirs = (sanctions.c.user_id == source, sanctions.c.kind == Sanction.STRIKE.value)
    return tx.execute(update(sanctions).where(*theirs).values(user_id=target)).rowcount


def struck(tx: Transaction, user_id: int) -> list[str]:
    """Return the subjects of the strikes of a user that were not forgiven."""
    return struck_all(tx, [user_id]).get(user_id, [])


def struck_all(tx: Transaction, user_ids: Collection[int]) -> dict[int, list[str]]:
    """Return the subjects of the strikes of these users that were not forgiven; users without one are left out."""
    found = select(sanctions.c.user_id, sanctions.c.subject).where(
        bulk.among(tx, sanctions.c.user_id, user_ids), *_STANDS
    )
    subjects: dict[int, list[str]] = {}
    for row in tx.execute(found.order_by(sanctions.c.id)):
        subjects.setdefault(row.user_id, []).append(row.subject)
    return subjects


def ever_struck(tx: Transaction, subjects: Collection[str]) -> set[str]:
    """Return those of these subjects that strikes were given for, also such as were forgiven."""
    if not subjects:
        return set()
    given = select(sanctions.c.subject).where(
        sanctions.c.kind == Sanction.STRIKE.value, bulk.among(tx, sanctions.c.subject, subjects)
    )
    return {*tx.execute(given).scalars()}


def strikes(tx: Transaction, user_ids: Collection[int]) -> dict[int, int]:
    """Return how many strikes these users have that were not forgiven; those without one are left out."""
    found = select(sanctions.c.user_id, func.count().label("found")).where(
        bulk.among(tx, sanctions.c.user_id, user_ids), *_STANDS
    )
    return {row.user_id: int(row.found) for row in tx.execute(found.group_by(sanctions.c.user_id))}


def forgive(tx: Transaction, user_id: int, subject: str, by_id: int, now: datetime, reason: str) -> bool:
    """Forgive the strike that a user has for a subject. Return whether there was one."""
    mine = update(sanctions).where(sanctions.c.user_id == user_id, sanctions.c.subject == subject, *_STANDS)
    return tx.execute(mine.values(ended_at=now, ended_by_id=by_id, ended_reason=reason)).rowcount > 0


def is_barred_for(tx: Transaction, user_id: int, subject: str) -> bool:
    """Return whether what bars a user now was imposed for a subject."""
    which = (sanctions.c.kind.in_(BARS), sanctions.c.ended_at.is_(None), sanctions.c.subject == subject)
    found = select(sanctions.c.id).where(sanctions.c.user_id == user_id, *which)
    return tx.execute(found.limit(1)).first() is not None


def barred_for(tx: Transaction, subject: str) -> list[int]:
    """Return the numbers of the users who are barred for a subject."""
    which = (sanctions.c.kind.in_(BARS), sanctions.c.ended_at.is_(None), sanctions.c.subject == subject)
    return [*tx.execute(select(sanctions.c.user_id).where(*which).distinct().order_by(sanctions.c.user_id)).scalars()]


_STANDS = (sanctions.c.kind == Sanction.STRIKE.value, sanctions.c.ended_at.is_(None))
"""Strikes that were not forgiven."""


def lift(tx: Transaction, user_id: int, by_id: int | None, now: datetime, reason: str) -> None:
    """Lift the suspension or the ban of a user."""
    _end(tx, user_id, by_id, now, reason)
    tx.execute(update(users).where(users.c.id == user_id).values(NONE))


def history(tx: Transaction, user_id: int, limit: int) -> list[Record]:
    """Return the last `limit` sanctions of a user, the latest first."""
    by, ended_by = users.alias("by"), users.alias("ended_by")
    statement = (
        select(sanctions, by.c.username.label("by"), ended_by.c.username.label("ended_by"))
        .outerjoin(by, by.c.id == sanctions.c.by_id)
        .outerjoin(ended_by, ended_by.c.id == sanctions.c.ended_by_id)
        .where(sanctions.c.user_id == user_id)
        .order_by(sanctions.c.id.desc())
        .limit(limit)
    )
    return [_record(row) for row in tx.execute(statement)]


def _end(tx: Transaction, user_id: int, by_id: int | None, now: datetime, reason: str | None) -> None:
    """End what bars a user before its time, if anything does."""
    barring = (sanctions.c.kind.in_(BARS), sanctions.c.ended_at.is_(None))
    open_ended = (sanctions.c.until.is_(None)) | (sanctions.c.until > now)
    mine = update(sanctions).where(sanctions.c.user_id == user_id, *barring, open_ended)
    tx.execute(mine.values(ended_at=now, ended_by_id=by_id, ended_reason=reason))


def _add(tx: Transaction, **row: Any) -> int:
    number: int = tx.execute(insert(sanctions).returning(sanctions.c.id), row).scalar_one()
    return number


def _record(row: Row[Any]) -> Record:
    values = {name: getattr(row, name) for name in Record.__struct_fields__}
    return Record(**values | {"kind": Sanction(row.kind)})
