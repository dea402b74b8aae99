"""The labels of lots that were printed, as rows: what each showed then."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from msgspec import Struct
from sqlalchemy import delete, select

from saleroom.sales.storage.tables import lot_prints
from saleroom.storage import bulk
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction


class Print(Struct, frozen=True):
    """A label as it was last printed: the digest of what it showed (`domain/paper.py`), and when that was noted."""

    digest: str
    at: datetime


def of_lots(tx: Transaction, lot_ids: Collection[int]) -> dict[int, Print]:
    """Return the last prints of these lots' labels, by the lot's number."""
    rows = tx.execute(select(lot_prints).where(among(tx, lot_prints.c.lot_id, lot_ids)))
    return {row.lot_id: Print(row.digest, row.printed_at) for row in rows}


def note(tx: Transaction, digests: Mapping[int, str], now: datetime) -> None:
    """Note that the labels of these lots were printed, by the lot's number; the sale must be locked."""
    tx.execute(delete(lot_prints).where(among(tx, lot_prints.c.lot_id, list(digests))))
    bulk.insert(tx, lot_prints, [{"lot_id": lot, "digest": one, "printed_at": now} for lot, one in digests.items()])
