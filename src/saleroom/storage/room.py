"""Room: how much is free where the house writes, and how large its database is."""

from __future__ import annotations

import shutil
from enum import StrEnum
from pathlib import Path

from msgspec import Struct
from sqlalchemy import URL, text

from saleroom.storage.database import Transaction

BYTES_MIN, BYTES_LOW = 200 * 2**20, 2 * 2**30


class Enough(StrEnum):
    """Whether the room will do."""

    YES = "yes"
    LOW = "low"
    NO = "no"


class Room(Struct, frozen=True):
    """The bytes that are free at a folder."""

    folder: str
    free: int

    @property
    def enough(self) -> Enough:
        """Whether it will do."""
        if self.free < BYTES_MIN:
            return Enough.NO
        return Enough.LOW if self.free < BYTES_LOW else Enough.YES


def folder_of(url: URL) -> Path:
    """Return where a process of the house writes: beside the file of SQLite, otherwise where it was started."""
    is_file = url.get_backend_name() == "sqlite"
    return Path(url.database or "").absolute().parent if is_file else Path.cwd()


def room_at(folder: Path) -> Room:
    """Return the room at a folder. Raises OSError."""
    return Room(str(folder), shutil.disk_usage(folder).free)


def database_bytes(tx: Transaction) -> int:
    """Return how large the database is."""
    pages = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    statement = pages if tx.dialect == "sqlite" else "SELECT pg_database_size(current_database())"
    return int(tx.execute(text(statement)).scalar_one())
