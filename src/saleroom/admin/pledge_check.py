"""The pledges of each fund-a-need compared with the log of its sale (`sales/domain/need_log.py`)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from sqlalchemy import select

from saleroom.sales.domain.need_log import KINDS, log_faults
from saleroom.sales.storage import lots, pledges
from saleroom.sales.storage.tables import lots as lot_rows
from saleroom.sales.storage.tables import sale_events
from saleroom.storage.database import Transaction


def pledge_faults(tx: Transaction) -> Iterator[str]:
    """Yield what is wrong with pledges."""
    c = sale_events.c
    with_needs = select(lot_rows.c.sale_id).where(lot_rows.c.need.is_not(None)).distinct().order_by(lot_rows.c.sale_id)
    for sale_id in list(tx.execute(with_needs).scalars()):
        told: dict[str, list[tuple[str, dict[str, str]]]] = {}
        rows = select(c.type, c.payload).where(c.sale_id == sale_id, c.type.in_(KINDS)).order_by(c.position)
        for row in tx.execute(rows):
            data = msgspec.json.decode(row.payload)["data"]
            told.setdefault(data["lot"], []).append((row.type, data))
        gids = {lot.id: lot.gid for lot in lots.needs(tx, sale_id)}
        for lot_id, made in pledges.of_lots(tx, gids).items():
            for found in log_faults(told.get(gids[lot_id], ()), made):
                yield f"fund-a-need {gids[lot_id]}: {found}"
