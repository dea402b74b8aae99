"""The files of photos in memory: read once while many look at a lot, within bounds, and gone soon after their rows."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

import pytest
from starlette.requests import Request

from saleroom.bidding.domain.errors import PhotosUnavailable, UnknownPhoto
from saleroom.bidding.service import photos as use_cases
from saleroom.bidding.storage.photos import PhotoFile
from saleroom.bidding.web import photos
from saleroom.bidding.web.photos import KeptFiles, PhotoFiles
from tests.patience import until


class Rows:
    """The database with one photo, which counts how often it is read."""

    reads = 0
    there = True

    @property
    def database(self) -> Rows:
        """The database."""
        return self

    async def read(self, use_case: Any, photo_id: str, width: int) -> PhotoFile:
        """Return the photo. Raises UnknownPhoto once it is deleted."""
        assert (use_cases.file, "photo", 400) == (use_case, photo_id, width)
        self.reads += 1
        if not self.there:
            raise UnknownPhoto
        return PhotoFile("digest", b"webp", 400)


def asked() -> Request:
    """Return a request for the photo."""
    path = {"id": "photo", "width": "400"}
    return Request({"type": "http", "method": "GET", "headers": [], "path_params": path})


async def test_a_file_is_read_once_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a file is kept it is not read again; later it is, and one that was deleted is gone."""
    now, rows = [1000.0], Rows()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    files = PhotoFiles(cast("Any", rows))
    assert [b"webp"] * 3 == [(await files.show(asked())).body for _ in range(3)]
    assert 1 == rows.reads
    rows.there = False
    now[0] += photos.KEPT_SECONDS
    with pytest.raises(UnknownPhoto):
        await files.show(asked())


async def test_constant_readers_keep_no_file_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is always asked for is read again as soon as any other, so a deleted one is soon gone."""
    now, rows = [1000.0], Rows()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    files = PhotoFiles(cast("Any", rows))
    for _ in range(4):
        await files.show(asked())
        now[0] += photos.KEPT_SECONDS / 3
    assert 2 == rows.reads


class Store:
    """A store of photos that answers when it is told to, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked, self.answer = 0, asyncio.Event()
        self.fails = False

    async def bytes_of(self, database: Any, file: PhotoFile) -> PhotoFile:
        """Return the file with its bytes. Raises PhotosUnavailable if the store fails."""
        self.asked += 1
        await self.answer.wait()
        if self.fails:
            raise PhotosUnavailable
        return PhotoFile(file.digest, b"webp", file.width)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that has the photo."""
    store = Store()
    monkeypatch.setattr(photos, "with_bytes", store.bytes_of)
    return store


class StoredRows(Rows):
    """The database with one photo whose bytes are in the store."""

    async def read(self, use_case: Any, photo_id: str, width: int) -> PhotoFile:
        """Return the photo after everybody has asked."""
        await asyncio.sleep(0)
        found = await super().read(use_case, photo_id, width)
        return PhotoFile(found.digest, b"", found.width, "key")


async def test_a_thousand_readers_at_once_read_a_file_once(store: Store) -> None:
    """They cause one read of its row and one of its object, also if the first of them leaves meanwhile."""
    rows = StoredRows()
    files = PhotoFiles(cast("Any", rows))
    readers = [asyncio.create_task(files.show(asked())) for _ in range(1000)]
    await until(lambda: store.asked == 1, "the store is asked")
    assert 1 == rows.reads
    readers[0].cancel()
    await until(lambda: store.asked == 2, "the next reader asks")
    store.answer.set()
    assert {b"webp"} == {(await one).body for one in readers[1:]}
    assert (1, 2) == (rows.reads, store.asked)


async def test_a_store_that_fails_is_asked_once_for_all(store: Store) -> None:
    """The error reaches all who wait, and the next reader asks again."""
    store.fails = True
    files = PhotoFiles(cast("Any", StoredRows()))
    readers = [asyncio.create_task(files.show(asked())) for _ in range(100)]
    await until(lambda: store.asked == 1, "the store is asked")
    store.answer.set()
    found = await asyncio.gather(*readers, return_exceptions=True)
    assert {PhotosUnavailable} == {type(one) for one in found}
    store.fails = False
    assert b"webp" == (await files.show(asked())).body
    assert 2 == store.asked


async def test_no_reader_waits_without_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers of a store that never answers are told so, those who wait for another's read as well."""
    monkeypatch.setattr(photos, "READER_SECONDS_MAX", 0.1)
    files = PhotoFiles(cast("Any", StoredRows()))
    found = await asyncio.gather(*(files.show(asked()) for _ in range(3)), return_exceptions=True)
    assert [PhotosUnavailable] * 3 == [type(one) for one in found]


def test_files_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were read first are forgotten for later ones; a file that is read again counts once."""
    monkeypatch.setattr(photos, "KEPT_BYTES_MAX", 100)
    kept = KeptFiles()
    for number in (1, 1, 2, 3, 1, 4):
        kept.keep(("photo", number), PhotoFile("", bytes(30), 400))
    assert [False, True, False, True, True] == [kept.get(("photo", number)) is not None for number in (2, 3, 9, 1, 4)]
    kept.keep(("large", 1), PhotoFile("", bytes(101), 400))
    assert [None] * 4 == [kept.get(("photo", number)) for number in (1, 3, 4, 2)]
    kept.keep(("photo", 1), PhotoFile("", bytes(100), 400))
    assert kept.get(("photo", 1)) is not None
