"""Photos, their files and their lots, as rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, structs
from sqlalchemy import ColumnElement, Row, Select, and_, delete, exists, func, insert, select, update

from saleroom.bidding.domain.photos import PHOTO_ID, Photo, made_widths
from saleroom.bidding.storage.tables import HIDDEN, auctions, draft_photos, photo_files, photos
from saleroom.storage import bulk
from saleroom.storage.bulk import among
from saleroom.storage.database import Note, Transaction
from saleroom.storage.objects import StoredObject

_FILES_ID = func.coalesce(photos.c.source_id, photos.c.id)
"""The number of the photo that has the files."""
_WITH_FILES = photos.alias("with_files")


_KEY = re.compile(rf"photos/({PHOTO_ID.pattern})/([1-9][0-9]{{0,4}})\.webp")
IN_STORE: ColumnElement[bool] = func.length(photo_files.c.bytes) == 0
"""The condition that the bytes of a file are in the store."""
GONE: Note[str] = Note()
"""Keys of objects whose rows were deleted."""


class PhotoFile(Struct, frozen=True):
    """A photo in one width, as WebP; `digest` is its SHA-256. `hidden_on` is the auction, if staff hide it.

    If `data` is empty, the bytes are in the store under `key` (`photo_store.py`).
    """

    digest: str
    data: bytes
    width: int
    key: str = ""
    hidden_on: str | None = None


class OwnPhoto(Struct, frozen=True):
    """A photo as its owner has it: the numbers of its row, of the auction that it is on, if any, and of its files."""

    id: int
    photo: Photo
    auction_id: int | None
    files_id: int


def count_unplaced(tx: Transaction, owner_id: int) -> int:
    """Return how many photos of a user are on no lot, not even on one of a sale that is still a draft."""
    nowhere = (photos.c.auction_id.is_(None), photos.c.unplaced_at.is_not(None))
    unplaced = select(func.count()).where(photos.c.owner_id == owner_id, *nowhere)
    return int(tx.execute(unplaced).scalar_one())


def key_of(photo_id: str, width: int) -> str:
    """Return the key of a file in the store, by the photo that has it."""
    return f"photos/{photo_id}/{width}.webp"


def place_of(key: str) -> tuple[str, int] | None:
    """Return the id and the width of the photo whose file has this key in the store; None for any other key."""
    found = _KEY.fullmatch(key)
    return (found[1], int(found[2])) if found else None


def add(
    tx: Transaction,
    owner_id: int,
    photo: Photo,
    files: Mapping[int, bytes],
    *,
    sent: str | None = None,
    in_store: bool = False,
) -> int:
    """Store a photo with its files by width, on no lot, and return its number. Raises IntegrityError if its id exists already.

    `sent` is the SHA-256 of the file that it came as, if somebody will ask whether that has come before. Of files that are
    `in_store` already, the rows have no bytes.
    """
    row = _row(owner_id, photo, tx.now()) | {"sent_digest": sent}
    number = int(tx.execute(insert(photos).returning(photos.c.id), row).scalar_one())
    rows = [
        {
            "photo_id": number,
            "width": width,
            "digest": hashlib.sha256(data).hexdigest(),
            "bytes": b"" if in_store else data,
        }
        for width, data in files.items()
    ]
    if rows:
        tx.execute(insert(photo_files), rows)
    return number


def copy(tx: Transaction, owner_id: int, source: OwnPhoto, photo_id: str, now: datetime) -> OwnPhoto:
    """Store a photo with the files of `source`, on no lot. Raises IntegrityError if its id exists already."""
    photo = structs.replace(source.photo, id=photo_id)
    row = _row(owner_id, photo, now) | {"source_id": source.files_id}
    number = tx.execute(insert(photos).returning(photos.c.id), row).scalar_one()
    return OwnPhoto(number, photo, None, source.files_id)


def file(tx: Transaction, photo_id: str, width: int) -> PhotoFile | None:
    """Return a photo in a width in which it was made; None for any other."""
    found = (
        files_of_photos(auctions.c.gid.label("hidden_on"))
        .outerjoin(auctions, and_(auctions.c.id == photos.c.auction_id, HIDDEN))
        .where(photos.c.gid == photo_id, photo_files.c.width == width)
    )
    row = tx.execute(found).first()
    return None if row is None else as_file(row, row.hidden_on)


def files_of_photos(*columns: ColumnElement[Any]) -> Select[Any]:
    """Return a query for files of photos and copies, with further columns; `as_file` takes its rows."""
    own = (photo_files.c.digest, photo_files.c.bytes, photo_files.c.width, _WITH_FILES.c.gid.label("files_gid"))
    return (
        select(*own, *columns)
        .join_from(photos, photo_files, photo_files.c.photo_id == _FILES_ID)
        .join(_WITH_FILES, _WITH_FILES.c.id == photo_files.c.photo_id)
    )


def as_file(row: Row[Any], hidden_on: str | None = None) -> PhotoFile:
    """Return a file by a row of `files_of_photos`."""
    key = "" if row.bytes else key_of(row.files_gid, row.width)
    return PhotoFile(row.digest, row.bytes, row.width, key, hidden_on)


def of_owner(tx: Transaction, owner_id: int, ids: Collection[str], *, lock: bool = False) -> dict[str, OwnPhoto]:
    """Return those photos of `ids` that are this user's, by id; with `lock` they are locked until the transaction ends."""
    asked = select(photos).where(among(tx, photos.c.gid, ids), photos.c.owner_id == owner_id).order_by(photos.c.id)
    rows = tx.execute(asked.with_for_update() if lock else asked)
    return {row.gid: OwnPhoto(row.id, _photo(row), row.auction_id, row.source_id or row.id) for row in rows}


def of_auction(tx: Transaction, auction_id: int) -> list[Photo]:
    """Return an auction's photos in their order."""
    rows = tx.execute(select(photos).where(photos.c.auction_id == auction_id).order_by(photos.c.place))
    return [_photo(row) for row in rows]


def digests(tx: Transaction, numbers: Collection[int]) -> dict[int, list[tuple[int, str]]]:
    """Return the width and the SHA-256 of each file, the narrowest first, by the number of the photo that has the files."""
    found: dict[int, list[tuple[int, str]]] = {number: [] for number in numbers}
    files = select(photo_files.c.photo_id, photo_files.c.width, photo_files.c.digest)
    for row in tx.execute(files.where(among(tx, photo_files.c.photo_id, numbers)).order_by(photo_files.c.width)):
        found[row.photo_id].append((row.width, row.digest))
    return found


def covers(tx: Transaction, gids: Collection[str]) -> dict[str, Photo]:
    """Return the first photo of each auction that has one, by the auction's gid."""
    if not gids:
        return {}
    first = (
        select(auctions.c.gid.label("lot"), photos)
        .join_from(photos, auctions)
        .where(among(tx, auctions.c.gid, gids), photos.c.place == 1)
    )
    return {row.lot: _photo(row) for row in tx.execute(first)}


def place(tx: Transaction, auction_id: int, kept: Sequence[OwnPhoto], now: datetime) -> None:
    """Put exactly these photos on an auction, in this order; the others of it are on no lot from `now` on."""
    nowhere = {"auction_id": None, "place": None, "unplaced_at": now}
    tx.execute(update(photos).where(photos.c.auction_id == auction_id).values(nowhere))
    rows = [
        {"id": one.id, "auction_id": auction_id, "place": number, "unplaced_at": None}
        for number, one in enumerate(kept, 1)
    ]
    bulk.update(tx, photos, rows)


def place_new(tx: Transaction, lots: Mapping[int, Sequence[OwnPhoto]]) -> None:
    """Put photos on auctions that have none, by the auction's number, in their order."""
    rows = [
        {"id": one.id, "auction_id": auction_id, "place": number, "unplaced_at": None}
        for auction_id, kept in lots.items()
        for number, one in enumerate(kept, 1)
    ]
    bulk.update(tx, photos, rows)


def take_over(tx: Transaction, numbers: Collection[int], owner_id: int) -> None:
    """Give photos on no lot to a user, for a lot without an auction: they are kept until they are placed or let go."""
    kept = {"owner_id": owner_id, "unplaced_at": None}
    tx.execute(update(photos).where(among(tx, photos.c.id, numbers), photos.c.auction_id.is_(None)).values(kept))


def let_go(tx: Transaction, numbers: Collection[int], now: datetime) -> None:
    """Keep photos that were taken over no longer: they are on no lot from `now` on."""
    which = (among(tx, photos.c.id, numbers), photos.c.auction_id.is_(None))
    tx.execute(update(photos).where(*which).values({"unplaced_at": now}))


def sweep(tx: Transaction, before: datetime, limit: int) -> int:
    """Delete up to `limit` photos that have been on no lot since `before` and are in no draft, and return how many."""
    in_draft = exists().where(draft_photos.c.photo_id == photos.c.id)
    stale = select(photos.c.id).where(photos.c.auction_id.is_(None), photos.c.unplaced_at <= before, ~in_draft)
    # Skip a photo that another transaction is putting on a lot.
    found = tx.execute(stale.limit(limit).with_for_update(skip_locked=True)).scalars().all()
    # Now that they are locked no draft takes one; one may have done so just before.
    taken = select(draft_photos.c.photo_id).where(among(tx, draft_photos.c.photo_id, found))
    ids = set(found).difference(tx.execute(taken).scalars()) if found else found
    if ids:
        delete_photos(tx, among(tx, photos.c.id, ids))
    return len(found)


def delete_photos(tx: Transaction, *which: ColumnElement[bool]) -> None:
    """Delete photos with their files; objects in the store go after the commit."""
    mine = photo_files.c.photo_id.in_(select(photos.c.id).where(*which))
    stored = select(photos.c.gid, photo_files.c.width).join_from(photos, photo_files)
    rows = tx.execute(stored.where(*which, IN_STORE))
    tx.note(GONE, [key_of(row.gid, row.width) for row in rows])
    tx.execute(delete(photo_files).where(mine))
    tx.execute(delete(photos).where(*which))


def without_rows(tx: Transaction, found: Sequence[StoredObject], age: timedelta) -> list[str]:
    """Return the keys of those objects that are files of photos by their keys, older than `age`, and have no rows."""
    before = tx.now() - age
    old = {place: one.key for one in found if one.at < before and (place := place_of(one.key))}
    files = select(photos.c.gid, photo_files.c.width).join_from(photos, photo_files)
    rows = tx.execute(files.where(among(tx, photos.c.gid, {gid for gid, _ in old})))
    kept = {(row.gid, row.width) for row in rows}
    return [key for place, key in old.items() if place not in kept]


def newest_is_in_store(tx: Transaction) -> bool:
    """Return whether the bytes of the newest photo with files are in a store."""
    newest = select(IN_STORE).order_by(photo_files.c.photo_id.desc()).limit(1)
    return bool(tx.execute(newest).scalar())


def _row(owner_id: int, photo: Photo, now: datetime) -> dict[str, Any]:
    """Return the columns of a photo on no lot, by name."""
    return {
        "gid": photo.id,
        "owner_id": owner_id,
        "width": photo.width,
        "height": photo.height,
        "created_at": now,
        "unplaced_at": now,
    }


def _photo(row: Row[Any]) -> Photo:
    return Photo(row.gid, row.width, row.height, made_widths(row.width))
