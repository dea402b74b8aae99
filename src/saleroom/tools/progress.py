"""The progress of a long command, on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bars

from saleroom.tools.console import ToolConsole

QUIET_SECONDS, EVERY_SECONDS = 1.0, 0.2


class Progress(Bars):
    """A line with a bar, by default on standard error. It is shown only on a terminal, and removed at the end.

    A command that takes less than `quiet_seconds` shows nothing.
    """

    def __init__(self, console: Console | None = None, quiet_seconds: float = QUIET_SECONDS) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=None), TaskProgressColumn())
        console = ToolConsole(stderr=True) if console is None else console
        self.details: RenderableType = ""
        """The lines below the bar."""
        super().__init__(*columns, console=console, auto_refresh=False, transient=True, expand=True)
        self._shown = console.is_terminal
        self._next = time.monotonic() + quiet_seconds
        self._task = self.add_task("", total=None)

    def __enter__(self) -> Self:
        """Show nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line."""
        if self.live.is_started:
            self.stop()

    def report(self, what: str, done: float = 0, total: float = 0, *, now: bool = False) -> None:
        """Show that `done` of `total` is done; a total of 0 is unknown. It may be called often, and from any thread.

        Reports that come within EVERY_SECONDS are skipped, except for those to be shown `now`.
        """
        at = time.monotonic()
        if not self._shown or (at < self._next and not now):
            return
        self._next = at + EVERY_SECONDS
        # A new task each time, because a task whose total is known cannot lose it.
        self.remove_task(self._task)
        self._task = self.add_task(what, total=total or None, completed=int(done))
        self.start()
        self.refresh()

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the line and the details."""
        yield from super().get_renderables()
        if self.details:
            yield self.details
