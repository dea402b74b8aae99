"""Pick-ups as rows: a lot is handed out, and that is undone."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from sqlalchemy import select, update

from saleroom.accounts.storage.tables import users
from saleroom.sales.storage import mergers
from saleroom.sales.storage.tables import lots
from saleroom.sales.storage.tables import mergers as merger_rows
from saleroom.settlement.storage import series
from saleroom.settlement.storage.pickup_tables import pickups
from saleroom.storage.database import Transaction


class Pickup(Struct, frozen=True, kw_only=True):
    """A lot that is handed out to a buyer, by somebody of the staff. `to` is who took it, empty for the buyer themselves."""

    id: int
    lot_id: int
    user_id: int
    to: str
    at: datetime
    by: str
    reason: str | None


def of_sale(tx: Transaction, sale_id: int) -> dict[tuple[int, int], Pickup]:
    """Return what is handed out of a sale, by the numbers of the lot and the buyer."""
    found = (
        select(pickups, users.c.username.label("by"), mergers.whose(pickups.c.user_id))
        .join_from(pickups, lots, lots.c.id == pickups.c.lot_id)
        .join(users, users.c.id == pickups.c.by_id)
        .outerjoin(merger_rows, mergers.joined(pickups.c.user_id, lots.c.sale_id))
        .where(lots.c.sale_id == sale_id, pickups.c.undone_at.is_(None))
        .order_by(pickups.c.id)
    )
    return {
        (row.lot_id, row.party_id): Pickup(
            id=row.id, lot_id=row.lot_id, user_id=row.party_id, to=row.to, at=row.at, by=row.by, reason=row.reason
        )
        for row in tx.execute(found)
    }


def add(tx: Transaction, lot_id: int, user_id: int, to: str, by_id: int, reason: str | None) -> None:
    """Store that a lot was handed out. The sale is locked."""
    row = {"lot_id": lot_id, "user_id": user_id, "to": to, "at": tx.now(), "by_id": by_id, "reason": reason}
    series.add(tx, pickups, row)


def undo(tx: Transaction, lot_id: int, by_id: int) -> None:
    """Store that a lot is back, from anyone. The sale is locked."""
    out = (pickups.c.lot_id == lot_id, pickups.c.undone_at.is_(None))
    tx.execute(update(pickups).where(*out).values(undone_at=tx.now(), undone_by_id=by_id))
