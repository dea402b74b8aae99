"""The places that connections take: counted in one process, or in memory that all processes of a house share."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import secrets
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

COUNTERS = 1 << 16
"""Counters of a process, 4 bytes each. Networks share them by a keyed hash."""
_FILE = "connections"
_KEY_BYTES = 16
_BYTES_EACH = 4


class Places(Protocol):
    """Counts of connections, in all and by network."""

    def all(self) -> int:
        """Return the connections of the house."""

    def of(self, network: str) -> int:
        """Return the connections of a network."""

    def add(self, network: str, number: int) -> None:
        """Count so many more of a network; -1 is one less."""


class OwnPlaces:
    """The places of a house with one process."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._count = 0

    def all(self) -> int:
        """Return the connections of the house."""
        return self._count

    def of(self, network: str) -> int:
        """Return the connections of a network."""
        return self._open[network]

    def add(self, network: str, number: int) -> None:
        """Count so many more of a network; -1 is one less."""
        self._count += number
        self._open[network] += number
        if self._open[network] <= 0:
            del self._open[network]


class SharedPlaces:
    """The places of a house with several processes, in a file that each of them maps into its memory.

    A process writes to its own row of counters alone, so no lock is needed; it adds up the rows of all. The kernel's lock
    on the row ends with its process. A network falls on two counters, and the lower one counts: only two networks that
    share both would count for each other, and nobody can choose with whom, because the hash has a key.
    """

    def __init__(self, folder: Path) -> None:
        """Take a row. Raises OSError if all rows are taken."""
        file = (folder / _FILE).open("r+b")
        self._memory = mmap.mmap(file.fileno(), 0)
        file.close()
        self._key = self._memory[:_KEY_BYTES]
        self._numbers = memoryview(self._memory)[_KEY_BYTES:].cast("I")
        self._rows = range(0, len(self._numbers), 1 + COUNTERS)
        self._row, self._claim = self._take(folder)

    @staticmethod
    def prepare(folder: Path, processes: int) -> None:
        """Make the file, before the first process starts. There are spare rows for processes that replace others."""
        rows = processes + 2
        with (folder / _FILE).open("xb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
            file.truncate(_KEY_BYTES + rows * (1 + COUNTERS) * _BYTES_EACH)

    def all(self) -> int:
        """Return the connections of the house."""
        return sum(self._numbers[row] for row in self._rows)

    def of(self, network: str) -> int:
        """Return the connections of a network."""
        return min(sum(self._numbers[row + counter] for row in self._rows) for counter in self._counters(network))

    def add(self, network: str, number: int) -> None:
        """Count so many more of a network; -1 is one less."""
        self._numbers[self._row] += number
        for counter in self._counters(network):
            self._numbers[self._row + counter] += number

    def _counters(self, network: str) -> set[int]:
        digest = hashlib.blake2b(network.encode(), key=self._key, digest_size=4).digest()
        return {1 + int.from_bytes(digest[:2]), 1 + int.from_bytes(digest[2:])}

    def _take(self, folder: Path) -> tuple[int, int]:
        """Take the first free row, and clear all free ones: they belonged to processes that have died."""
        taken = None
        for row, claim in self._free(folder):
            self._numbers[row : row + 1 + COUNTERS] = memoryview(bytes((1 + COUNTERS) * _BYTES_EACH)).cast("I")
            if taken is None:
                taken = row, claim  # which stays open as long as the process lives
            else:
                os.close(claim)
        if taken is None:
            raise OSError("more processes than were prepared for share the count of connections")
        return taken

    def _free(self, folder: Path) -> Iterator[tuple[int, int]]:
        for number, row in enumerate(self._rows):
            claim = os.open(folder / f"{_FILE}.{number}", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(claim)
                continue
            yield row, claim
