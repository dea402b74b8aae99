"""The keys that receipts are signed with, as rows."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from sqlalchemy import insert, select, update

from saleroom.bidding.storage.tables import signing_keys
from saleroom.storage.database import Transaction


class KeyRow(Struct, frozen=True):
    """A key: `kid` is its thumbprint (RFC 7638), both halves are raw Ed25519 in base64url; `private` may be elsewhere."""

    kid: str
    public: str
    private: str | None
    created_at: datetime


def all_keys(tx: Transaction) -> list[KeyRow]:
    """Return every key that has ever signed, the newest first."""
    rows = tx.execute(select(signing_keys).order_by(signing_keys.c.created_at.desc(), signing_keys.c.kid))
    return [KeyRow(row.kid, row.public, row.private, row.created_at) for row in rows]


def add(tx: Transaction, key: KeyRow) -> None:
    """Note a key."""
    row = {"kid": key.kid, "public": key.public, "private": key.private, "created_at": key.created_at}
    tx.execute(insert(signing_keys), row)


def forget_private(tx: Transaction) -> None:
    """Delete every private half from the database. Earlier signatures can still be checked."""
    tx.execute(update(signing_keys).values(private=None))
