"""Memberships as rows: each mark is added, and never changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import Column, Row, func, insert, or_, select

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage.tables import consignors, participants
from saleroom.settlement.domain.memberships import Mark
from saleroom.settlement.storage.member_tables import memberships
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction


class Member(Struct, frozen=True, kw_only=True):
    """Somebody who is a member now: a user by name, or a consignor by code, with the name that they go by."""

    id: int
    username: str | None
    code: str | None
    name: str
    since: datetime
    until: datetime | None


def add(tx: Transaction, of: Column[Any], number: int, mark: Mark, by_id: int) -> int:
    """Store a mark of a user or a consignor, of whom `of` is the column, and return its number."""
    row = {of.name: number, "is_member": mark.is_member, "until": mark.until, "since": mark.since, "by_id": by_id}
    return int(tx.execute(insert(memberships).returning(memberships.c.id), row).scalar_one())


def marks_of(tx: Transaction, of: Column[Any], numbers: Collection[int]) -> dict[int, list[Mark]]:
    """Return the marks of many users or consignors in the order in which they were set, by the number of each."""
    found: dict[int, list[Mark]] = {}
    which = select(memberships, of.label("number")).where(among(tx, of, numbers))
    for row in tx.execute(which.order_by(memberships.c.id)):
        found.setdefault(row.number, []).append(Mark(since=row.since, is_member=row.is_member, until=row.until))
    return found


def members(tx: Transaction, limit: int, before: int | None) -> list[Member]:
    """Return who is a member now, those who were marked last first, from the one before this number on."""
    newer = memberships.alias()
    same = or_(newer.c.user_id == memberships.c.user_id, newer.c.consignor_id == memberships.c.consignor_id)
    is_last = ~select(newer.c.id).where(newer.c.id > memberships.c.id, same).exists()
    last_name = (
        select(participants.c.name)
        .where(participants.c.user_id == memberships.c.user_id, participants.c.name != "")
        .order_by(participants.c.id.desc())
        .limit(1)
    )
    found = (
        select(
            memberships,
            users.c.username,
            consignors.c.code,
            func.coalesce(consignors.c.name, last_name.scalar_subquery(), "").label("name"),
        )
        .outerjoin_from(memberships, users, users.c.id == memberships.c.user_id)
        .outerjoin(consignors, consignors.c.id == memberships.c.consignor_id)
        .where(
            memberships.c.is_member,
            or_(memberships.c.until.is_(None), memberships.c.until > tx.now()),
            is_last,
        )
    )
    if before is not None:
        found = found.where(memberships.c.id < before)
    return [_member(row) for row in tx.execute(found.order_by(memberships.c.id.desc()).limit(limit))]


def all_rows(tx: Transaction) -> Sequence[Row[Any]]:
    """Return all marks of the house, for a check."""
    return tx.execute(select(memberships).order_by(memberships.c.id)).all()


def _member(row: Row[Any]) -> Member:
    return Member(id=row.id, username=row.username, code=row.code, name=row.name, since=row.since, until=row.until)
