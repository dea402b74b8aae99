"""The files of photos that are in the S3 store, as the owner's commands read them (docs/photos.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from msgspec import Struct
from sqlalchemy import ColumnElement, func, select, tuple_

from saleroom.bidding.storage.photo_store import PHOTO_STORE, BadObject, fetch
from saleroom.bidding.storage.photos import IN_STORE, key_of
from saleroom.bidding.storage.tables import photo_files, photos
from saleroom.kernel.errors import Refusal
from saleroom.storage.bulk import among
from saleroom.storage.database import Database, Transaction
from saleroom.storage.objects import Objects, StoreUnavailable
from saleroom.storage.transfer import SomeRows

V = TypeVar("V")
PAGE = 100
AT_ONCE = 4
"""How many files a command reads or puts at a time: their bytes are in memory."""
BEFORE_ALL = (-(1 << 63), 0)
NO_STORE = "files of photos are in a store that the settings do not name; set photo_store"


class File(Struct, frozen=True):
    """A file of a photo: the number and the gid of the photo that has it, its width in pixels, and its SHA-256."""

    photo_id: int
    gid: str
    width: int
    digest: str

    @property
    def place(self) -> tuple[int, int]:
        """Its primary key, by which files are ordered."""
        return self.photo_id, self.width

    @property
    def key(self) -> str:
        """Its key in the store."""
        return key_of(self.gid, self.width)


def count(tx: Transaction, which: ColumnElement[bool] = IN_STORE) -> int:
    """Return how many files there are, without a condition those in the store."""
    return int(tx.execute(select(func.count()).select_from(photo_files).where(which)).scalar_one())


def page(tx: Transaction, which: ColumnElement[bool], after: tuple[int, int]) -> list[File]:
    """Return the next `PAGE` files after a place, in their order, without their bytes."""
    key = tuple_(photo_files.c.photo_id, photo_files.c.width)
    found = (
        select(photo_files.c.photo_id, photos.c.gid, photo_files.c.width, photo_files.c.digest)
        .join_from(photo_files, photos)
        .where(which, key > tuple_(*after))
        .order_by(photo_files.c.photo_id, photo_files.c.width)
        .limit(PAGE)
    )
    return [File(*tuple(row)) for row in tx.execute(found)]


def batches(values: Iterable[V], size: int) -> Iterator[list[V]]:
    """Yield the values in lists of at most `size`."""
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some


def objects_of(database: Database) -> Objects | None:
    """Return the objects of the store that the settings name."""
    store = database.provided(PHOTO_STORE)
    return store.objects if store else None


async def faults(database: Database, report: Callable[[str, int, int], None], most: int) -> list[str]:
    """Return what is wrong with files in the store, at most so many faults. Raises Refusal if the store is away."""
    total, objects = await database.read(count), objects_of(database)
    if not objects:
        return [f"{total} {NO_STORE}"] if total else []
    found: list[str] = []
    done, after = 0, BEFORE_ALL
    while (files := await database.read(page, IN_STORE, after)) and len(found) < most:
        after = files[-1].place
        for some in batches(files, AT_ONCE):
            said = await asyncio.gather(*(_fault(objects, file) for file in some))
            wrong = [(file, fault) for file, fault in zip(some, said, strict=True) if fault]
            # A photo that was deleted meanwhile lacks nothing.
            there = await database.read(_still_stored, [file for file, _ in wrong]) if wrong else set()
            found += [f"photo {file.gid}, {file.width} pixels wide: {fault}" for file, fault in wrong if file in there]
            done += len(some)
            report("checking photos in the store", done, total)
    return found[:most]


async def _fault(objects: Objects, file: File) -> str | None:
    try:
        await fetch(objects, file.key, file.width, file.digest)
    except BadObject as fault:
        return str(fault)
    except StoreUnavailable as error:
        raise Refusal(f"the photos in the store cannot be checked: {error}") from error
    return None


def _still_stored(tx: Transaction, files: Collection[File]) -> set[File]:
    places = {file.place: file for file in files}
    of_these = among(tx, photo_files.c.photo_id, {file.photo_id for file in files})
    rows = tx.execute(select(photo_files.c.photo_id, photo_files.c.width).where(of_these, IN_STORE))
    return {places[row.photo_id, row.width] for row in rows if (row.photo_id, row.width) in places}


def filled(tx: Transaction, rows: SomeRows) -> SomeRows:
    """Return rows of `photo_files`, as an export has them, with the bytes of those that are in the store. Raises Refusal.

    A transaction cannot wait. So the bytes are read by a thread with an event loop of its own.
    """
    stored = [row for row in rows if not row["bytes"]]
    if not stored:
        return rows
    store = tx.provided(PHOTO_STORE)
    if not store:
        raise Refusal(f"nothing is exported: {NO_STORE}")
    gids = {row.id: row.gid for row in tx.execute(_gids(tx, {row["photo_id"] for row in stored}))}
    files = [File(row["photo_id"], gids[row["photo_id"]], row["width"], row["digest"]) for row in stored]
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(asyncio.run, _all(store.objects, files)).result()
    return [row if row["bytes"] else {**row, "bytes": found[row["photo_id"], row["width"]]} for row in rows]


def _gids(tx: Transaction, numbers: Collection[int]) -> Any:
    return select(photos.c.id, photos.c.gid).where(among(tx, photos.c.id, numbers))


async def _all(objects: Objects, files: Sequence[File]) -> dict[tuple[int, int], bytes]:
    found: dict[tuple[int, int], bytes] = {}
    for some in batches(files, AT_ONCE):
        read = await asyncio.gather(*(_for_export(objects, file) for file in some))
        found |= {file.place: data for file, data in zip(some, read, strict=True)}
    return found


async def _for_export(objects: Objects, file: File) -> bytes:
    try:
        return await fetch(objects, file.key, file.width, file.digest)
    except BadObject as fault:
        raise Refusal(f"nothing is exported: photo {file.gid}, {file.width} pixels wide: {fault}") from fault
    except StoreUnavailable as error:
        raise Refusal(f"nothing is exported: {error}") from error
