"""Remarks on lots, as rows."""

from __future__ import annotations

from sqlalchemy import insert, select

from saleroom.bidding.domain.remarks import Remark
from saleroom.bidding.storage.tables import remarks
from saleroom.storage.database import Transaction


def of_auction(tx: Transaction, auction_id: int) -> list[Remark]:
    """Return an auction's remarks, the oldest first."""
    rows = tx.execute(select(remarks).where(remarks.c.auction_id == auction_id).order_by(remarks.c.number))
    return [Remark(row.number, row.text, row.written_at) for row in rows]


def add(tx: Transaction, auction_id: int, remark: Remark) -> None:
    """Store a remark."""
    row = {"auction_id": auction_id, "number": remark.number, "text": remark.text, "written_at": remark.written_at}
    tx.execute(insert(remarks), row)
