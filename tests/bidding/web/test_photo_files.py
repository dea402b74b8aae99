"""The files of photos in memory: read once while many look at a lot, within bounds, and gone soon after their rows."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest
from starlette.requests import Request

from saleroom.bidding.domain.errors import UnknownPhoto
from saleroom.bidding.service import photos as use_cases
from saleroom.bidding.storage.photos import PhotoFile
from saleroom.bidding.web import photos
from saleroom.bidding.web.photos import KeptFiles, PhotoFiles


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
