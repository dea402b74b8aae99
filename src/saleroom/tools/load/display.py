"""What is shown while a load test runs: a live panel on a terminal, else a plain line every few seconds."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from saleroom.tools.load.bidders import Floor
from saleroom.tools.load.figures import Figures

LIVE_SECONDS, PLAIN_SECONDS = 0.25, 5.0


class Display:
    """Shows phases, and figures while there is bidding."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._figures: Figures | None = None
        self._floor: Floor | None = None
        self._clock = 0.0

    def __enter__(self) -> None:
        """Begin to show."""
        if self._live is not None:
            self._live.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()

    def phase(self, text: str) -> None:
        """Say what is done now."""
        self._floor = None
        if self._live is None:
            self._console.print(f"{text} ...", highlight=False)
        else:
            self._live.update(Text(f"{text} ..."), refresh=True)

    def bidding(self, figures: Figures, floor: Floor, clock: float) -> None:
        """Show figures from now on; `clock` is by how much the house's clock is ahead."""
        self._figures, self._floor, self._clock = figures, floor, clock
        if self._live is None:
            self._console.print(f"{len(floor.tokens)} bidders bid on {len(floor.ends)} lots", highlight=False)

    async def run(self) -> None:
        """Show the figures anew every moment, until cancelled."""
        while True:
            await asyncio.sleep(PLAIN_SECONDS if self._live is None else LIVE_SECONDS)
            if self._live is None:
                self._console.print(self.line(), highlight=False, soft_wrap=True)
            else:
                self._live.update(self._panel(), refresh=True)

    def line(self) -> str:
        """Return the figures of the last seconds in one line."""
        return ", ".join(f"{value} {name}" for name, value in self._values())

    def _values(self) -> list[tuple[str, str]]:
        assert self._figures is not None and self._floor is not None, "there is bidding"
        accepted, refused, latencies = self._figures.recent()
        return [
            ("s left", f"{self._left():.0f}"),
            ("accepted/s", f"{accepted:.0f}"),
            ("refused/s", f"{refused:.0f}"),
            ("errors", str(self._figures.errors)),
            ("ms p50", f"{latencies.p50_ms:.1f}"),
            ("ms p99", f"{latencies.p99_ms:.1f}"),
            ("in flight", str(self._figures.in_flight)),
            (f"of {len(self._floor.ends)} lots closed", str(len(self._floor.closed))),
        ]

    def _left(self) -> float:
        assert self._floor is not None, "there is bidding"
        return max(0.0, max(self._floor.ends.values()) / 1e6 - self._clock - time.monotonic())

    def _panel(self) -> RenderableType:
        assert self._figures is not None, "there is bidding"
        gone = time.monotonic() - self._figures.began
        table = Table.grid(padding=(0, 2))
        values = self._values()
        for _ in values:
            table.add_column(justify="right")
        table.add_row(*(Text(value, style="bold") for _, value in values))
        table.add_row(*(Text(name, style="dim") for name, _ in values))
        # A bar ends no line by itself, but a table around it does.
        bar = Table.grid(expand=True)
        bar.add_row(ProgressBar(total=gone + self._left(), completed=gone))
        return Group(bar, table)
