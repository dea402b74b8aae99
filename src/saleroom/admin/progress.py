"""How far a long command is, on a terminal's standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import rich_click as click

QUIET_SECONDS, EVERY_SECONDS = 1.0, 0.2


class Progress:
    """Says what is being done, and how much of it, from the second second on; nothing where nobody looks."""

    def __init__(self) -> None:
        self._next = time.monotonic() + QUIET_SECONDS
        self._shown = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Tell that `done` of `total` is done; a total of 0 is not known."""
        now = time.monotonic()
        if now < self._next or not sys.stderr.isatty():
            return
        self._next = now + EVERY_SECONDS
        share = f" {min(100 * done // total, 100)} %" if total else " …"
        click.echo(f"\r\x1b[K{what}{share}", nl=False, err=True)
        self._shown = True

    def end(self) -> None:
        """Take away what is shown."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._shown = False


@contextmanager
def shown() -> Iterator[Progress]:
    """Show the progress of what is done meanwhile."""
    progress = Progress()
    try:
        yield progress
    finally:
        progress.end()
