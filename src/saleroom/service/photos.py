"""Photos: taken in, put on lots, shown."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from sqlalchemy.exc import IntegrityError

from saleroom.domain import selling
from saleroom.domain.accounts import Account
from saleroom.domain.auction import Auction, Party
from saleroom.domain.errors import Busy, Fault, Invalid, TooManyPhotos, UnknownAuction, UnknownPhoto
from saleroom.domain.photos import (
    PHOTO_ID_BYTES,
    UNPLACED_LIFETIME,
    UNPLACED_MAX,
    Photo,
    made_widths,
    refuse_bad_list,
)
from saleroom.service.accounts import authenticate
from saleroom.service.imaging import FIELD, Made, make
from saleroom.service.recording import lock_one
from saleroom.storage import auctions, photos
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import TryAgain
from saleroom.storage.photos import PhotoFile

THREADS = 1
"""Decoding takes a processor and up to 300 MB: one picture at a time, so that a seller never slows the bids much."""
WAITING_MAX = 16
"""Pictures that may wait for their turn, and as many that may be on their way in; beyond it the house is busy."""
SWEPT_AT_ONCE = 100
_BUSY = "Too many photos at once; try again in a moment."


class Photos:
    """Takes photos in. `bytes_max` is how large the file of one may be."""

    def __init__(self, database: Database, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._database = database
        self._pool = ThreadPoolExecutor(THREADS, "photos")
        self._receiving = 0
        self._under_way = 0

    async def check(self, token: str) -> None:
        """Raise what `store` would, as far as it does not depend on the photo: a door asks before it reads the file."""
        await self._database.read(refuse_too_many, token)

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Count a file that is on its way in, so that what is in memory is bounded. Raises Busy."""
        if self._receiving >= WAITING_MAX:
            raise Busy(_BUSY)
        self._receiving += 1
        try:
            yield
        finally:
            self._receiving -= 1

    async def store(self, token: str, data: bytes) -> Photo:
        """Return the new photo, which is on no lot yet.

        Raises Unauthenticated, Invalid (field `photo`), TooManyPhotos or Busy.
        """
        if len(data) > self.bytes_max:
            fault = Fault("file_too_large", f"must have at most {self.bytes_max} bytes", limit=self.bytes_max)
            raise Invalid({FIELD: [fault]})
        if self._under_way >= THREADS + WAITING_MAX:
            raise Busy(_BUSY)
        self._under_way += 1
        try:
            await self.check(token)
            made = await asyncio.get_running_loop().run_in_executor(self._pool, make, data)
        finally:
            self._under_way -= 1
        return await self._database.write(keep, token, made)

    def close(self) -> None:
        """Let the threads end."""
        self._pool.shutdown(cancel_futures=True)


def refuse_too_many(tx: Transaction, token: str) -> Account:
    """Return who may add one more photo. Raises Unauthenticated or TooManyPhotos."""
    account = authenticate(tx, token)
    if photos.count_unplaced(tx, account.id) >= UNPLACED_MAX:
        raise TooManyPhotos(limit=UNPLACED_MAX)
    return account


def keep(tx: Transaction, token: str, made: Made) -> Photo:
    """Store a photo. Raises Unauthenticated or TooManyPhotos."""
    photos.lock_owner(tx, authenticate(tx, token).id)
    account = refuse_too_many(tx, token)
    photo = Photo(secrets.token_urlsafe(PHOTO_ID_BYTES), made.width, made.height, made_widths(made.width))
    try:
        photos.add(tx, account.id, photo, made.files, tx.now())
    except IntegrityError as error:
        raise TryAgain("the photo's id was taken") from error
    return photo


def own(tx: Transaction, token: str, ids: Collection[str]) -> list[Photo]:
    """Return those of `ids` that are one's own photos, on a lot or not, in this order. Raises Unauthenticated."""
    found = photos.of_owner(tx, authenticate(tx, token).id, ids)
    return [found[one].photo for one in dict.fromkeys(ids) if one in found]


def arrange(tx: Transaction, token: str, gid: str, ids: Sequence[str]) -> list[Photo]:
    """Have exactly these photos on a lot, in this order, and return them; what is taken off stays one's own for a day.

    Raises Unauthenticated, UnknownAuction, as `domain.selling.amend` does, or Invalid (field `photos`).
    """
    account = authenticate(tx, token)
    auction = lock_one(tx, gid)
    selling.refuse_unless_amendable(auction, Party(account.id, account.username), tx.now())
    return put_on(tx, account, auction, ids)


def put_on(tx: Transaction, account: Account, auction: Auction, ids: Sequence[str]) -> list[Photo]:
    """Have exactly these of the account's photos on its locked lot. Raises Invalid (field `photos`)."""
    refuse_bad_list(ids)
    found = photos.of_owner(tx, account.id, ids, lock=True)
    if len(found) < len(ids):
        raise Invalid.one("photos", "unknown_photo", "must be photos that you have sent and that are still kept")
    kept = [found[one] for one in ids]
    if any(one.auction_id not in (None, auction.id) for one in kept):
        raise Invalid.one("photos", "photo_in_use", "must not be on another lot; send the picture once more")
    photos.place(tx, auction.id, kept, tx.now())
    return [one.photo for one in kept]


def of_lot(tx: Transaction, gid: str) -> list[Photo]:
    """Return a lot's photos in their order. Raises UnknownAuction."""
    auction = auctions.get(tx, gid)
    if auction is None:
        raise UnknownAuction
    return photos.of_auction(tx, auction.id)


def covers(tx: Transaction, gids: Collection[str]) -> dict[str, Photo]:
    """Return the first photo of each of these lots that has one, by gid."""
    return photos.covers(tx, gids)


def file(tx: Transaction, photo_id: str, width: int) -> PhotoFile:
    """Return a photo in one of its widths, to anybody who knows its id. Raises UnknownPhoto."""
    found = photos.file(tx, photo_id, width)
    if found is None:
        raise UnknownPhoto
    return found


def sweep(tx: Transaction) -> int:
    """Forget some of the photos that have been on no lot for a day, and return how many."""
    return photos.sweep(tx, tx.now() - UNPLACED_LIFETIME, SWEPT_AT_ONCE)
