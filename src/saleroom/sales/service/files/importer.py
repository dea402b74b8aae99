"""Imports from their files to their transaction: sheets are read by a process of their own, and photos are made before.

A photo of an import is kept for a day, by the digest of its file. So an import that was cut off goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from msgspec import structs

from saleroom.bidding.service.decoder import Decoder
from saleroom.bidding.service.photos import write_made
from saleroom.bidding.service.renditions import FIELD
from saleroom.confined.confinement import Confinement
from saleroom.kernel.errors import Busy, Fault, Invalid
from saleroom.sales.domain.photo_files import SentPhoto
from saleroom.sales.service.files import archives, importing, sheets
from saleroom.sales.service.files.importing import CatalogueUpload, HouseRules, Report, wanted
from saleroom.storage.database import Database

ARCHIVE_BYTES_MAX = 512 * 2**20
"""The largest archive of photos, and the most that it may unpack to: pictures hardly shrink."""
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
        self._sheets = Confinement("sheets")
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
        self._sheets.close()
        self._decoder.close()

    async def refuse(self, token: str | None, gid: str) -> None:
        """Raise as `importing.refuse_to_import`, before files are read."""
        await self._database.read(importing.refuse_to_import, token, gid)

    async def look(self, token: str | None, gid: str, sheet: bytes | None, photos: BinaryIO | None) -> Report:
        """Return what the import of a sheet, an archive of photos, or both would do. Raises Invalid for their files alone."""
        with ExitStack() as stack:
            sent, _ = await self._read(stack, sheet, photos)
            return await self._database.read(importing.look, token, gid, sent, self._rules)

    async def run(
        self, token: str, gid: str, sheet: bytes | None, photos: BinaryIO | None, tell: Tell = tell_nobody
    ) -> Report:
        """Import a sheet, an archive of photos, or both, and return what that did. Raises as `importing.run`."""
        with ExitStack() as stack:
            sent, archive = await self._read(stack, sheet, photos)
            report, missing = await self._database.read(importing.missing, token, gid, sent, self._rules)
            if report.refusal is not None:
                raise report.refusal
            if archive is not None:
                files = {one.digest: one for one in wanted(report, sent).values()}
                needed = [(files[digest], count) for digest, count in missing.items()]
                await self._make(token, gid, archive, needed, tell)
            return await self._database.write(importing.run, token, gid, sent, self._rules)

    async def _read(
        self, stack: ExitStack, sheet: bytes | None, photos: BinaryIO | None
    ) -> tuple[CatalogueUpload, zipfile.ZipFile | None]:
        """Return what the files say; the archive stays open as long as `stack`. Raises Invalid with the faults of both."""
        faults: dict[str, list[Fault]] = {}
        sent, archive = CatalogueUpload(), None
        if sheet is None and photos is None:
            raise Invalid.one(sheets.CATALOGUE, "required", "is required, or photos are")
        try:
            if sheet is not None:
                rows, headings = await sheets.read_confined(self._sheets, sheet)
                sent = structs.replace(sent, rows=rows, headings=headings)
        except Invalid as invalid:
            faults |= invalid.faults
        try:
            if photos is not None:
                archive, found = await asyncio.to_thread(self._read_photos, stack, photos)
                sent = structs.replace(sent, photos=found)
        except Invalid as invalid:
            faults |= invalid.faults
        if faults:
            raise Invalid(faults)
        return sent, archive

    def _read_photos(self, stack: ExitStack, photos: BinaryIO) -> tuple[zipfile.ZipFile, list[SentPhoto]]:
        archive = stack.enter_context(archives.opened(photos, archives.PHOTOS, ARCHIVE_BYTES_MAX))
        return archive, archives.sent_photos(archive, self._photo_bytes_max)

    async def _make(
        self, token: str, gid: str, archive: zipfile.ZipFile, files: list[tuple[SentPhoto, int]], tell: Tell
    ) -> None:
        """Make and keep so many photos of each file, as one is on one lot. Raises Invalid with the faults of all files."""
        faults: list[Fault] = []
        for done, (one, count) in enumerate(files):
            tell(done, len(files))
            try:
                made = await self._decoder.make(await asyncio.to_thread(archives.unpacked, archive, one))
            except Invalid as invalid:
                faults += [archives.named(one.path, fault) for fault in invalid.faults[FIELD]]
                continue
            for _ in range(count):
                await write_made(self._database, made, importing.keep, token, gid, made, one.digest)
        tell(len(files), len(files))
        archives.refuse(faults)
