"""After-sale offers as rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, insert, select, update

from saleroom.sales.storage import mergers
from saleroom.sales.storage.tables import lots
from saleroom.sales.storage.tables import mergers as merger_rows
from saleroom.settlement.domain.offers import Offer, OfferState
from saleroom.settlement.storage.offer_tables import offers
from saleroom.storage.database import Transaction

LISTED_MAX = 500


def add(tx: Transaction, offer: Offer, by_id: int) -> None:
    """Store an offer, whose number does not matter. The sale is locked."""
    row = {name: getattr(offer, name) for name in ("gid", "lot_id", "user_id", "price", "offered_at", "until")}
    tx.execute(insert(offers), {**row, "by_id": by_id})


def settle(tx: Transaction, offer_id: int, state: OfferState) -> None:
    """Store how an offer ended. The sale is locked."""
    tx.execute(update(offers).where(offers.c.id == offer_id).values(settled=state.value, settled_at=tx.now()))


def find(tx: Transaction, gid: str) -> tuple[int, Offer] | None:
    """Return an offer, with the number of its sale."""
    row = tx.execute(_ROWS.where(offers.c.gid == gid)).first()
    return None if row is None else (row.sale_id, _offer(row))


def of_sale(tx: Transaction, sale_id: int) -> list[Offer]:
    """Return the latest offers of a sale, the latest first."""
    found = _ROWS.where(lots.c.sale_id == sale_id)
    return [_offer(row) for row in tx.execute(found.order_by(offers.c.id.desc()).limit(LISTED_MAX))]


def of_user(tx: Transaction, user_id: int) -> list[tuple[int, Offer]]:
    """Return the latest offers to a user with the numbers of their sales, the latest first."""
    theirs = mergers.is_theirs(user_id, offers.c.user_id, lots.c.sale_id)
    mine = _ROWS.where(theirs).order_by(offers.c.id.desc()).limit(LISTED_MAX)
    return [(row.sale_id, _offer(row)) for row in tx.execute(mine)]


_ROWS = (
    select(offers, lots.c.sale_id, mergers.whose(offers.c.user_id))
    .join_from(offers, lots, lots.c.id == offers.c.lot_id)
    .outerjoin(merger_rows, mergers.joined(offers.c.user_id, lots.c.sale_id))
)
"""Offers with their sales and whose they are now."""


def _offer(row: Row[Any]) -> Offer:
    return Offer(
        id=row.id,
        gid=row.gid,
        lot_id=row.lot_id,
        user_id=row.party_id,
        price=row.price,
        offered_at=row.offered_at,
        until=row.until,
        settled=None if row.settled is None else OfferState(row.settled),
    )
