"""Printing: the paper of a sale, one for staff and one for everybody else at a time (`press.py`)."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from functools import partial
from pathlib import Path

import msgspec

from saleroom.bidding.domain.errors import UnknownPhoto
from saleroom.bidding.storage.photo_store import with_bytes
from saleroom.bidding.storage.photos import PhotoFile
from saleroom.sales.service.paper import papers
from saleroom.sales.service.paper.papers import Letterhead, Paper, PaperOrder
from saleroom.sales.service.paper.press import Press, Turns
from saleroom.sales.storage import lots
from saleroom.storage.database import Database
from saleroom.storage.patience import read_patiently

PHOTOS_AT_ONCE = 50
KEPT_MAX = 8
KEPT_BYTES_MAX = 128 * 2**20
"""How much public paper is kept in memory: it is the same for all until something in it changes."""
PROGRAM = "saleroom.sales.service.paper.typesetting"


class Printer:
    """Makes paper. Strangers have a turn of their own, so that they never hold up those who run a sale."""

    def __init__(self, database: Database, house: str, currency: str) -> None:
        self._database = database
        self._house = house
        self._currency = currency
        self._staff, self._public = Turns(), Turns()
        self._kept = _LastPapers()
        self._press = Press(PROGRAM)

    async def make(self, token: str | None, gid: str, order: PaperOrder, origin: str) -> bytes:
        """Return paper as a PDF; codes on it lead to the house at `origin`.

        Raises Unauthenticated, MissingRight, UnknownSale, or Busy if too many wait or it takes too long.
        """
        await self._database.read(papers.refuse, token, gid, order.needed)
        head = Letterhead(house=self._house, currency=self._currency, origin=origin)
        async with (self._staff if order.needed is not None else self._public).turn():
            paper = await self._database.read(papers.read, token, gid, order, head)
            key = await asyncio.to_thread(_key, paper) if order.needed is None else b""
            kept = self._kept.get(key)
            if kept is not None:
                return kept
            made = await self._made(paper)
            if key:
                self._kept.put(key, made)
            return made

    def close(self) -> None:
        """Kill the processes, and refuse further paper."""
        self._press.close()

    async def _made(self, paper: Paper) -> bytes:
        return await self._press.make(paper.kind, paper.data, partial(self._fetch, paper))

    async def _fetch(self, paper: Paper, folder: Path) -> None:
        """Write the photos of a paper to its folder, some at a time; one that is gone since is left out with its place."""
        names = {photo: Path(name).stem for name, photo in paper.photos.items()}
        ids = list(names)
        for start in range(0, len(ids), PHOTOS_AT_ONCE):
            some = await read_patiently(self._database, lots.narrowest, ids[start : start + PHOTOS_AT_ONCE])
            filled = await asyncio.gather(*(self._bytes_of(file) for file in some.values()))
            found = {names[one]: data for one, data in zip(some, filled, strict=True) if data}
            await asyncio.to_thread(_write, folder, found)

    async def _bytes_of(self, file: PhotoFile) -> bytes | None:
        """Return the bytes of a file, or None if the store has lost it. Raises PhotosUnavailable."""
        try:
            return (await with_bytes(self._database, file)).data
        except UnknownPhoto:
            return None


class _LastPapers:
    """The last papers that anyone may have, by the digest of what they show."""

    def __init__(self) -> None:
        self._found: OrderedDict[bytes, bytes] = OrderedDict()

    def get(self, key: bytes) -> bytes | None:
        found = self._found.get(key)
        if found is not None:
            self._found.move_to_end(key)
        return found

    def put(self, key: bytes, made: bytes) -> None:
        self._found[key] = made
        while len(self._found) > KEPT_MAX or sum(map(len, self._found.values())) > KEPT_BYTES_MAX:
            self._found.popitem(last=False)


def _key(paper: Paper) -> bytes:
    return hashlib.sha256(msgspec.json.encode([paper.data, paper.photos], order="sorted")).digest()


def _write(folder: Path, photos: dict[str, bytes]) -> None:
    for stem, data in photos.items():
        (folder / f"{stem}.webp").write_bytes(data)
