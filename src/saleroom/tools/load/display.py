"""The display of a running load test: a bar and figures on a terminal, otherwise a plain line every few seconds."""

from __future__ import annotations

import asyncio
import time

from rich.console import Console
from rich.table import Table
from rich.text import Text

from saleroom.tools.load.bidders import Floor
from saleroom.tools.load.figures import Figures
from saleroom.tools.progress import EVERY_SECONDS, Progress

LINE_SECONDS = 5.0


class LoadDisplay:
    """Shows the steps of a test, and figures while there is bidding."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.progress = Progress(console, quiet_seconds=0)

    def step(self, text: str) -> None:
        """Show the step that the test takes now."""
        self.progress.details = ""
        if self._console.is_terminal:
            self.progress.report(f"{text} ...", now=True)
        else:
            self._console.print(f"{text} ...", highlight=False)

    async def show_bidding(self, figures: Figures, floor: Floor, clock: float) -> None:
        """Show the figures until cancelled. `clock` has the seconds by which the house's clock is ahead."""
        if not self._console.is_terminal:
            self._console.print(f"{len(floor.tokens)} bidders bid on {len(floor.ends)} lots", highlight=False)
        while True:
            await asyncio.sleep(EVERY_SECONDS if self._console.is_terminal else LINE_SECONDS)
            self.show(figures, floor, clock)

    def show(self, figures: Figures, floor: Floor, clock: float) -> None:
        """Show the figures of the last seconds once: each above its name, or all in one line."""
        left = max(0.0, max(floor.ends.values()) / 1e6 - clock - time.monotonic())
        values = _values(figures, floor, left)
        if not self._console.is_terminal:
            line = ", ".join(f"{value} {name}" for name, value in values)
            self._console.print(line, highlight=False, soft_wrap=True)
            return
        table = Table.grid(*("" for _ in values), padding=(0, 2))
        for column in table.columns:
            column.justify = "right"
        table.add_row(*(Text(value, style="bold") for _, value in values))
        table.add_row(*(Text(name, style="dim") for name, _ in values))
        self.progress.details = table
        gone = time.monotonic() - figures.began
        self.progress.report("bidding", gone, gone + left, now=True)


def _values(figures: Figures, floor: Floor, left: float) -> list[tuple[str, str]]:
    accepted, refused, latencies = figures.recent()
    return [
        ("s left", f"{left:.0f}"),
        ("accepted/s", f"{accepted:.0f}"),
        ("refused/s", f"{refused:.0f}"),
        ("errors", str(figures.errors)),
        ("ms p50", f"{latencies.p50_ms:.1f}"),
        ("ms p99", f"{latencies.p99_ms:.1f}"),
        ("in flight", str(figures.in_flight)),
        (f"of {len(floor.ends)} lots closed", str(len(floor.closed))),
    ]
