"""`saleroom photos move`: the files of photos go from their rows to the S3 store, or back, while the house serves.

To the store, a file is put there, read back and compared; then its row is emptied, in a transaction of its own. Back, it is
read and compared with its digest; then its row gets it; the objects go once all rows have theirs. So a file is in its row or in
the store at any time, and the next run goes on after one that was killed.

Two runs in opposite directions would take each other's files away. So a run has a lease, and writes only while it has it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct, field
from sqlalchemy import ColumnElement, select, update

from saleroom.admin.stored_photos import (
    AT_ONCE,
    BEFORE_ALL,
    NO_STORE,
    File,
    batches,
    count,
    objects_of,
    page,
)
from saleroom.admin.transfers import freeze_newest
from saleroom.bidding.storage.photo_owner import FOREIGN, owns
from saleroom.bidding.storage.photo_store import CONTENT_TYPE, BadObject, fetch, is_file
from saleroom.bidding.storage.photos import IN_STORE, place_of
from saleroom.bidding.storage.tables import photo_files, photos
from saleroom.kernel.errors import Refusal
from saleroom.opening import refuse_missing, run
from saleroom.settings import Settings
from saleroom.storage.bulk import among
from saleroom.storage.database import Database, Transaction
from saleroom.storage.leases import Lease
from saleroom.storage.objects import ObjectMissing, ObjectTooLarge, StoreUnavailable
from saleroom.storage.tables import leases
from saleroom.tools.progress import Progress

LEASE_NAME = "photos move"
LEASE_SECONDS = 60.0
"""Longer than a batch takes, even with a slow store."""
WAIT_SECONDS = 1.0
PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try of what a store has failed at: a move of hours does not end for a hiccup."""
LINGER_SECONDS = 20.0
"""Who has just read a row without bytes may still ask the store for them: objects stay for so long after the last row."""
FAULTS_SHOWN = 20
FAULTS_CODE = 1


class To(StrEnum):
    """Where the files go."""

    STORE = "store"
    ROWS = "rows"


class MoveSummary(Struct):
    """What a run has done: how many files it moved and objects it deleted, and why files stay where they are."""

    moved: int = 0
    deleted: int = 0
    faults: list[str] = field(default_factory=list)
    foreign: bool = False
    """Whether the place is that of another house, whose objects stay."""


def move(settings: Settings, to: To, *, say: Callable[[str], None]) -> int:
    """Move all files, say how many, and return the exit code. Raises Refusal."""
    refuse_missing(settings)
    place = settings.photo_place
    if not place:
        raise Refusal("name the store first, as the setting photo_store (docs/photos.md)")
    found = run(settings, lambda database: _Mover(database, to).move())
    say(f"Moved {found.moved} files of photos to {place.url if to is To.STORE else 'the database'}.")
    if to is To.ROWS:
        say(f"Deleted no objects: {FOREIGN}." if found.foreign else f"Deleted {found.deleted} objects.")
    for fault in found.faults[:FAULTS_SHOWN]:
        say(fault)
    if found.faults:
        say(f"Left where they are: {len(found.faults)} files.")
    return FAULTS_CODE if found.faults else 0


class _Mover:
    """One run."""

    def __init__(self, database: Database, to: To) -> None:
        objects = objects_of(database)
        if not objects:
            raise Refusal(NO_STORE)
        self._database, self._objects, self._to = database, objects, to
        self._holder = secrets.token_urlsafe(12)
        self._lease = Lease(LEASE_NAME, self._holder, LEASE_SECONDS)
        self._found = MoveSummary()
        self._progress = Progress()

    async def move(self) -> MoveSummary:
        await self._database.read(freeze_newest)
        with self._progress:
            await self._begin()
            try:
                await self._move_all()
                if self._to is To.ROWS and await self._may_delete():
                    await self._delete_objects()
            except StoreUnavailable as error:
                said = (
                    f"after {self._found.moved} files: {error}; saleroom photos move --to {self._to} goes on from there"
                )
                raise Refusal(said) from error
            finally:
                await self._lease.release(self._database)
        return self._found

    async def _begin(self) -> None:
        """Take the lease. One of a run that was killed lapses."""
        for _ in range(round(LEASE_SECONDS / WAIT_SECONDS) + 2):
            if await self._lease.hold(self._database):
                return
            self._progress.report("waiting for another move to end")
            await asyncio.sleep(WAIT_SECONDS)
        raise Refusal("another saleroom photos move is under way; wait for its end")

    async def _move_all(self) -> None:
        which = ~IN_STORE if self._to is To.STORE else IN_STORE
        total, done, after = await self._database.read(count, which), 0, BEFORE_ALL
        while files := await self._database.read(page, which, after):
            after = files[-1].place
            for some in batches(files, AT_ONCE):
                await self._move_some(some)
                done += len(some)
                self._progress.report(f"moving photos to the {self._to}", done, total)

    async def _move_some(self, files: list[File]) -> None:
        """Move a few files at once. After a fault of the store they are tried again. Raises StoreUnavailable."""
        one = self._to_store if self._to is To.STORE else self._to_row
        pauses = [*PAUSES]
        while True:
            await self._keep_lease()
            ended = await asyncio.gather(*(one(file) for file in files), return_exceptions=True)
            self._found.moved += ended.count(True)
            failed = {file: end for file, end in zip(files, ended, strict=True) if isinstance(end, BaseException)}
            if not failed:
                return
            for fault in failed.values():
                if not pauses or not isinstance(fault, StoreUnavailable):
                    raise fault
            files = list(failed)
            self._progress.report("waiting for the store")
            await asyncio.sleep(pauses.pop(0))

    async def _keep_lease(self) -> None:
        if not await self._lease.hold(self._database):
            raise Refusal("another saleroom photos move has begun, as this one stood still")

    async def _to_store(self, file: File) -> bool:
        """Put a file, read it back, and empty its row; return whether it was moved."""
        data = await self._database.read(_bytes, file)
        if not data:
            return False
        if not is_file(data, file.digest):
            return self._left(file, "its bytes in the database are not what its digest says")
        await self._objects.put(file.key, data, CONTENT_TYPE)
        try:
            is_there = await self._objects.get(file.key, len(data)) == data
        except (ObjectMissing, ObjectTooLarge):
            is_there = False
        if not is_there:
            return self._left(file, "the store gives back other bytes than it was given")
        if await self._database.write(_empty, self._holder, file):
            return True
        if not await self._database.read(_exists, file):
            await self._objects.delete([file.key])  # the photo was deleted meanwhile
        return False

    async def _to_row(self, file: File) -> bool:
        """Read a file from the store and fill its row; return whether it was moved."""
        try:
            data = await fetch(self._objects, file.key, file.width, file.digest)
        except BadObject as fault:
            return await self._database.read(_exists, file) and self._left(file, str(fault))
        return await self._database.write(_fill, self._holder, file, data)

    def _left(self, file: File, fault: str) -> bool:
        self._found.faults.append(f"photo {file.gid}, {file.width} pixels wide: {fault}")
        return False

    async def _may_delete(self) -> bool:
        self._found.foreign = not await owns(self._database, self._objects)
        return not self._found.foreign

    async def _delete_objects(self) -> None:
        """Delete the objects of all files whose rows have the bytes, also those that an earlier run has left."""
        until = asyncio.get_running_loop().time() + LINGER_SECONDS
        while (left := until - asyncio.get_running_loop().time()) > 0:
            self._progress.report("waiting for readers of the store", LINGER_SECONDS - left, LINGER_SECONDS)
            await asyncio.sleep(min(left, WAIT_SECONDS))
        async for listed in self._objects.pages():
            await self._keep_lease()
            named = {place: each.key for each in listed if (place := place_of(each.key))}
            keys = [named[place] for place in await self._database.read(_in_rows, named)]
            if not self._lease.is_certain():
                raise Refusal("the database was too slow to go on; call saleroom photos move again")
            await self._objects.delete(keys)
            self._found.deleted += len(keys)
            self._progress.report("deleting objects that are in the database now", self._found.deleted)


def _where(file: File) -> tuple[ColumnElement[bool], ...]:
    return photo_files.c.photo_id == file.photo_id, photo_files.c.width == file.width


def _bytes(tx: Transaction, file: File) -> bytes | None:
    """Return the bytes in the row of a file; None if the row is gone or empty."""
    found = tx.execute(select(photo_files.c.bytes).where(*_where(file))).scalar()
    return bytes(found) if found else None


def _exists(tx: Transaction, file: File) -> bool:
    return tx.execute(select(photo_files.c.width).where(*_where(file))).first() is not None


def _empty(tx: Transaction, holder: str, file: File) -> bool:
    """Empty a row that has bytes, and return whether there was one."""
    _refuse_without_lease(tx, holder)
    return bool(tx.execute(update(photo_files).where(*_where(file), ~IN_STORE).values(bytes=b"")).rowcount)


def _fill(tx: Transaction, holder: str, file: File, data: bytes) -> bool:
    """Fill a row without bytes, and return whether there was one."""
    _refuse_without_lease(tx, holder)
    return bool(tx.execute(update(photo_files).where(*_where(file), IN_STORE).values(bytes=data)).rowcount)


def _refuse_without_lease(tx: Transaction, holder: str) -> None:
    """Renew the lease, and raise Refusal if it has lapsed: another run may have taken what is about to be relied on."""
    now = tx.now()
    held = update(leases).where(leases.c.name == LEASE_NAME, leases.c.holder == holder, leases.c.expires_at > now)
    if not tx.execute(held.values(expires_at=now + timedelta(seconds=LEASE_SECONDS))).rowcount:
        raise Refusal("the move stood still for too long; call saleroom photos move again")


def _in_rows(tx: Transaction, places: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return those files, by gid and width, whose rows have the bytes."""
    found = select(photos.c.gid, photo_files.c.width).join_from(photos, photo_files).where(~IN_STORE)
    rows = tx.execute(found.where(among(tx, photos.c.gid, {gid for gid, _ in places})))
    return [(row.gid, row.width) for row in rows if (row.gid, row.width) in places]
