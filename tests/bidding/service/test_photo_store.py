"""Files of photos in an S3 store: put before their rows, deleted after them, and served only as they were put."""

import hashlib
import os
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select

from saleroom.accounts.storage.tables import users
from saleroom.bidding.domain.errors import PhotosUnavailable, TooManyPhotos, UnknownPhoto
from saleroom.bidding.domain.photos import UNPLACED_LIFETIME, UNPLACED_MAX, Photo
from saleroom.bidding.service import photo_sweep, photos
from saleroom.bidding.service.photo_sweep import AGE, PhotoSweep
from saleroom.bidding.service.photos import Photos
from saleroom.bidding.service.renditions import make
from saleroom.bidding.storage import photo_store
from saleroom.bidding.storage import photos as storage
from saleroom.bidding.storage.forgetting import forget
from saleroom.bidding.storage.photo_owner import MARK, owns
from saleroom.bidding.storage.photo_store import PHOTO_STORE, PhotoStore, file_bytes_max, with_bytes
from saleroom.bidding.storage.photos import GONE, key_of
from saleroom.bidding.storage.tables import photo_files
from saleroom.bidding.storage.tables import photos as rows
from saleroom.storage import backup, objects
from saleroom.storage.database import Database, Transaction
from saleroom.storage.objects import Objects, StoreUnavailable
from tests.bidding.service.people import person
from tests.fixtures_database import FakeClock, unique
from tests.object_store import ObjectStore
from tests.patience import until
from tests.pictures import plain

MADE = make(plain((900, 450)))


class BucketOfPhotos:
    """A bucket of its own, and the store of photos over it that a database has."""

    def __init__(self, server: ObjectStore, name: str = "") -> None:
        self.server = server
        self.name = name or unique("bucket").replace(".", "-")
        self.folder = server.bucket(self.name)
        self.store = PhotoStore(Objects(server.place(self.name)))

    def join(self, database: Database) -> Photos:
        """Let a database keep new photos here; return its intake of photos."""
        database.provide(PHOTO_STORE, self.store)
        self.store.is_owner = partial(owns, database, self.store.objects)
        database.after_commit(GONE, self.store.delete_soon)
        return Photos(database, 1_000_000)

    def age(self, by: timedelta) -> None:
        """Make all objects so old."""
        then = time.time() - by.total_seconds()
        for file in self.folder.rglob("*"):
            os.utime(file, (then, then))

    @property
    def keys(self) -> set[str]:
        """The keys of all objects but the mark."""
        return set(self.server.objects(self.name)) - {MARK}


@pytest.fixture
def stored(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> BucketOfPhotos:
    """A bucket of its own."""
    monkeypatch.setattr(photo_sweep, "PAGE_PAUSE_SECONDS", 0.0)
    return BucketOfPhotos(object_store)


async def counted(database: Database) -> tuple[int, int]:
    """The number of photos, and of bytes in the rows of their files."""

    def count(tx: Transaction) -> tuple[int, int]:
        in_rows = select(func.coalesce(func.sum(func.length(photo_files.c.bytes)), 0))
        return tx.execute(select(func.count()).select_from(rows)).scalar_one(), tx.execute(in_rows).scalar_one()

    return await database.read(count)


def number_of(tx: Transaction, name: str) -> int:
    """The number of a user."""
    return int(tx.execute(select(users.c.id).where(users.c.username == name)).scalar_one())


def forgotten(tx: Transaction, name: str) -> None:
    """Erase a user's photos."""
    forget(tx, number_of(tx, name))


def keys_of(photo: Photo) -> set[str]:
    """The keys of the files of a photo."""
    return {key_of(photo.id, width) for width in photo.widths}


async def test_a_photo_goes_to_the_store_and_comes_from_there(database: Database, stored: BucketOfPhotos) -> None:
    """Its rows have digests and no bytes; each file comes back as it was made."""
    taking_in, ada = stored.join(database), await person(database, "ada")
    photo = await taking_in.keep(ada.token, MADE)
    assert (1, 0) == await counted(database)
    assert keys_of(photo) == stored.keys
    for width, data in MADE.files.items():
        found = await with_bytes(database, await database.read(photos.file, photo.id, width))
        assert (data, hashlib.sha256(data).hexdigest()) == (found.data, found.digest)


async def test_rows_and_objects_stand_side_by_side(database: Database, stored: BucketOfPhotos) -> None:
    """A house that had its photos in rows shows them as before, and copies of photos in either place."""
    ada = await person(database, "ada")
    before = await database.write(photos.keep, ada.token, MADE)
    after = await stored.join(database).keep(ada.token, MADE)
    assert keys_of(after) == stored.keys

    def copied(tx: Transaction) -> list[str]:
        owner, now = number_of(tx, "ada"), tx.now()
        own = storage.of_owner(tx, owner, [before.id, after.id])
        return [storage.copy(tx, owner, one, f"copy-{name}", now).photo.id for name, one in own.items()]

    for photo_id in (before.id, after.id, *await database.write(copied)):
        found = await with_bytes(database, await database.read(photos.file, photo_id, 400))
        assert found.data == MADE.files[400]


async def test_without_the_store_nothing_is_kept(database: Database, tmp_path: Path) -> None:
    """A photo is refused before anything is written while the store is away, and kept once it is back."""
    (server := ObjectStore(tmp_path)).start()
    stored = BucketOfPhotos(server)
    taking_in, ada = stored.join(database), await person(database, "ada")
    first = await taking_in.keep(ada.token, MADE)
    server.kill()
    for asked in (
        taking_in.keep(ada.token, MADE),
        with_bytes(database, await database.read(photos.file, first.id, 400)),
    ):
        with pytest.raises(PhotosUnavailable):
            await asked
    await stored.store.settled()
    assert (1, 0) == await counted(database)
    server.start()
    try:
        await taking_in.keep(ada.token, MADE)
        assert (2, 0) == await counted(database)
    finally:
        server.kill()


async def test_a_refused_photo_leaves_nothing(database: Database, stored: BucketOfPhotos) -> None:
    """If the rows are refused after the files were put, the files go again."""
    taking_in, ada = stored.join(database), await person(database, "ada")
    for _ in range(UNPLACED_MAX):
        await database.write(photos.keep, ada.token, MADE)
    with pytest.raises(TooManyPhotos):
        await taking_in.keep(ada.token, MADE)
    await stored.store.settled()
    assert not stored.keys


async def test_what_a_crash_leaves_is_swept_after_a_day(database: Database, stored: BucketOfPhotos) -> None:
    """Objects without rows stay while their transaction may still come, and go after a day; those with rows stay."""
    taking_in, ada = stored.join(database), await person(database, "ada")
    kept = await taking_in.keep(ada.token, MADE)
    await stored.store.put("cut-off", MADE.files)
    sweep = PhotoSweep(database, stored.store)
    assert await sweep.sweep() == 0
    stored.age(AGE - timedelta(hours=1))
    assert await sweep.sweep() == 0
    stored.age(AGE + timedelta(hours=1))
    (stored.folder / "photos" / "notes.txt").write_text("of somebody else")
    stored.age(AGE + timedelta(hours=1))
    assert await sweep.sweep() == len(MADE.files)
    assert keys_of(kept) | {"photos/notes.txt"} == stored.keys


async def test_a_sweep_sees_all_pages(
    database: Database, stored: BucketOfPhotos, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long list is read page by page, also while its objects are deleted."""
    monkeypatch.setattr(objects, "PAGE", 2)
    stored.join(database)
    for number in range(3):
        await stored.store.put(f"cut-off-{number}", {400: MADE.files[400]})
    stored.age(2 * AGE)
    assert await PhotoSweep(database, stored.store).sweep() == 3
    assert not stored.keys


async def test_nothing_is_deleted_in_the_place_of_another_house(database: Database, stored: BucketOfPhotos) -> None:
    """A house that was given the place of another one deletes nothing there, by the sweep or with a row."""
    taking_in, ada = stored.join(database), await person(database, "ada")
    photo = await taking_in.keep(ada.token, MADE)
    await stored.store.put("of-another-house", MADE.files)
    (stored.folder / MARK).write_text("another house")
    stored.age(2 * AGE)
    assert await PhotoSweep(database, stored.store).sweep() == 0
    await database.write(forgotten, "ada")
    await stored.store.settled()
    assert (0, 0) == await counted(database)
    assert keys_of(photo) | {f"photos/of-another-house/{width}.webp" for width in MADE.files} == stored.keys


@pytest.mark.databases("sqlite")
async def test_a_copy_of_a_database_deletes_nothing(database: Database, tmp_path: Path, stored: BucketOfPhotos) -> None:
    """A copy of the house that runs with its settings shows its photos, and takes none of them away."""
    taking_in, ada = stored.join(database), await person(database, "ada")
    await PhotoSweep(database, stored.store).sweep()
    before = await taking_in.keep(ada.token, MADE)
    copy = tmp_path / "copy.db"
    backup.copy(Path(str(database.url.database)), copy, lambda *_: None)
    after = await taking_in.keep(ada.token, MADE)
    stored.age(2 * AGE)
    other = BucketOfPhotos(stored.server, stored.name)
    other.join(copied := Database(f"sqlite:///{copy}"))
    assert (await with_bytes(copied, await copied.read(photos.file, before.id, 400))).data == MADE.files[400]
    assert await PhotoSweep(copied, other.store).sweep() == 0
    await copied.write(forgotten, "ada")
    await other.store.settled()
    await copied.close()
    assert keys_of(before) | keys_of(after) == stored.keys


async def test_a_photo_on_no_lot_goes_from_the_store(
    clocked_database: Database, clock: FakeClock, stored: BucketOfPhotos
) -> None:
    """A day after it was left over, its objects go with its rows."""
    taking_in, ada = stored.join(clocked_database), await person(clocked_database, "ada")
    await taking_in.keep(ada.token, MADE)
    clock.advance(UNPLACED_LIFETIME.total_seconds())
    assert await clocked_database.write(photos.sweep) == 1
    await stored.store.settled()
    assert not stored.keys


async def test_an_erasure_reaches_the_store(database: Database, stored: BucketOfPhotos) -> None:
    """The photos of a person on no lot go from the store, those of others stay."""
    taking_in = stored.join(database)
    ada, bob = await person(database, "ada"), await person(database, "bob")
    await taking_in.keep(ada.token, MADE)
    kept = await taking_in.keep(bob.token, MADE)
    await database.write(forgotten, "ada")
    await stored.store.settled()
    assert keys_of(kept) == stored.keys


async def test_an_erasure_reaches_a_store_that_was_away(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be deleted goes as soon as the store is back, however young it is."""
    monkeypatch.setattr(photo_store, "AGAIN_SECONDS", 0.1)
    (server := ObjectStore(tmp_path)).start()
    try:
        stored = BucketOfPhotos(server)
        taking_in = stored.join(database)
        ada, bob = await person(database, "ada"), await person(database, "bob")
        for one in (ada, bob):
            await taking_in.keep(one.token, MADE)
        server.kill()
        for name in ("ada", "bob"):
            await database.write(forgotten, name)
            await stored.store.settled()
        assert 2 * len(MADE.files) == len(stored.keys)
        server.start()
        # Files may go while they are looked at, so only their names are.
        await until(
            lambda: not [file for _, _, found in os.walk(stored.folder / "photos") for file in found], "all goes"
        )
    finally:
        server.kill()


async def test_one_process_sweeps_each_hour(
    clocked_database: Database, clock: FakeClock, stored: BucketOfPhotos, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several processes one sweeps, and none within the hour; a sweep that failed is tried again after a minute."""
    stored.join(clocked_database)
    first, second = (PhotoSweep(clocked_database, stored.store) for _ in range(2))
    assert [True, False, False] == [await one.sweep_if_due() for one in (first, second, first)]
    clock.advance(photo_sweep.PAUSE_SECONDS - 1)
    assert [False, False] == [await one.sweep_if_due() for one in (first, second)]
    clock.advance(1)

    async def away(self: PhotoSweep) -> int:
        raise StoreUnavailable("the store is away")

    with monkeypatch.context() as patched:
        patched.setattr(PhotoSweep, "sweep", away)
        assert [True, False] == [await one.sweep_if_due() for one in (second, first)]
    clock.advance(photo_sweep.AGAIN_SECONDS)
    assert [True, False] == [await one.sweep_if_due() for one in (first, second)]


def _page(_: bytes) -> bytes:
    return b"<script>alert(1)</script>"


def _other_photo(_: bytes) -> bytes:
    return make(plain((410, 300))).files[400]


def _huge(data: bytes) -> bytes:
    return data + bytes(file_bytes_max(400))


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("damage", [_page, _other_photo, _huge, None])
async def test_only_what_was_put_is_served(
    database: Database, stored: BucketOfPhotos, damage: Callable[[bytes], bytes] | None
) -> None:
    """Somebody who can write to the bucket brings nothing onto the house's pages, and no file of any size into its memory."""
    taking_in, ada = stored.join(database), await person(database, "ada")
    photo = await taking_in.keep(ada.token, MADE)
    file = stored.folder / key_of(photo.id, 400)
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))
    found = await database.read(photos.file, photo.id, 400)
    with pytest.raises(UnknownPhoto):
        await with_bytes(database, found)
    assert stored.store.objects.outcomes["get", "done"] == (damage in (_page, _other_photo))


@pytest.mark.databases("sqlite")
async def test_without_the_setting_a_stored_photo_is_unavailable(database: Database, stored: BucketOfPhotos) -> None:
    """A house whose settings name the store no more says so, for these photos alone."""
    ada = await person(database, "ada")
    assert not await database.read(storage.newest_is_in_store)
    await database.write(photos.keep, ada.token, MADE, "in-the-store")
    assert await database.read(storage.newest_is_in_store)
    with pytest.raises(PhotosUnavailable, match="do not name"):
        await with_bytes(database, await database.read(photos.file, "in-the-store", 400))
