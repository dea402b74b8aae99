"""Links that go out by mail, and requests for them, as rows."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, delete, insert, select, update

from saleroom.accounts.domain.mails import ACCOUNT_LIMITS, DAY, LIFETIMES, MailLimit, MailLink, Purpose, mailbox
from saleroom.accounts.storage import rate_limits
from saleroom.accounts.storage.rate_limits import Count
from saleroom.accounts.storage.tables import mail_links, password_requests
from saleroom.storage.database import Transaction

RETENTION = 2 * DAY
"""Longer than any link is good for, and than the limits count."""
NUMBER_MIN = 10**17
LOCK_KEPT = timedelta(hours=1)
"""How long the row stays that mailboxes are locked by; it is of no use after the transaction."""


class PasswordRequest(Struct, frozen=True):
    """A name or a mail address that was typed by somebody who has forgotten the password."""

    id: int
    typed: str
    language: str | None
    network: str | None


class Origin(Struct, frozen=True):
    """Where a request for a link comes from: a digest of the network and the user, and whether they had logged in there."""

    network: str
    is_known: bool


def add(
    tx: Transaction, user_id: int, purpose: Purpose, address: str, now: datetime, origin: Origin | None = None
) -> MailLink:
    """Store a new link in place of the older ones of this user for the same purpose.

    Those that a known network asked for stay if this one comes from elsewhere: a stranger ends no link of the user's.
    The number is drawn by chance. If they were counted, two links of one's own would tell whether somebody else got one
    between them, and so whether the house knows an address.
    """
    end(tx, user_id, purpose, now, known=origin is not None and origin.is_known)
    values = {
        "id": NUMBER_MIN + secrets.randbelow(9 * NUMBER_MIN),
        "user_id": user_id,
        "purpose": purpose.value,
        "address": address,
        "made_at": now,
        "expires_at": now + LIFETIMES[purpose],
        "network": None if origin is None else origin.network,
        "is_known": origin is not None and origin.is_known,
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
    row = tx.execute(mine.order_by(mail_links.c.made_at.desc()).limit(1)).first()
    return None if row is None else _link(row)


def use(tx: Transaction, number: int, now: datetime) -> bool:
    """Use a link up; False if it is used up already, also by a transaction that has just committed."""
    unused = (mail_links.c.id == number, mail_links.c.used_at.is_(None))
    return tx.execute(update(mail_links).where(*unused).values(used_at=now)).rowcount == 1


def end(tx: Transaction, user_id: int, purpose: Purpose, now: datetime, *, known: bool = True) -> None:
    """End all links of a user for this purpose; unless `known`, only those that no known network asked for."""
    unused = [mail_links.c.user_id == user_id, mail_links.c.purpose == purpose.value, mail_links.c.used_at.is_(None)]
    if not known:
        unused.append(mail_links.c.is_known.is_(False))
    tx.execute(update(mail_links).where(*unused).values(used_at=now))


def account_wait(tx: Transaction, user_id: int, purpose: Purpose, now: datetime) -> float:
    """Return in how many seconds a user may cause a further link for this purpose; 0 for at once.

    Links that known networks have asked for do not count.
    """
    mine = (*_counted(purpose), mail_links.c.user_id == user_id)
    return max(_wait(tx, mine, limit, now) for limit in ACCOUNT_LIMITS)


def network_wait(tx: Transaction, origin: Origin, limits: tuple[MailLimit, ...], now: datetime) -> float:
    """Return in how many seconds a network may cause a further link for a user; 0 for at once."""
    return max(_wait(tx, (mail_links.c.network == origin.network,), limit, now) for limit in limits)


def mailbox_wait(
    tx: Transaction, address: str, purpose: Purpose, limits: tuple[MailLimit, ...], now: datetime
) -> float:
    """Return in how many seconds the mailbox of an address may get a further link for this purpose; 0 for at once.

    The mailbox is locked until the transaction ends: otherwise requests of several accounts at once would each find room.
    Links that known networks have asked for do not count.
    """
    name = mailbox(address)
    # Storing the row locks it, also if a sweeper deletes it in the same moment.
    rate_limits.put(tx, rate_limits.digest("mailbox", name), Count(0, now), until=now + LOCK_KEPT)
    theirs = (*_counted(purpose), mail_links.c.mailbox == name)
    return max(_wait(tx, theirs, limit, now) for limit in limits)


def sweep(tx: Transaction, now: datetime, limit: int) -> int:
    """Delete up to `limit` old links, and return how many."""
    old = select(mail_links.c.id).where(mail_links.c.made_at < now - RETENTION).limit(limit)
    return tx.execute(delete(mail_links).where(mail_links.c.id.in_(old))).rowcount


def ask(tx: Transaction, typed: str, language: str | None, now: datetime, network: str | None = None) -> None:
    """Store what somebody typed who has forgotten the password, and the network that they asked from."""
    row = {"typed": typed, "language": language, "asked_at": now, "network": network}
    tx.execute(insert(password_requests), row)


def asked(tx: Transaction, limit: int) -> list[PasswordRequest]:
    """Return the requests that have waited the longest."""
    oldest = select(password_requests).order_by(password_requests.c.id).limit(limit)
    return [PasswordRequest(row.id, row.typed, row.language, row.network) for row in tx.execute(oldest)]


def take(tx: Transaction, number: int) -> bool:
    """Delete a request; False if another process has taken it."""
    return tx.execute(delete(password_requests).where(password_requests.c.id == number)).rowcount == 1


def _counted(purpose: Purpose) -> tuple[Any, ...]:
    return (mail_links.c.purpose == purpose.value, mail_links.c.is_known.is_(False))


def _wait(tx: Transaction, whose: tuple[Any, ...], limit: MailLimit, now: datetime) -> float:
    """Return for how many seconds a limit holds on: until the oldest of the last `most` links no longer counts."""
    recent = select(mail_links.c.made_at).where(*whose, mail_links.c.made_at > now - limit.within)
    found = tx.execute(recent.order_by(mail_links.c.made_at.desc()).offset(limit.most - 1).limit(1)).scalar()
    return 0 if found is None else (found + limit.within - now).total_seconds()


def _link(row: Row[Any]) -> MailLink:
    values = {name: getattr(row, name) for name in MailLink.__struct_fields__}
    return MailLink(**values | {"purpose": Purpose(row.purpose)})
