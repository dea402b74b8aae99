"""The erasure of a person, as rows: the account stays, under a pseudonym, because ledgers refer to its number."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, select, update

from saleroom.accounts.domain.accounts import Account, name_digest
from saleroom.accounts.storage.tables import invitations, mail_addresses, password_requests, users
from saleroom.outbox import store
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


def forget_words(tx: Transaction, user_id: int) -> None:
    """Delete what the house has written to a person, as long as their mail address is known.

    What went to the address stays if somebody else has it too: it may be theirs.
    """
    address = tx.execute(select(mail_addresses.c.address).where(mail_addresses.c.user_id == user_id)).scalar()
    others = select(mail_addresses.c.user_id).where(
        mail_addresses.c.address == address, mail_addresses.c.user_id != user_id
    )
    shared = address is not None and tx.execute(others.limit(1)).first() is not None
    store.forget(tx, user_id, None if shared else address)


def rename(tx: Transaction, user: Account, pseudonym: str, now: datetime) -> None:
    """Give a person a pseudonym in place of their name, also in words to others, and take from their row all that says more."""
    store.rename(tx, "winner", user.username, pseudonym)
    tx.execute(delete(password_requests).where(password_requests.c.typed == user.username))
    tx.execute(update(invitations).where(invitations.c.used_by_id == user.id).values(address=None))
    values = {
        "username": pseudonym,
        "former_name": name_digest(user.username),
        "erased_at": now,
        "password_digest": None,
        "role": "member",
        "seller_since": None,
        "barred": None,
        "barred_until": None,
        "barred_reason": None,
        "warning": None,
        "mail_verified": False,
    }
    tx.execute(update(users).where(users.c.id == user.id).values(values))


def is_erased(tx: Transaction, user_id: int) -> bool:
    """Return whether a person was erased."""
    erased = select(users.c.id).where(users.c.id == user_id, users.c.erased_at.is_not(None))
    return tx.execute(erased).first() is not None


def erased_among(tx: Transaction, user_ids: Collection[int]) -> set[int]:
    """Return those of these people who were erased."""
    if not user_ids:
        return set()
    erased = select(users.c.id).where(users.c.erased_at.is_not(None), bulk.among(tx, users.c.id, user_ids))
    return {*tx.execute(erased).scalars()}


def was_name(tx: Transaction, username: str) -> bool:
    """Return whether somebody who was erased had this name."""
    return (
        tx.execute(select(users.c.id).where(users.c.former_name == name_digest(username)).limit(1)).first() is not None
    )
