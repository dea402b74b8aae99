"""What sales do when a person is erased."""

from __future__ import annotations

from sqlalchemy import update

from saleroom.sales.storage.tables import consignors
from saleroom.storage.database import Transaction


def forget(tx: Transaction, user_id: int) -> None:
    """Leave of a consignor who is erased the code alone: lots refer to it."""
    nobody = {"user_id": None, "name": consignors.c.code, "contact": ""}
    tx.execute(update(consignors).where(consignors.c.user_id == user_id).values(nobody))
