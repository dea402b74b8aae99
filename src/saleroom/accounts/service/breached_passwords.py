"""Breached passwords: found in a copy of the published list of SHA-1 hashes, without any network.

The list is that of Have I Been Pwned: one file, sorted, with a line `HASH:COUNT` for each password; or a folder of its ranges,
with a file for each first five digits of a hash, whose lines have the other 35. Nothing of it is kept in memory.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import structlog

from saleroom.accounts.domain.errors import BreachedPassword
from saleroom.kernel.errors import Refusal

LINE_MAX = 128
"""Bytes: more than a hash and any count."""
RANGE_DIGITS = 5
RANGE_BYTES_MAX = 2**20
SAMPLES = 64
_DIGITS = 40
_RANGES = ("00000", "7FFFF", "FFFFF")

log = structlog.get_logger()


class BreachedPasswords:
    """The list in a file or a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def refuse(self, password: str) -> None:
        """Raise BreachedPassword if the list has the password. If the list cannot be read now, log that and pass."""
        digest = hashlib.sha1(password.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest().upper()
        try:
            found = self._in_folder(digest) if self._path.is_dir() else self._in_file(digest.encode())
        except OSError as error:
            log.error("the list of breached passwords cannot be read", reason=str(error))
            return
        if found:
            raise BreachedPassword

    def check(self) -> None:
        """Raise Refusal, with a message for people, unless the list can be read and has the form of one."""
        try:
            fault = self._folder_fault() if self._path.is_dir() else self._file_fault()
        except OSError as error:
            fault = error.strerror or str(error)
        if fault is not None:
            raise Refusal(
                f"breached_passwords: {self._path}: {fault}; take the SHA-1 list of Have I Been Pwned, sorted by hash, "
                "or the folder of its ranges"
            )

    def _in_file(self, digest: bytes) -> bool:
        """Search the sorted lines by halves: 36 short reads in 40 gigabytes."""
        with self._path.open("rb") as file:
            low, high = 0, os.fstat(file.fileno()).st_size
            while low < high:
                start, line = _line_at(file.fileno(), (low + high) // 2)
                found = line[:_DIGITS].upper()
                if found == digest:
                    return True
                if found < digest:
                    low = start + len(line) + 1
                else:
                    high = start
        return False

    def _in_folder(self, digest: str) -> bool:
        file = self._range(digest[:RANGE_DIGITS])
        if file is None:
            log.warning("the list of breached passwords has no file for a range", range=digest[:RANGE_DIGITS])
            return False
        with file.open("rb") as lines:
            found = lines.read(RANGE_BYTES_MAX).upper()
        rest = digest[RANGE_DIGITS:].encode()
        return re.search(rb"(?m)^" + rest + rb"(?::(?!0+\r?$)|\r?$)", found) is not None

    def _range(self, name: str) -> Path | None:
        files = (self._path / f"{spelt}{end}" for spelt in (name, name.lower()) for end in ("", ".txt"))
        return next((file for file in files if file.is_file()), None)

    def _file_fault(self) -> str | None:
        with self._path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return "is empty"
            lines = [_line_at(file.fileno(), size * place // SAMPLES)[1] for place in range(SAMPLES)]
        hashes = [line[:_DIGITS].upper() for line in lines]
        if not all(re.fullmatch(rb"[0-9A-Fa-f]{40}(?::[0-9]{1,20})?\r?", line) for line in lines):
            return "has lines that are no SHA-1 hash with a count"
        return None if hashes == sorted(hashes) else "is not sorted by hash"

    def _folder_fault(self) -> str | None:
        for name in _RANGES:
            file = self._range(name)
            if file is None:
                return f"has no file {name}"
            with file.open("rb") as lines:
                first = lines.readline(LINE_MAX)
            if re.fullmatch(rb"[0-9A-Fa-f]{35}(?::[0-9]{1,20})?\r?\n?", first) is None:
                return f"{name} does not begin with the rest of a SHA-1 hash"
        return None


def _line_at(file: int, place: int) -> tuple[int, bytes]:
    """Return the line that has the byte at `place`: where it begins, and its bytes without the line feed."""
    before = max(0, place - LINE_MAX)
    read = os.pread(file, 2 * LINE_MAX, before)
    begins = read.rfind(b"\n", 0, place - before) + 1
    return before + begins, read[begins:].partition(b"\n")[0]
