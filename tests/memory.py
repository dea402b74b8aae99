"""Where tests keep their files: in memory, if the machine has room there. A run removes what a killed one has left there."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
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


MARK = "of-run"
"""The file in a folder that says which process it is for."""
STOP_SECONDS_MAX = 10.0


def folder_in_memory(prefix: str, within: str | Path | None = None) -> Path:
    """Make a folder `within` another one, or else in memory if there is room, that goes with this process or after it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within or roomy_memory()))
    mark(folder)
    return folder


def mark(folder: Path) -> None:
    """Say that a folder is for this process alone."""
    (folder / MARK).write_text(f"{os.getpid()} {_namespace()}")


def remove_left(memory: Path) -> None:
    """Remove the folders of processes that have ended, with the servers that still run in them."""
    for folder in (*memory.glob("saleroom-*"), *memory.glob("pytest-of-*/pytest-[0-9]*")):
        if folder.is_symlink() or not _is_left(folder):
            continue
        _stop_server(folder / "data")
        disk = folder / "disk"
        if disk.is_mount():
            subprocess.run(["umount", "--lazy", disk], check=False, capture_output=True)
        if not disk.is_mount():
            shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    """Whether the process of a folder has ended. Another one with its number, or in another container, counts as that one."""
    try:
        number, namespace = (folder / MARK).read_text().split(" ")
        pid = int(number)
    except (OSError, ValueError):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return namespace == _namespace()
    except OSError:
        return False
    return False


def _stop_server(data: Path) -> None:
    """Stop the server of PostgreSQL that works in a folder, if one does."""
    with suppress(OSError, ValueError):
        number = int((data / "postmaster.pid").read_text().split("\n")[0])
        process = Path(f"/proc/{number}/cwd")
        end = time.monotonic() + STOP_SECONDS_MAX
        while process.resolve(strict=True) == data.resolve() and time.monotonic() < end:
            os.kill(number, signal.SIGQUIT)
            time.sleep(0.05)


def _namespace() -> str:
    """Return the name of the space in which numbers of processes count, which containers may have for themselves."""
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink())
    return "here"
