"""Values that all processes of a house share and nobody guesses, as rows: its secret, and the mark of its store of photos."""

from __future__ import annotations

import secrets

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from saleroom.storage import tables
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

SECRET_BYTES = 32
_NAME = "house"
PHOTO_STORE = "photo store"


def find(tx: Transaction, name: str = _NAME) -> str | None:
    """Return the value of this name, by default the secret of the house, in hexadecimal digits; None if there is none."""
    mine = tables.secrets.c.name == name
    found: str | None = tx.execute(select(tables.secrets.c.value).where(mine)).scalar_one_or_none()
    return found


def find_or_make(tx: Transaction, name: str = _NAME) -> str:
    """Return the value of this name, by default the secret of the house; make it if there is none."""
    value = find(tx, name)
    if value is None:
        value = secrets.token_hex(SECRET_BYTES)
        try:
            tx.execute(insert(tables.secrets), {"name": name, "value": value})
        except IntegrityError as error:
            raise TryAgain("another process made the secret") from error
    return value


def renew(tx: Transaction) -> str:
    """Put another secret in the place of the one that is there, and return it."""
    lock(tx)
    value = secrets.token_hex(SECRET_BYTES)
    tx.execute(update(tables.secrets).where(tables.secrets.c.name == _NAME).values(value=value))
    return value


def lock(tx: Transaction) -> None:
    """Wait until no other transaction has locked the secret, and lock it until this one ends."""
    tx.execute(select(tables.secrets.c.value).where(tables.secrets.c.name == _NAME).with_for_update())
