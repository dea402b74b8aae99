"""Pledges of a fund-a-need as rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy import Row, Select, func, insert, select, update

from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.events import Channel
from saleroom.kernel.parties import Party
from saleroom.sales.domain.needs import Pledge, Tally
from saleroom.sales.storage.tables import lots, pledges
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction

_ROWS = select(pledges, users.c.username).join_from(pledges, users, users.c.id == pledges.c.user_id)
_STANDS = pledges.c.undone_at.is_(None)


def add(tx: Transaction, lot_id: int, pledge: Pledge) -> None:
    """Store a new pledge of a lot; the sale must be locked."""
    row = {
        "lot_id": lot_id,
        "number": pledge.number,
        "user_id": pledge.user.id,
        "amount": pledge.amount,
        "channel": pledge.channel.value,
        "at": pledge.at,
        "undone_at": pledge.undone_at,
    }
    tx.execute(insert(pledges), row)


def save_undone(tx: Transaction, lot_id: int, pledge: Pledge) -> None:
    """Write back that a pledge was undone; the sale must be locked."""
    which = (pledges.c.lot_id == lot_id, pledges.c.number == pledge.number)
    tx.execute(update(pledges).where(*which).values(undone_at=pledge.undone_at))


def last_number(tx: Transaction, lot_id: int) -> int:
    """Return how many pledges a lot has, those that were undone among them."""
    found = select(func.coalesce(func.max(pledges.c.number), 0)).where(pledges.c.lot_id == lot_id)
    return int(tx.execute(found).scalar_one())


def find(tx: Transaction, lot_id: int, number: int) -> Pledge | None:
    """Return one pledge of a lot by its number."""
    row = tx.execute(_ROWS.where(pledges.c.lot_id == lot_id, pledges.c.number == number)).first()
    return None if row is None else _pledge(row)


def of_lots(tx: Transaction, lot_ids: Collection[int]) -> dict[int, list[Pledge]]:
    """Return all pledges of each of these lots, in their order, by the number of the lot."""
    return _by_lot(tx, lot_ids, _ROWS.order_by(pledges.c.lot_id, pledges.c.number))


def newest(tx: Transaction, lot_ids: Collection[int], limit: int) -> dict[int, list[Pledge]]:
    """Return the last pledges of each of these lots, the newest first, by the number of the lot."""
    own = pledges.alias()
    last = select(func.max(own.c.number)).where(own.c.lot_id == lots.c.id).scalar_subquery()
    # The pledges of a lot are numbered without gaps, so this reads no more of them than it returns.
    found = _ROWS.join(lots, lots.c.id == pledges.c.lot_id).where(pledges.c.number > last - limit)
    return _by_lot(tx, lot_ids, found.order_by(pledges.c.lot_id, pledges.c.number.desc()))


def of_user(tx: Transaction, lot_id: int, user_id: int) -> list[Pledge]:
    """Return the pledges of a user on a lot, in their order."""
    found = _ROWS.where(pledges.c.lot_id == lot_id, pledges.c.user_id == user_id)
    return [_pledge(row) for row in tx.execute(found.order_by(pledges.c.number))]


def tallies(tx: Transaction, lot_ids: Collection[int]) -> dict[int, Tally]:
    """Return what stands on each of these lots, by number."""
    if not lot_ids:
        return {}
    counted = select(pledges.c.lot_id, pledges.c.amount, func.count().label("times"))
    counted = counted.where(among(tx, pledges.c.lot_id, lot_ids), _STANDS).group_by(pledges.c.lot_id, pledges.c.amount)
    found: dict[int, dict[Decimal, int]] = {number: {} for number in lot_ids}
    for row in tx.execute(counted):
        found[row.lot_id][row.amount] = int(row.times)
    return {number: Tally(dict(sorted(amounts.items(), reverse=True))) for number, amounts in found.items()}


def given(tx: Transaction, lot_id: int) -> Mapping[int, Decimal]:
    """Return what each user has promised on a lot, by number."""
    counted = select(pledges.c.user_id, pledges.c.amount, func.count().label("times"))
    counted = counted.where(pledges.c.lot_id == lot_id, _STANDS).group_by(pledges.c.user_id, pledges.c.amount)
    found: dict[int, Decimal] = {}
    for row in tx.execute(counted):
        found[row.user_id] = found.get(row.user_id, Decimal(0)) + row.amount * row.times
    return found


def has_pledged(tx: Transaction, sale_id: int, user_id: int) -> bool:
    """Return whether a user has pledged in a sale, also what was undone."""
    found = select(pledges.c.id).join_from(pledges, lots, lots.c.id == pledges.c.lot_id)
    mine = (lots.c.sale_id == sale_id, pledges.c.user_id == user_id)
    return tx.execute(found.where(*mine).limit(1)).first() is not None


def move(tx: Transaction, sale_id: int, source: int, target: int) -> None:
    """Give the pledges of the user `source` in a sale to the user `target`."""
    there = pledges.c.lot_id.in_(select(lots.c.id).where(lots.c.sale_id == sale_id))
    tx.execute(update(pledges).where(there, pledges.c.user_id == source).values(user_id=target))


def _by_lot(tx: Transaction, lot_ids: Collection[int], statement: Select[Any]) -> dict[int, list[Pledge]]:
    found: dict[int, list[Pledge]] = {number: [] for number in lot_ids}
    if found:
        for row in tx.execute(statement.where(among(tx, pledges.c.lot_id, lot_ids))):
            found[row.lot_id].append(_pledge(row))
    return found


def _pledge(row: Row[Any]) -> Pledge:
    return Pledge(
        number=row.number,
        user=Party(row.user_id, row.username),
        amount=row.amount,
        channel=Channel(row.channel),
        at=row.at,
        undone_at=row.undone_at,
    )
