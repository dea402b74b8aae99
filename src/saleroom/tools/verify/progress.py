"""Says how far a long piece of work has come, on a terminal and only once it has taken a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self, TextIO

PATIENCE_SECONDS = 1.0
EVERY_SECONDS = 0.25


class Progress:
    """A line on standard error that is written over, and gone at the end."""

    def __init__(self, err: TextIO | None = None) -> None:
        self._err = sys.stderr if err is None else err
        self._next = time.monotonic() + PATIENCE_SECONDS
        self._width = 0

    def __enter__(self) -> Self:
        """Say nothing yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away."""
        if self._width:
            self._write("")

    def say(self, text: str) -> None:
        """Say how far it is; `text` is our own."""
        now = time.monotonic()
        if now >= self._next and self._err.isatty():
            self._next = now + EVERY_SECONDS
            self._write(text)

    def _write(self, text: str) -> None:
        self._err.write(f"\r{text.ljust(self._width)}" if text else f"\r{' ' * self._width}\r")
        self._err.flush()
        self._width = len(text)
