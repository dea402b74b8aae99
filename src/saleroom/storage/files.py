"""Files that appear complete or not at all, and that only their owner can read."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

COMPANIONS = ("-wal", "-shm", "-journal")
"""The files that SQLite keeps beside a database while it is open, or after a crash."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def beside(file: Path) -> Iterator[Path]:
    """Make an empty file (mode 0600) in the folder of `file`; it is deleted at the end unless it was renamed.

    Only a killed process leaves one behind: `.NAME.….part`. Raises OSError, which names `file` if the disk is full.
    """
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        error.filename = str(file)  # the name that the user knows
        raise
    try:
        yield part
    except OSError as error:
        if error.errno in NO_ROOM and error.filename is None:
            error.filename = str(file)
        raise
    finally:
        for suffix in ("", *COMPANIONS):
            Path(f"{part}{suffix}").unlink(missing_ok=True)


def publish(part: Path, file: Path, *, force: bool = False) -> None:
    """Rename `part` to `file` in one step, after its bytes are on the disk. Raises FileExistsError unless `force`, OSError."""
    _sync(part)
    if not force and file.exists():
        raise FileExistsError(f"{file} exists already")
    if not force:
        with suppress(PermissionError, NotImplementedError):  # a file system without hard links
            os.link(part, file)
            part.unlink()
    if part.exists():
        part.replace(file)
    _sync(file.parent)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
