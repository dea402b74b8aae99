"""The mail addresses of users, as rows. Only verified ones get word."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.storage.tables import mail_addresses, users
from saleroom.kernel.mail import folded_address
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


class MailAddress(Struct, frozen=True):
    """A user's mail address. `language` is the tag of the language in which they gave it; it is `verified_at`, or None."""

    user_id: int
    address: str
    language: str | None
    given_at: datetime
    verified_at: datetime | None


def find(tx: Transaction, user_id: int) -> MailAddress | None:
    """Return a user's mail address, verified or not; None without one."""
    row = tx.execute(select(mail_addresses).where(mail_addresses.c.user_id == user_id)).first()
    return None if row is None else _address(row)


def give(tx: Transaction, user_id: int, address: str, language: str | None, now: datetime) -> None:
    """Store a user's mail address, not verified yet, in place of the one before."""
    values = {
        "address": address,
        "folded": folded_address(address),
        "language": language,
        "given_at": now,
        "verified_at": None,
    }
    _mark(tx, user_id, verified=False)
    mine = update(mail_addresses).where(mail_addresses.c.user_id == user_id)
    if tx.execute(mine.values(values)).rowcount:
        return
    try:
        with tx.connection.begin_nested():
            tx.execute(insert(mail_addresses), {"user_id": user_id, **values})
    except IntegrityError:
        tx.execute(mine.values(values))  # another request of the same user has stored one


def verify(tx: Transaction, user_id: int, address: str, now: datetime) -> bool:
    """Note that a user has shown to read mails to `address`; False if theirs is another one by now."""
    mine = (mail_addresses.c.user_id == user_id, mail_addresses.c.address == address)
    done = tx.execute(update(mail_addresses).where(*mine).values(verified_at=now)).rowcount == 1
    if done:
        _mark(tx, user_id, verified=True)
    return done


def users_with(tx: Transaction, address: str) -> list[MailAddress]:
    """Return the verified addresses that are this one, whatever the case of its letters: one for each user, in their order."""
    same = (mail_addresses.c.folded == folded_address(address), mail_addresses.c.verified_at.is_not(None))
    return [_address(row) for row in tx.execute(select(mail_addresses).where(*same).order_by(mail_addresses.c.user_id))]


def take_away(tx: Transaction, user_id: int) -> None:
    """Delete a user's mail address."""
    tx.execute(delete(mail_addresses).where(mail_addresses.c.user_id == user_id))
    _mark(tx, user_id, verified=False)


def speak(tx: Transaction, user_id: int, language: str) -> None:
    """Store the language in which a user gets mails, if there is an address for them."""
    mine = update(mail_addresses).where(mail_addresses.c.user_id == user_id)
    tx.execute(mine.values(language=language))


def verified(tx: Transaction, user_ids: Collection[int]) -> Mapping[int, MailAddress]:
    """Return the verified addresses of these users, by the user's number."""
    if not user_ids:
        return {}
    which = (bulk.among(tx, mail_addresses.c.user_id, user_ids), mail_addresses.c.verified_at.is_not(None))
    return {row.user_id: _address(row) for row in tx.execute(select(mail_addresses).where(*which))}


def _mark(tx: Transaction, user_id: int, *, verified: bool) -> None:
    """Note on the user, whose row every decision reads, whether they have a verified address."""
    tx.execute(update(users).where(users.c.id == user_id).values(mail_verified=verified))


def _address(row: Row[Any]) -> MailAddress:
    return MailAddress(row.user_id, row.address, row.language, row.given_at, row.verified_at)
