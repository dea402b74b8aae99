"""Where tests keep their files: in memory, if the machine has room there."""

import os
import shutil
from pathlib import Path

MEMORY_BYTES_MIN = 4 * 2**30
"""A PostgreSQL server keeps at most 1 GB of its log, and one runs for each process of the tests."""


def roomy_memory() -> Path | None:
    """Return a file system in memory if it has room. Names in it must be made by `tempfile`.

    A commit of SQLite waits there for no disk, and a database is made with a fifth of the processor time.
    """
    memory = Path("/dev/shm")  # noqa: S108  # nobody can guess what tempfile calls things there
    has_room = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > MEMORY_BYTES_MIN
    return memory if has_room else None
