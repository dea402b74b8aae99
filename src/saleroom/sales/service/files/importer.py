"""Imports from their files to their transaction: sheets are read by a process of their own, and photos are made before.

A photo of an import is kept for a day, by the digest of its file. So an import that was cut off goes on where it stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

from msgspec import structs

from saleroom.bidding.service.decoder import Decoder
from saleroom.bidding.service.photos import write_made
from saleroom.confined.confinement import Confinement
from saleroom.kernel.errors import Busy, Fault, Invalid
from saleroom.sales.domain.photo_files import SentPhoto
from saleroom.sales.service.files import archives, importing, sheets
from saleroom.sales.service.files.archives import PackedPhoto, read_confined
from saleroom.sales.service.files.importing import CatalogueUpload, HouseRules, Report, wanted
from saleroom.storage.database import Database

Tell = Callable[[int, int], object]
"""Told how many photos of how many are done."""


def tell_nobody(done: int, total: int) -> None:
    """Tell nobody how many photos are done."""


class Importer:
    """Imports catalogues, one at a time in a process: an archive takes room on the disk, and a sheet takes memory."""

    def __init__(self, database: Database, photo_bytes_max: int, rules: HouseRules) -> None:
        self._database = database
        self._photo_bytes_max = photo_bytes_max
        self._rules = rules
        self._decoder = Decoder()
        self._files = Confinement("files of imports")
        self._is_taken = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the only place for an import, from before its files are read. Raises Busy if another holds it."""
        if self._is_taken:
            raise Busy("Another import is running; try again when it is done.")
        self._is_taken = True
        try:
            yield
        finally:
            self._is_taken = False

    def close(self) -> None:
        """Kill the reading of a sheet, and the decoding of a picture."""
        self._files.close()
        self._decoder.close()

    async def refuse(self, token: str | None, gid: str) -> None:
        """Raise as `importing.refuse_to_import`, before files are read."""
        await self._database.read(importing.refuse_to_import, token, gid)

    async def look(self, token: str | None, gid: str, sheet: bytes | None, photos: BinaryIO | None) -> Report:
        """Return what the import of a sheet, an archive of photos, or both would do. Raises Invalid for their files alone."""
        sent, _ = await self._read(sheet, photos)
        return await self._database.read(importing.look, token, gid, sent, self._rules)

    async def run(
        self, token: str, gid: str, sheet: bytes | None, photos: BinaryIO | None, tell: Tell = tell_nobody
    ) -> Report:
        """Import a sheet, an archive of photos, or both, and return what that did. Raises as `importing.run`."""
        sent, packed = await self._read(sheet, photos)
        report, missing = await self._database.read(importing.missing, token, gid, sent, self._rules)
        if report.refusal is not None:
            raise report.refusal
        if photos is not None:
            needed = await asyncio.to_thread(_needed, report, packed, missing)
            await self._make(token, gid, photos, needed, tell)
        return await self._database.write(importing.run, token, gid, sent, self._rules)

    async def _read(
        self, sheet: bytes | None, photos: BinaryIO | None
    ) -> tuple[CatalogueUpload, Mapping[SentPhoto, PackedPhoto]]:
        """Return what the files say, and where each photo is in its archive. Raises Invalid with the faults of both."""
        faults: dict[str, list[Fault]] = {}
        sent, packed = CatalogueUpload(), dict[SentPhoto, PackedPhoto]()
        if sheet is None and photos is None:
            raise Invalid.one(sheets.CATALOGUE, "required", "is required, or photos are")
        try:
            if sheet is not None:
                rows, headings = await sheets.read_confined(self._files, sheet)
                sent = structs.replace(sent, rows=rows, headings=headings)
        except Invalid as invalid:
            faults |= invalid.faults
        try:
            if photos is not None:
                found = await read_confined(self._files, photos, self._photo_bytes_max)
                packed = {one.photo: one for one in found}
                sent = structs.replace(sent, photos=[one.photo for one in found])
        except Invalid as invalid:
            faults |= invalid.faults
        if faults:
            raise Invalid(faults)
        return sent, packed

    async def _make(
        self, token: str, gid: str, archive: BinaryIO, files: list[tuple[PackedPhoto, int]], tell: Tell
    ) -> None:
        """Make and keep so many photos of each file, as one is on one lot. Raises Invalid with the faults of all files."""
        faults: list[Fault] = []
        for done, (one, count) in enumerate(files):
            tell(done, len(files))
            try:
                made = await self._decoder.make(await asyncio.to_thread(archives.unpacked, archive, one))
            except Invalid as invalid:
                faults += [
                    archives.named(one.photo.path, fault) for every in invalid.faults.values() for fault in every
                ]
                continue
            for _ in range(count):
                await write_made(self._database, made, importing.keep, token, gid, made, one.photo.digest)
        tell(len(files), len(files))
        archives.refuse(faults)


def _needed(
    report: Report, packed: Mapping[SentPhoto, PackedPhoto], missing: Mapping[str, int]
) -> list[tuple[PackedPhoto, int]]:
    """Return where the photos are that the house has still to make, and how many of each; `missing` are those by digest."""
    files = {one.digest: packed[one] for one in wanted(report, packed).values()}
    return [(files[digest], count) for digest, count in missing.items()]
