"""Consignors as rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, insert, select, update

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage.tables import consignors
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction


class Consignor(Struct, frozen=True, kw_only=True):
    """Somebody who brings lots to sales, with or without an account. `id` is the store's number."""

    id: int
    gid: str
    code: str
    name: str
    contact: str
    user_id: int | None
    username: str | None
    created_at: datetime


_ROWS = select(consignors, users.c.username).outerjoin_from(consignors, users, users.c.id == consignors.c.user_id)


def add(tx: Transaction, gid: str, code: str, name: str, contact: str, user_id: int | None) -> int:
    """Store a new consignor and return the number. Raises IntegrityError if the code or the gid exists already."""
    row = {"gid": gid, "code": code, "name": name, "contact": contact, "user_id": user_id, "created_at": tx.now()}
    return int(tx.execute(insert(consignors).returning(consignors.c.id), row).scalar_one())


def lock(tx: Transaction, numbers: Collection[int]) -> dict[int, int | None]:
    """Lock these consignors in the order of their numbers, and return the user that each is, by number."""
    chosen = select(consignors.c.id, consignors.c.user_id).where(among(tx, consignors.c.id, numbers))
    rows = tx.execute(chosen.order_by(consignors.c.id).with_for_update())
    return {row.id: row.user_id for row in rows}


def change(tx: Transaction, number: int, changes: Mapping[str, str | int | None]) -> None:
    """Write these columns of a consignor, so that somebody who changes others at the same time loses nothing."""
    if changes:
        tx.execute(update(consignors).where(consignors.c.id == number).values(changes))


def give(tx: Transaction, source: int, target: int) -> None:
    """Note of consignors whose user is `source` that they are `target`, who is the same person."""
    tx.execute(update(consignors).where(consignors.c.user_id == source).values(user_id=target))


def users_of(tx: Transaction) -> dict[str, int]:
    """Return the user of each consignor who is one, by code."""
    rows = tx.execute(select(consignors.c.code, consignors.c.user_id).where(consignors.c.user_id.is_not(None)))
    return {row.code: row.user_id for row in rows}


def find(tx: Transaction, code: str) -> Consignor | None:
    """Return the consignor with this code."""
    row = tx.execute(_ROWS.where(consignors.c.code == code)).first()
    return None if row is None else _consignor(row)


def of_user(tx: Transaction, user_id: int) -> list[Consignor]:
    """Return the consignors that a user of the house is, by code."""
    return [
        _consignor(row) for row in tx.execute(_ROWS.where(consignors.c.user_id == user_id).order_by(consignors.c.code))
    ]


def listed(tx: Transaction, limit: int) -> list[Consignor]:
    """Return up to `limit` consignors, by code."""
    return [_consignor(row) for row in tx.execute(_ROWS.order_by(consignors.c.code).limit(limit))]


def by_ids(tx: Transaction, numbers: Collection[int]) -> dict[int, Consignor]:
    """Return these consignors, by number."""
    if not numbers:
        return {}
    return {row.id: _consignor(row) for row in tx.execute(_ROWS.where(among(tx, consignors.c.id, numbers)))}


def codes(tx: Transaction, numbers: Collection[int]) -> dict[int, str]:
    """Return the codes of these consignors, by number."""
    if not numbers:
        return {}
    found = select(consignors.c.id, consignors.c.code).where(among(tx, consignors.c.id, numbers))
    return {row.id: row.code for row in tx.execute(found)}


def _consignor(row: Row[Any]) -> Consignor:
    return Consignor(
        id=row.id,
        gid=row.gid,
        code=row.code,
        name=row.name,
        contact=row.contact,
        user_id=row.user_id,
        username=row.username,
        created_at=row.created_at,
    )
