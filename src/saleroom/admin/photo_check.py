"""The photos of an auction compared with its log, which has their digests (docs/ledger.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from sqlalchemy import select

from saleroom.bidding.domain.events import Event, PhotosArranged, ShownFile, ShownPhoto
from saleroom.bidding.storage.tables import photo_files, photos
from saleroom.storage.database import Transaction


def picture_faults(tx: Transaction, number: int, author_id: int, log: Sequence[Event]) -> Iterator[str]:
    """Yield the faults in the photos of the auction with this number, none if its log has no photos."""
    shown = next((event for event in reversed(log) if isinstance(event, PhotosArranged)), None)
    if shown is None:
        return
    rows = tx.execute(select(photos).where(photos.c.auction_id == number).order_by(photos.c.place)).all()
    if [row.gid for row in rows] != [photo.id for photo in shown.photos]:
        yield "its photos are not those of its log, or in another order"
        return
    for place, (row, photo) in enumerate(zip(rows, shown.photos, strict=True), 1):
        if (row.place, row.owner_id) != (place, author_id):
            yield f"photo {place}: its place or its owner is not what it must be"
        yield from (f"photo {place}: {fault}" for fault in _file_faults(tx, row.source_id or row.id, photo))


def _file_faults(tx: Transaction, photo_id: int, photo: ShownPhoto) -> Iterator[str]:
    """Yield the faults in the files of one photo, so that only one photo is in memory at a time."""
    found = tx.execute(
        select(photo_files).where(photo_files.c.photo_id == photo_id).order_by(photo_files.c.width)
    ).all()
    if tuple(ShownFile(row.width, row.digest) for row in found) != photo.files:
        yield "its widths or digests are not those of the log"
    for row in found:
        # Those in the store are checked by `saleroom verify --database`, outside a transaction.
        if row.bytes and hashlib.sha256(row.bytes).hexdigest() != row.digest:
            yield f"its file {row.width} pixels wide does not have its digest"
