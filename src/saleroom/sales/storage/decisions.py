"""Lots with a bid below the reserve on which their seller is to decide, as rows."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from sqlalchemy import Select, and_, not_, or_, select

from saleroom.bidding.domain.events import Outcome
from saleroom.bidding.storage.tables import HIDDEN, auctions
from saleroom.sales.domain.lots import Lot
from saleroom.sales.storage import lots as lot_rows
from saleroom.sales.storage.tables import consignors, lots, sales
from saleroom.storage.database import Transaction


class OwnLot(Struct, frozen=True):
    """A lot of somebody's, and the gid and the title of its sale."""

    lot: Lot
    sale: str
    title: str


def waiting(tx: Transaction, user_id: int, limit: int) -> list[OwnLot]:
    """Return up to `limit` lots that wait for a user to decide, the latest sale first. Hidden ones wait for the house."""
    undecided = (auctions.c.outcome == Outcome.CONDITIONAL.value, not_(HIDDEN))
    return _read(tx, _of(user_id).where(*undecided).order_by(lots.c.sale_id.desc(), lots.c.rank).limit(limit))


def find(tx: Transaction, user_id: int, gid: str) -> OwnLot | None:
    """Return a lot with an auction if it is this user's."""
    found = _read(tx, _of(user_id).where(lots.c.gid == gid))
    return found[0] if found else None


def _of(user_id: int) -> Select[Any]:
    """Select a user's lots: a lot is its consignor's; if none has an account, it is that of the author of its auction."""
    theirs = or_(
        consignors.c.user_id == user_id,
        and_(consignors.c.user_id.is_(None), auctions.c.author_id == user_id),
    )
    return (
        select(lots.c.auction_id, sales.c.gid, sales.c.title)
        .join(auctions, auctions.c.id == lots.c.auction_id)
        .join(sales, sales.c.id == lots.c.sale_id)
        .outerjoin(consignors, consignors.c.id == lots.c.consignor_id)
        .where(theirs)
    )


def _read(tx: Transaction, asked: Select[Any]) -> list[OwnLot]:
    rows = list(tx.execute(asked))
    known = lot_rows.of_auctions(tx, [row.auction_id for row in rows])
    return [OwnLot(known[row.auction_id], row.gid, row.title) for row in rows]
