"""After-sale offers as rows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Row, and_, or_, select, update

from saleroom.sales.storage import mergers
from saleroom.sales.storage.tables import consignors, lots, participants
from saleroom.sales.storage.tables import mergers as merger_rows
from saleroom.settlement.domain.unsold.offers import Offer, OfferState
from saleroom.settlement.storage import series
from saleroom.settlement.storage.offer_tables import offers
from saleroom.storage.database import Transaction

LISTED_MAX = 500


def add(tx: Transaction, offer: Offer, by_id: int) -> None:
    """Store an offer, whose number does not matter. The sale is locked."""
    names = ("gid", "lot_id", "user_id", "to_all", "price", "offered_at", "until")
    row = {name: getattr(offer, name) for name in names}
    series.add(tx, offers, {**row, "by_id": by_id})


def settle(tx: Transaction, offer_id: int, state: OfferState) -> None:
    """Store how an offer ended. The sale is locked."""
    tx.execute(update(offers).where(offers.c.id == offer_id).values(settled=state.value, settled_at=tx.now()))


def accept(tx: Transaction, offer_id: int, user_id: int) -> None:
    """Store that a user has accepted an offer. The sale is locked."""
    settle(tx, offer_id, OfferState.ACCEPTED)
    tx.execute(update(offers).where(offers.c.id == offer_id, offers.c.user_id.is_(None)).values(user_id=user_id))


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
    mine = _ROWS.where(_is_for(user_id)).order_by(offers.c.id.desc()).limit(LISTED_MAX)
    return [(row.sale_id, _offer(row)) for row in tx.execute(mine)]


def is_for(tx: Transaction, offer_id: int, user_id: int) -> bool:
    """Return whether an offer is for a user, alone or among all."""
    return tx.execute(_ROWS.where(offers.c.id == offer_id, _is_for(user_id))).first() is not None


def _is_for(user_id: int) -> ColumnElement[bool]:
    """Return that an offer is for a user: by name, or as one of all with a paddle, but for those who consigned the lot."""
    paddle = select(participants.c.sale_id).where(participants.c.user_id == user_id, participants.c.paddle.is_not(None))
    own = select(consignors.c.id).where(consignors.c.user_id == user_id)
    foreign = or_(lots.c.consignor_id.is_(None), lots.c.consignor_id.not_in(own))
    to_all = and_(offers.c.to_all, lots.c.sale_id.in_(paddle), foreign)
    return or_(mergers.is_theirs(user_id, offers.c.user_id, lots.c.sale_id), to_all)


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
        to_all=row.to_all,
        settled=None if row.settled is None else OfferState(row.settled),
    )
