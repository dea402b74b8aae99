"""Lots that were not sold and are gone from their sale: each became a lot of another sale, or went back to its consignor."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select

from saleroom.sales.domain.sale import SaleStatus
from saleroom.sales.storage.tables import after_sale, lots, sales
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction

NEW = lots.alias("new_lots")
NEXT = sales.alias("next_sales")


def of_lots(tx: Transaction, lot_ids: Collection[int]) -> set[int]:
    """Return which of these lots are gone. Their sale is locked."""
    found = (
        select(after_sale.c.lot_id)
        .outerjoin_from(after_sale, NEW, NEW.c.id == after_sale.c.new_lot_id)
        .outerjoin(NEXT, NEXT.c.id == NEW.c.sale_id)
        .where(among(tx, after_sale.c.lot_id, lot_ids), stands())
    )
    return {*tx.execute(found).scalars()}


def stands() -> ColumnElement[Any]:
    """Return the condition that a row of `after_sale` counts; the statement joins `NEW` and `NEXT` from outside.

    A row that was undone does not, nor one whose new lot was withdrawn or whose sale was cancelled: it is for sale nowhere.
    """
    is_there = and_(NEW.c.withdrawn_for.is_(None), NEXT.c.status != SaleStatus.CANCELLED.value)
    return after_sale.c.undone_at.is_(None) & or_(after_sale.c.new_lot_id.is_(None), is_there)
