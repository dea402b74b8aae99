"""Photos: received, put on lots, shown."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.domain.accounts import Account, Holder
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import TooManyPhotos, UnknownPhoto
from saleroom.bidding.domain.events import ShownFile, ShownPhoto
from saleroom.bidding.domain.photos import (
    PHOTO_ID_BYTES,
    UNPLACED_LIFETIME,
    UNPLACED_MAX,
    Photo,
    made_widths,
    refuse_bad_list,
)
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.service.changes import counted
from saleroom.bidding.service.decoder import Decoder
from saleroom.bidding.service.lookup import get_one, lock_to_change, sees
from saleroom.bidding.service.places import Places, Sender
from saleroom.bidding.service.recording import Step, advance, record, steps
from saleroom.bidding.service.renditions import FIELD, Renditions
from saleroom.bidding.storage import auctions, photos
from saleroom.bidding.storage.photo_store import PHOTO_STORE
from saleroom.bidding.storage.photos import OwnPhoto, PhotoFile
from saleroom.kernel.errors import Fault, Invalid, MissingRight, Refusal, Unauthenticated
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import HangUp, TryAgain

R = TypeVar("R")

PLACES = 16
"""The most photos that may be uploading or waiting for the decoder; a form with files takes a place for each photo's size."""
PLACES_OF_USER, PLACES_OF_NETWORK = 6, 10
PLACES_KEPT = 4
"""The last places, which are for users and networks that hold none."""
SWEPT_AT_ONCE = 100


class LotPhotos(Struct, frozen=True):
    """The photos of a lot, and the tag of its state."""

    tag: str
    photos: list[Photo]


class Photos:
    """Receives photos. `bytes_max` is the largest size of a file."""

    def __init__(self, database: Database, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._database = database
        self._decoder = Decoder()
        self._places = Places(PLACES, user=PLACES_OF_USER, network=PLACES_OF_NETWORK, kept=PLACES_KEPT)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def sender_of(self, token: str) -> str:
        """Return the sender's username, before a photo is read. Raises Unauthenticated or TooManyPhotos."""
        return (await self._database.read(refuse_too_many, token)).username

    def receiving(self, sender: Sender, size: int = 0) -> AbstractContextManager[None]:
        """Hold places for `size` bytes of photos while they upload, so that the memory of all uploads is bounded.

        Raises TooManyRequests if the sender has its share of the places, or Busy.
        """
        return self._places.taken(sender, max(1, -(-size // self.bytes_max)))

    async def decode(self, sender: Sender, data: bytes) -> Renditions:
        """Return the renditions of a picture.

        Only one picture of each user and network is in line for the decoder, so pictures of others come between. Cancelling
        ends the work. Raises Invalid (field `photo`), or Busy if the house closes.
        """
        if len(data) > self.bytes_max:
            fault = Fault("file_too_large", f"must have at most {self.bytes_max} bytes", limit=self.bytes_max)
            raise Invalid({FIELD: [fault]})
        async with self._turn(sender.user), self._turn(f"network {sender.network}"):
            return await self._decoder.make(data)

    async def keep(self, token: str, made: Renditions) -> Photo:
        """Return the new photo, which is on no lot yet. Raises Unauthenticated, TooManyPhotos or PhotosUnavailable."""
        return await write_made(self._database, made, keep, token, made)

    def close(self) -> None:
        """Kill the decoding of a picture."""
        self._decoder.close()

    def _turn(self, key: str) -> asyncio.Lock:
        return self._turns.setdefault(key, asyncio.Lock())


async def write_made(database: Database, made: Renditions, use_case: Callable[..., R], *args: object) -> R:
    """Return what `use_case(tx, *args, stored_as)` returns, which writes the rows of a new photo.

    With a store of photos the files are put there before, for a photo with the id `stored_as`; without one it is None. Raises
    PhotosUnavailable before anything is written, and as `use_case`; after a refusal the files are deleted again.
    """
    store = database.provided(PHOTO_STORE)
    if store is None:
        return await database.write(use_case, *args, None)
    photo_id = secrets.token_urlsafe(PHOTO_ID_BYTES)
    try:
        await store.put(photo_id, made.files)
        return await database.write(use_case, *args, photo_id)
    except (Refusal, HangUp):
        store.delete_soon([photos.key_of(photo_id, width) for width in made.files])
        raise


def new_photo(made: Renditions, stored_as: str | None) -> Photo:
    """Return the photo with these renditions, under the id that its files have in the store or a new one."""
    return Photo(stored_as or secrets.token_urlsafe(PHOTO_ID_BYTES), made.width, made.height, made_widths(made.width))


def refuse_too_many(tx: Transaction, token: str) -> Account:
    """Return the user, if one more photo is allowed. Raises Unauthenticated or TooManyPhotos."""
    account = authenticate(tx, token, Right.SELL)
    if photos.count_unplaced(tx, account.id) >= UNPLACED_MAX:
        raise TooManyPhotos(limit=UNPLACED_MAX)
    return account


def keep(tx: Transaction, token: str, made: Renditions, stored_as: str | None = None) -> Photo:
    """Store a photo; its files are in the store already if it is `stored_as` an id.

    Raises Unauthenticated or TooManyPhotos.
    """
    accounts.lock_user(tx, authenticate(tx, token, Right.SELL).id)
    account = refuse_too_many(tx, token)
    photo = new_photo(made, stored_as)
    try:
        photos.add(tx, account.id, photo, made.files, in_store=stored_as is not None)
    except IntegrityError as error:
        raise TryAgain("the photo's id was taken") from error
    return photo


def own(tx: Transaction, token: str, ids: Collection[str]) -> list[Photo]:
    """Return those of `ids` that are the user's photos, on a lot or not, in this order. Raises Unauthenticated."""
    found = photos.of_owner(tx, authenticate(tx, token, Right.READ).id, ids)
    return [found[one].photo for one in dict.fromkeys(ids) if one in found]


def arrange(tx: Transaction, token: str, gid: str, ids: Sequence[str], seen: Precondition | None = None) -> LotPhotos:
    """Put exactly these photos on a lot, in this order, and return them; removed ones are kept for a day.

    Raises Unauthenticated, UnknownAuction, as `domain.selling.arrange` does, Invalid (field `photos`), TooManyPhotos or
    TooManyChanges.
    """
    account = authenticate(tx, token, Right.SELL)
    auction = lock_to_change(tx, gid, account.party)
    selling.refuse_unless_amendable(auction, account.party, tx.now(), seen)
    auction = counted(tx, auction, put_on(tx, account, auction, ids))
    return LotPhotos(auction.tag, photos.of_auction(tx, auction.id))


def put_on(tx: Transaction, account: Holder, auction: Auction, ids: Sequence[str]) -> Auction:
    """Put exactly these photos of the account on its locked lot, and return the lot after that.

    If it has them already, nothing happens. A photo of another lot is copied if that lot is over; it stays there. Raises
    Invalid (field `photos`), TooManyPhotos, and as `domain.selling.arrange`.
    """
    refuse_bad_list(ids)
    found = photos.of_owner(tx, account.id, ids, lock=True)
    if len(found) < len(ids):
        raise Invalid.one("photos", "unknown_photo", "must be photos that you have sent and that are still kept")
    kept = [found[one] for one in ids]
    elsewhere = {one.auction_id for one in kept if one.auction_id is not None} - {auction.id}
    if elsewhere and not all(other.over for other in auctions.by_ids(tx, elsewhere)):
        raise Invalid.one("photos", "photo_in_use", "must not be on another lot; send the picture once more")
    if list(ids) == [one.id for one in photos.of_auction(tx, auction.id)]:
        return auction
    kept = [_copy(tx, account, one) if one.auction_id in elsewhere else one for one in kept]
    events = selling.arrange(auction, account.party, _with_digests(tx, kept), tx.now())
    photos.place(tx, auction.id, kept, tx.now())
    if elsewhere and photos.count_unplaced(tx, account.id) > UNPLACED_MAX:
        raise TooManyPhotos(limit=UNPLACED_MAX)  # copies that were on this lot until now
    return advance(tx, auction, events)


def put_on_new(tx: Transaction, lots: Sequence[tuple[Auction, Sequence[OwnPhoto]]]) -> None:
    """Put photos of their authors that are on no lot on new lots, which have none."""
    placed = {auction.id: found for auction, found in lots if found}
    digests = photos.digests(tx, [one.files_id for found in placed.values() for one in found])
    taken: list[Step] = []
    for auction, found in lots:
        if found:
            shown = [_shown(one, digests) for one in found]
            taken += steps(auction, selling.arrange(auction, auction.author, shown, auction.changed_at))
    photos.place_new(tx, placed)
    record(tx, taken)


def logged(tx: Transaction, auction: Auction) -> list[ShownPhoto]:
    """Return the photos of a lot as its log names them."""
    ids = [one.id for one in photos.of_auction(tx, auction.id)]
    found = photos.of_owner(tx, auction.author.id, ids)
    return _with_digests(tx, [found[one] for one in ids])


def _with_digests(tx: Transaction, found: Sequence[OwnPhoto]) -> list[ShownPhoto]:
    digests = photos.digests(tx, [one.files_id for one in found])
    return [_shown(one, digests) for one in found]


def _shown(one: OwnPhoto, digests: Mapping[int, Sequence[tuple[int, str]]]) -> ShownPhoto:
    return ShownPhoto(one.photo.id, tuple(ShownFile(*file) for file in digests[one.files_id]))


def _copy(tx: Transaction, account: Holder, source: OwnPhoto) -> OwnPhoto:
    return photos.copy(tx, account.id, source, secrets.token_urlsafe(PHOTO_ID_BYTES), tx.now())


def of_lot(tx: Transaction, gid: str) -> list[Photo]:
    """Return a lot's photos in their order. Raises UnknownAuction."""
    return shown(tx, gid).photos


def shown(tx: Transaction, gid: str) -> LotPhotos:
    """Return a lot's photos in their order, and its tag. Raises UnknownAuction."""
    auction = get_one(tx, gid)
    return LotPhotos(auction.tag, photos.of_auction(tx, auction.id))


def covers(tx: Transaction, gids: Collection[str]) -> dict[str, Photo]:
    """Return the first photo of each of these lots that has one, by gid."""
    return photos.covers(tx, gids)


def file(tx: Transaction, photo_id: str, width: int) -> PhotoFile:
    """Return a photo in one of its widths. One that is `hidden_on` an auction is not for everybody. Raises UnknownPhoto."""
    found = photos.file(tx, photo_id, width)
    if found is None:
        raise UnknownPhoto
    return found


def refuse_hidden(tx: Transaction, token: str | None, gid: str) -> None:
    """Raise UnknownPhoto unless the token's user may see what is on this auction, which staff hide."""
    try:
        viewer = authenticate(tx, token, Right.READ)
    except (Unauthenticated, MissingRight):
        viewer = None
    if not sees(get_one(tx, gid), viewer):
        raise UnknownPhoto


def sweep(tx: Transaction) -> int:
    """Delete some of the photos that have been on no lot for a day, and return how many."""
    return photos.sweep(tx, tx.now() - UNPLACED_LIFETIME, SWEPT_AT_ONCE)
