"""Private links to calendars, as rows."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, insert, or_, select

from saleroom.accounts.storage.tables import users
from saleroom.bidding.storage.tables import calendar_links
from saleroom.storage.database import Transaction


def put(tx: Transaction, user_id: int, digest: str, now: datetime) -> None:
    """Let a link lead to the calendar of a user, whose row is locked, in place of the one before."""
    remove(tx, user_id)
    tx.execute(insert(calendar_links), {"user_id": user_id, "token": digest, "created_at": now})


def remove(tx: Transaction, user_id: int) -> None:
    """End the link of a user, if there is one."""
    tx.execute(delete(calendar_links).where(calendar_links.c.user_id == user_id))


def made_at(tx: Transaction, user_id: int) -> datetime | None:
    """Return when the link of a user was made; None without one."""
    return tx.execute(select(calendar_links.c.created_at).where(calendar_links.c.user_id == user_id)).scalar()


def owner(tx: Transaction, digest: str) -> int | None:
    """Return the user whose link this is; None if it is nobody's, or the user is suspended or banned."""
    found = select(calendar_links.c.user_id).join(users, users.c.id == calendar_links.c.user_id)
    free = or_(users.c.barred.is_(None), users.c.barred_until <= tx.now())
    return tx.execute(found.where(calendar_links.c.token == digest, free)).scalar()
