"""The lots of a live sale that left the block or came back, read from the log of the sale."""

from __future__ import annotations

import msgspec
from sqlalchemy import select

from saleroom.sales.domain.desk import BlockMove
from saleroom.sales.domain.events import LotCalled, LotClosed, LotReopened
from saleroom.sales.storage.tables import sale_events
from saleroom.storage.database import Transaction

MOVES = 100
"""Enough for the pace of the last lots, however often these came back."""
_KINDS = (LotCalled.TYPE, LotClosed.TYPE, LotReopened.TYPE)


def of_lots(tx: Transaction, sale_id: int) -> list[BlockMove]:
    """Return which lots were called, closed and reopened last, in that order."""
    c = sale_events.c
    which = (c.sale_id == sale_id, c.type.in_(_KINDS))
    newest = tx.execute(select(c.type, c.at, c.payload).where(*which).order_by(c.position.desc()).limit(MOVES)).all()
    return [BlockMove(row.type, _lot(row.payload), row.at) for row in reversed(newest)]


def _lot(payload: bytes) -> str:
    found: str = msgspec.json.decode(payload)["data"]["lot"]
    return found
