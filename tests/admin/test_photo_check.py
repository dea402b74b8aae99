"""The photos of a database compared with its logs."""

import hashlib
from typing import Any

from sqlalchemy import Update, delete, select, update

from saleroom.admin.ledger_check import faults_of
from saleroom.bidding.domain.events import AuctionCreated, PhotosArranged
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.service import auctions, photos
from saleroom.bidding.service.renditions import make
from saleroom.bidding.storage.tables import photo_files
from saleroom.bidding.storage.tables import photos as rows
from saleroom.storage.database import Database
from tests.admin.test_ledger_check import tampered
from tests.bidding.domain.examples import eur
from tests.bidding.service.people import Person, logged, person, read, sells, stored
from tests.pictures import plain


async def _sent(database: Database, who: Person, count: int) -> list[str]:
    sent = [await database.write(photos.keep, who.token, make(plain((900, 450 + n)))) for n in range(count)]
    return [photo.id for photo in sent]


def _photo(photo_id: str, **values: Any) -> Update:
    return update(rows).where(rows.c.gid == photo_id).values(values)


async def test_photos_are_what_the_log_says(database: Database) -> None:
    """A change of the order, place, owner, width, digest or bytes of a photo is found."""
    ada, bob = await person(database), await person(database)
    gid, ids = await sells(database, ada), await _sent(database, ada, 3)
    await database.write(photos.arrange, ada.token, gid, ids[:2])
    assert [] == await database.read(faults_of)
    number = (await stored(database, gid)).id
    narrow = photo_files.c.photo_id.in_(select(rows.c.id).where(rows.c.gid == ids[0])) & (photo_files.c.width == 400)
    others, place = "its photos are not those of its log, or in another order", "its place or its owner is not"
    files = "photo 1: its widths or digests are not those of the log"
    for tamper, found in (
        (_photo(ids[2], auction_id=number, place=3, unplaced_at=None), others),
        (_photo(ids[1], auction_id=None, place=None), others),
        (_photo(ids[1], place=0), others),
        (_photo(ids[1], place=3), f"photo 2: {place}"),
        (_photo(ids[0], owner_id=bob.account.id), f"photo 1: {place}"),
        (update(photo_files).where(narrow).values(width=401), files),
        (update(photo_files).where(narrow).values(digest="5a" * 32), files),
        (delete(photo_files).where(narrow), files),
        (
            update(photo_files).where(narrow).values(bytes=b"bait"),
            "photo 1: its file 400 pixels wide does not have its digest",
        ),
    ):
        faults = await tampered(database, lambda tx, tamper=tamper: tx.execute(tamper))  # type: ignore[misc]  # bound now
        assert faults and faults[0].startswith(f"auction {gid}: {found}"), (str(tamper), faults)


async def test_photos_older_than_their_log_are_no_fault(database: Database) -> None:
    """Photos from before the log of photos are no fault, nor is a lot without any photo left."""
    ada = await person(database)
    before, empty = await sells(database, ada), await sells(database, ada)
    ids, number = await _sent(database, ada, 2), (await stored(database, before)).id
    await database.write(lambda tx: tx.execute(_photo(ids[0], auction_id=number, place=1, unplaced_at=None)))
    for wanted in (ids[1:], []):
        await database.write(photos.arrange, ada.token, empty, wanted)
    assert [] == await database.read(faults_of)


async def test_photos_that_are_given_with_a_lot_are_in_its_log(database: Database) -> None:
    """The second event of a lot created with photos has them, with the digest of every file."""
    ada = await person(database)
    [photo_id] = await _sent(database, ada, 1)
    draft = Draft(name="Clock", starting_price=eur("1"))
    gid = str(read(await database.write(auctions.create, ada.token, draft, None, [photo_id]))["gid"])
    created, arranged = await logged(database, gid)
    assert (AuctionCreated, PhotosArranged) == (type(created), type(arranged))
    assert isinstance(arranged, PhotosArranged)
    [photo] = arranged.photos
    assert (photo_id, [400, 800, 900]) == (photo.id, [file.width for file in photo.files])
    for file in photo.files:
        shown = await database.read(photos.file, photo_id, file.width)
        assert hashlib.sha256(shown.data).hexdigest() == file.sha256
    assert [] == await database.read(faults_of)
