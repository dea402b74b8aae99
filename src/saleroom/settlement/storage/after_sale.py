"""What became of lots that were not sold, as rows: each became a lot of another sale, or went back to its consignor."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from sqlalchemy import insert, or_, select, update

from saleroom.sales.domain.sale import SaleStatus
from saleroom.sales.storage.gone import NEW, NEXT, stands
from saleroom.sales.storage.tables import after_sale, lots, sales
from saleroom.storage import bulk
from saleroom.storage.database import Transaction


class Departure(Struct, frozen=True, kw_only=True):
    """What became of a lot that was not sold: the lot `label` of another sale, or None if it went to the consignor."""

    lot_id: int
    at: datetime
    sale: str | None
    title: str | None
    label: str | None


def add(tx: Transaction, lot_id: int, new_lot_id: int | None, by_id: int) -> None:
    """Store what became of a lot. Its sale is locked."""
    row = {"lot_id": lot_id, "new_lot_id": new_lot_id, "at": tx.now(), "by_id": by_id}
    tx.execute(insert(after_sale), row)


def of_sale(tx: Transaction, sale_id: int) -> dict[int, Departure]:
    """Return what became of the lots of a sale that were not sold, by number."""
    found = (
        select(after_sale.c.lot_id, after_sale.c.at, NEXT.c.gid, NEXT.c.title, NEW.c.label)
        .join_from(after_sale, lots, lots.c.id == after_sale.c.lot_id)
        .outerjoin(NEW, NEW.c.id == after_sale.c.new_lot_id)
        .outerjoin(NEXT, NEXT.c.id == NEW.c.sale_id)
        .where(lots.c.sale_id == sale_id, stands())
    )
    return {
        row.lot_id: Departure(lot_id=row.lot_id, at=row.at, sale=row.gid, title=row.title, label=row.label)
        for row in tx.execute(found)
    }


def undo_return(tx: Transaction, lot_id: int) -> bool:
    """Store that a lot is back in the house; False if it did not go back to its consignor. Its sale is locked."""
    which = (after_sale.c.lot_id == lot_id, after_sale.c.new_lot_id.is_(None), after_sale.c.undone_at.is_(None))
    return tx.execute(update(after_sale).where(*which).values(undone_at=tx.now())).rowcount > 0


def same_lots(tx: Transaction, sale_id: int) -> dict[int, set[int]]:
    """Return the lots of a locked sale that are in other sales too, each with those that it is there, but for withdrawn ones.

    The rows that link them are locked until the transaction ends, so that no two sales charge the same fee at one time.
    """
    linked = select(after_sale.c.id, after_sale.c.lot_id, after_sale.c.new_lot_id).where(
        after_sale.c.new_lot_id.is_not(None)
    )
    mine = {*tx.execute(select(lots.c.id).where(lots.c.sale_id == sale_id)).scalars()}
    known, rows = set[int](), dict[int, tuple[int, int]]()
    new = mine
    while new:
        known |= new
        here = or_(bulk.among(tx, after_sale.c.lot_id, new), bulk.among(tx, after_sale.c.new_lot_id, new))
        found = {row.id: (row.lot_id, row.new_lot_id) for row in tx.execute(linked.where(here))}
        rows |= found
        new = {lot for pair in found.values() for lot in pair} - known
    if not rows:
        return {}
    locked = select(after_sale.c.id).where(bulk.among(tx, after_sale.c.id, [*rows])).order_by(after_sale.c.id)
    tx.execute(locked.with_for_update())
    out = or_(lots.c.withdrawn_for.is_not(None), sales.c.status == SaleStatus.CANCELLED.value)
    gone = select(lots.c.id).join(sales).where(bulk.among(tx, lots.c.id, known - mine), out)
    withdrawn = {*tx.execute(gone).scalars()}
    groups: dict[int, set[int]] = {}
    for pair in rows.values():
        whole = groups.get(pair[0], {pair[0]}) | groups.get(pair[1], {pair[1]})
        groups |= dict.fromkeys(whole, whole)
    return {lot: groups[lot] - {lot} - withdrawn for lot in mine if lot in groups}
