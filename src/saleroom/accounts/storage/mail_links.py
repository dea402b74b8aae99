"""Links that go out by mail, and requests for them, as rows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, delete, insert, select, update

from saleroom.accounts.domain.mails import DAY, LIFETIMES, MailLimit, MailLink, Purpose, mailbox
from saleroom.accounts.storage.tables import mail_links, password_requests
from saleroom.storage.database import Transaction

RETENTION = 2 * DAY
"""Longer than any link is good for, and than the limits count."""


class PasswordRequest(Struct, frozen=True):
    """A name or a mail address that was typed by somebody who has forgotten the password."""

    id: int
    typed: str
    language: str | None


def add(tx: Transaction, user_id: int, purpose: Purpose, address: str, now: datetime) -> MailLink:
    """Store a new link in place of all older ones of this user for the same purpose."""
    end(tx, user_id, purpose, now)
    values = {
        "user_id": user_id,
        "purpose": purpose.value,
        "address": address,
        "made_at": now,
        "expires_at": now + LIFETIMES[purpose],
    }
    row = tx.execute(insert(mail_links).returning(*mail_links.c), values | {"mailbox": mailbox(address)}).one()
    return _link(row)


def find(tx: Transaction, number: int) -> MailLink | None:
    """Return a link by its number."""
    row = tx.execute(select(mail_links).where(mail_links.c.id == number)).first()
    return None if row is None else _link(row)


def waiting(tx: Transaction, user_id: int, purpose: Purpose, now: datetime) -> MailLink | None:
    """Return a user's link for this purpose that is still good."""
    good = (mail_links.c.used_at.is_(None), mail_links.c.expires_at > now)
    mine = select(mail_links).where(mail_links.c.user_id == user_id, mail_links.c.purpose == purpose.value, *good)
    row = tx.execute(mine.order_by(mail_links.c.id.desc()).limit(1)).first()
    return None if row is None else _link(row)


def use(tx: Transaction, number: int, now: datetime) -> bool:
    """Use a link up; False if it is used up already, also by a transaction that has just committed."""
    unused = (mail_links.c.id == number, mail_links.c.used_at.is_(None))
    return tx.execute(update(mail_links).where(*unused).values(used_at=now)).rowcount == 1


def end(tx: Transaction, user_id: int, purpose: Purpose, now: datetime) -> None:
    """End all links of a user for this purpose."""
    unused = (mail_links.c.user_id == user_id, mail_links.c.purpose == purpose.value, mail_links.c.used_at.is_(None))
    tx.execute(update(mail_links).where(*unused).values(used_at=now))


def account_wait(
    tx: Transaction, user_id: int, purpose: Purpose, limits: tuple[MailLimit, ...], now: datetime
) -> float:
    """Return in how many seconds a user may cause a further link for this purpose; 0 for at once."""
    mine = (mail_links.c.user_id == user_id, mail_links.c.purpose == purpose.value)
    return max(_wait(tx, mine, limit, now) for limit in limits)


def mailbox_wait(tx: Transaction, address: str, limits: tuple[MailLimit, ...], now: datetime) -> float:
    """Return in how many seconds the mailbox of an address may get a further link; 0 for at once."""
    return max(_wait(tx, (mail_links.c.mailbox == mailbox(address),), limit, now) for limit in limits)


def delete_all(tx: Transaction, user_id: int) -> None:
    """Delete all links of a user."""
    tx.execute(delete(mail_links).where(mail_links.c.user_id == user_id))


def sweep(tx: Transaction, now: datetime, limit: int) -> int:
    """Delete up to `limit` old links, and return how many."""
    old = select(mail_links.c.id).where(mail_links.c.made_at < now - RETENTION).limit(limit)
    return tx.execute(delete(mail_links).where(mail_links.c.id.in_(old))).rowcount


def ask(tx: Transaction, typed: str, language: str | None, now: datetime) -> None:
    """Store what somebody typed who has forgotten the password."""
    tx.execute(insert(password_requests), {"typed": typed, "language": language, "asked_at": now})


def asked(tx: Transaction, limit: int) -> list[PasswordRequest]:
    """Return the requests that have waited the longest."""
    oldest = select(password_requests).order_by(password_requests.c.id).limit(limit)
    return [PasswordRequest(row.id, row.typed, row.language) for row in tx.execute(oldest)]


def take(tx: Transaction, number: int) -> bool:
    """Delete a request; False if another process has taken it."""
    return tx.execute(delete(password_requests).where(password_requests.c.id == number)).rowcount == 1


def _wait(tx: Transaction, whose: tuple[Any, ...], limit: MailLimit, now: datetime) -> float:
    """Return for how many seconds a limit holds on: until the oldest of the last `most` links no longer counts."""
    recent = select(mail_links.c.made_at).where(*whose, mail_links.c.made_at > now - limit.within)
    found = tx.execute(recent.order_by(mail_links.c.made_at.desc()).offset(limit.most - 1).limit(1)).scalar()
    return 0 if found is None else (found + limit.within - now).total_seconds()


def _link(row: Row[Any]) -> MailLink:
    values = {name: getattr(row, name) for name in MailLink.__struct_fields__}
    return MailLink(**values | {"purpose": Purpose(row.purpose)})
