"""What an import reads and writes many of: codes of consignors, photos of lots, and photos by the files they came as."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, select

from saleroom.bidding.domain.photos import Photo, made_widths
from saleroom.bidding.storage import photos as photo_rows
from saleroom.bidding.storage.photos import OwnPhoto
from saleroom.bidding.storage.tables import photos
from saleroom.sales.domain.lots import Lot
from saleroom.sales.storage.tables import consignors, lot_photos
from saleroom.storage import bulk
from saleroom.storage.bulk import among
from saleroom.storage.database import Transaction


def consignor_numbers(tx: Transaction) -> dict[str, int]:
    """Return the numbers of all consignors by their codes."""
    return {row.code: row.id for row in tx.execute(select(consignors.c.code, consignors.c.id))}


def photos_of(tx: Transaction, some: Sequence[Lot]) -> dict[str, list[tuple[OwnPhoto, str | None]]]:
    """Return the photos of lots in their order by label, each with the SHA-256 of the file that it came as, if known."""
    found: dict[str, list[tuple[OwnPhoto, str | None]]] = {lot.label: [] for lot in some}
    drafts = {lot.id: lot.label for lot in some if lot.auction_id is None}
    offered = {lot.auction_id: lot.label for lot in some if lot.auction_id is not None}
    placed = select(lot_photos.c.lot_id, photos).join_from(lot_photos, photos)
    for row in tx.execute(placed.where(among(tx, lot_photos.c.lot_id, list(drafts))).order_by(lot_photos.c.place)):
        found[drafts[row.lot_id]].append((_own(row), row.sent_digest))
    on_lots = select(photos).where(among(tx, photos.c.auction_id, list(offered))).order_by(photos.c.place)
    for row in tx.execute(on_lots):
        found[offered[row.auction_id]].append((_own(row), row.sent_digest))
    return found


def kept(tx: Transaction, owner_id: int, digests: Collection[str]) -> dict[str, list[OwnPhoto]]:
    """Return the photos of a user on no lot that came as these files, by the SHA-256 of the file, locked."""
    found: dict[str, list[OwnPhoto]] = defaultdict(list)
    unplaced = (photos.c.owner_id == owner_id, photos.c.auction_id.is_(None), photos.c.unplaced_at.is_not(None))
    rows = select(photos).where(*unplaced, photos.c.source_id.is_(None)).order_by(photos.c.id).with_for_update()
    wanted = set(digests)
    for row in tx.execute(rows.where(photos.c.sent_digest.is_not(None))):
        if row.sent_digest in wanted:
            found[row.sent_digest].append(_own(row))
    return found


def place(tx: Transaction, owner_id: int, by_lot: Mapping[int, Sequence[OwnPhoto]], now: datetime) -> None:
    """Put exactly these photos on lots without an auction, by number; the others of the lots are on no lot from `now` on."""
    if not by_lot:
        return
    numbers = list(by_lot)
    was = list(tx.execute(select(lot_photos.c.photo_id).where(among(tx, lot_photos.c.lot_id, numbers))).scalars())
    tx.execute(delete(lot_photos).where(among(tx, lot_photos.c.lot_id, numbers)))
    stays = {one.id for chosen in by_lot.values() for one in chosen}
    photo_rows.let_go(tx, [one for one in was if one not in stays], now)
    photo_rows.take_over(tx, list(stays), owner_id)
    rows = [
        {"lot_id": lot, "place": place, "photo_id": one.id}
        for lot, chosen in by_lot.items()
        for place, one in enumerate(chosen, 1)
    ]
    bulk.insert(tx, lot_photos, rows)


def _own(row: Row[Any]) -> OwnPhoto:
    photo = Photo(row.gid, row.width, row.height, made_widths(row.width))
    return OwnPhoto(row.id, photo, row.auction_id, row.source_id or row.id)
