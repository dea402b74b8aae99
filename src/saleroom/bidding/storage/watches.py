"""The auctions that users watch, as rows."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from saleroom.bidding.storage.tables import auctions, watches
from saleroom.storage.database import Transaction


def add(tx: Transaction, user_id: int, auction_id: int, now: datetime) -> None:
    """Store that the user watches the auction, unless it is stored already."""
    if exists(tx, user_id, auction_id):
        return
    try:
        with tx.connection.begin_nested():
            tx.execute(insert(watches), {"user_id": user_id, "auction_id": auction_id, "created_at": now})
    except IntegrityError:
        # A concurrent request of the same user has stored it.
        if not exists(tx, user_id, auction_id):
            raise


def count(tx: Transaction, user_id: int) -> int:
    """Return how many auctions the user watches."""
    return int(tx.execute(select(func.count()).where(watches.c.user_id == user_id)).scalar_one())


def remove(tx: Transaction, user_id: int, auction_id: int) -> None:
    """Stop watching an auction."""
    tx.execute(delete(watches).where(watches.c.user_id == user_id, watches.c.auction_id == auction_id))


def exists(tx: Transaction, user_id: int, auction_id: int) -> bool:
    """Return whether the user watches the auction."""
    one = select(watches.c.id).where(watches.c.user_id == user_id, watches.c.auction_id == auction_id)
    return tx.execute(one).first() is not None


def among(tx: Transaction, user_id: int, gids: Collection[str]) -> frozenset[str]:
    """Return those of the auctions that the user watches, by gid."""
    mine = select(watches.c.auction_id).where(watches.c.user_id == user_id)
    found = select(auctions.c.gid).where(auctions.c.gid.in_(gids), auctions.c.id.in_(mine))
    return frozenset(tx.execute(found).scalars())


def newest(tx: Transaction, user_id: int, limit: int, before: int | None) -> list[tuple[int, int]]:
    """Return up to `limit` (number, auction's number) that the user watches, the latest first, from `before` downwards."""
    mine = select(watches.c.id, watches.c.auction_id).where(watches.c.user_id == user_id)
    if before is not None:
        mine = mine.where(watches.c.id < before)
    return [(row.id, row.auction_id) for row in tx.execute(mine.order_by(watches.c.id.desc()).limit(limit))]
