"""Where a sale is shown: a live view on a terminal, else a line for each event, or the events themselves."""

from __future__ import annotations

import asyncio
import re
import select
import sys
from collections import deque
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from saleroom.tools.watch.channel import CannotWatch
from saleroom.tools.watch.lots import Happening, Lot
from saleroom.tools.watch.sale import Sale
from saleroom.tools.watch.words import left, plain, standing, words

PAINT_SECONDS = 0.25
READER_SECONDS = 1.0
EVENTS_SHOWN_MAX = 10
HEAD_LINES = 6
"""Lines of the view that are neither a lot nor an event."""
SOON = timedelta(minutes=1)
_FAR = datetime.max.replace(tzinfo=UTC)
_NO_TERMINAL = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


class NobodyReads(Exception):
    """Standard output is closed: whoever read has seen enough, such as `head`."""


class Shown(Protocol):
    """A display, from its beginning to its end."""

    def __enter__(self) -> object:
        """Begin to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""

    def event(self, payload: str, event: Happening, lot: Lot | None) -> None:
        """Show an event."""

    def notice(self, text: str) -> None:
        """Say something about the watch itself."""

    async def run(self, sale: Sale) -> None:
        """Show the sale anew every moment, until cancelled."""


class Lines:
    """A line on `out` for each event, in words or as JSON; what is said about the watch itself goes to `err`."""

    def __init__(self, out: TextIO, err: TextIO, *, json: bool) -> None:
        self._out, self._err, self._json = out, err, json

    def __enter__(self) -> None:
        """Nothing is prepared."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left behind."""

    def event(self, payload: str, event: Happening, lot: Lot | None) -> None:
        """Write the event, at once."""
        if self._json:
            line = _NO_TERMINAL.sub(lambda mark: f"\\u{ord(mark[0]):04x}", payload) if self._out.isatty() else payload
        else:
            line = f"{event.time:%Y-%m-%dT%H:%M:%S.%fZ} {in_words(event, lot)}"
        try:
            self._out.write(f"{line}\n")
            self._out.flush()
        except BrokenPipeError:
            raise NobodyReads from None
        except OSError as error:
            # It must not pass for an error of the connection, which would be tried again.
            raise CannotWatch(f"standard output cannot be written: {error.strerror}") from None

    def notice(self, text: str) -> None:
        """Write it beside the events."""
        self._err.write(f"saleroom: {plain(text)}\n")
        self._err.flush()

    async def run(self, sale: Sale) -> None:
        """Notice that nobody reads any more, also while there is nothing to write. Raises NobodyReads."""
        reader = select.poll()
        reader.register(self._out.fileno(), 0)  # asks for nothing but a closed pipe, which is always told
        while not reader.poll(0):  # noqa: ASYNC110  # no event loop tells it of a pipe that is only written to
            await asyncio.sleep(READER_SECONDS)
        raise NobodyReads


class View:
    """The lots, the time that is left, and the last events. It is painted in place, or with `screen` over all the terminal."""

    def __init__(self, console: Console, *, screen: bool) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, screen=screen, vertical_overflow="crop")
        self._events: deque[Text] = deque(maxlen=EVENTS_SHOWN_MAX)

    def __enter__(self) -> None:
        """Take the terminal."""
        self._live.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last view standing."""
        self._live.stop()

    def event(self, payload: str, event: Happening, lot: Lot | None) -> None:
        """Have it among the last events at the next painting."""
        self._say(f"{event.time.astimezone():%H:%M:%S} {in_words(event, lot)}")

    def notice(self, text: str) -> None:
        """Have it among the last events at the next painting."""
        self._say(plain(text), "yellow")

    async def run(self, sale: Sale) -> None:
        """Paint every moment, and once more at the end."""
        try:
            while True:
                self._paint(sale)
                await asyncio.sleep(PAINT_SECONDS)
        finally:
            self._paint(sale)

    def _say(self, text: str, style: str = "") -> None:
        self._events.append(Text(text, style=style, no_wrap=True, overflow="ellipsis"))

    def _paint(self, sale: Sale) -> None:
        self._live.update(self.picture(sale), refresh=True)

    def picture(self, sale: Sale) -> RenderableType:
        """Return what there is to be seen, no higher than the terminal."""
        now = sale.clock.now()
        shown = sorted(sale.lots.values(), key=lambda lot: (lot.over, lot.ends_at or _FAR, lot.gid))
        room = max(1, self._console.height - HEAD_LINES - len(self._events))
        table = Table(expand=True, box=None, header_style="dim", pad_edge=False)
        table.add_column("lot", ratio=1, no_wrap=True)
        table.add_column("price", justify="right", no_wrap=True)
        table.add_column("leader", no_wrap=True, max_width=20)
        table.add_column("next bid", justify="right", no_wrap=True)
        table.add_column("bids", justify="right", no_wrap=True)
        table.add_column("left", justify="right", no_wrap=True)
        table.add_column("status", no_wrap=True)
        for lot in shown[:room]:
            table.add_row(*_row(lot, now), style=_style(lot, now))
        more = f", {len(shown) - room} more not shown" if len(shown) > room else ""
        count = sum(not lot.over for lot in shown)
        head = Text(
            f"{plain(sale.link)} · {now:%H:%M:%S} UTC · {count} open{more}",
            style="bold",
            no_wrap=True,
            overflow="ellipsis",
        )
        return Group(head, "", table, "", *self._events)


def in_words(event: Happening, lot: Lot | None) -> str:
    """Return the line for an event: its id, its lot, and what happened."""
    name = f" {plain(lot.name)}:" if lot is not None else ""
    return f"{plain(event.id)}{name} {words(event)}"


def _style(lot: Lot, now: datetime) -> str:
    if lot.over:
        return "dim"
    return "bold red" if lot.ends_at is not None and lot.ends_at - now < SOON else ""


def _row(lot: Lot, now: datetime) -> list[Text]:
    scheduled = lot.status == "scheduled"
    until = None if lot.over else lot.starts_at if scheduled else lot.ends_at
    cells = [
        lot.name,
        lot.current_bid or "-",
        lot.current_bidder or "-",
        lot.minimum_bid or "-",
        str(lot.bid_count),
        left(until, now),
        standing(lot),
    ]
    return [Text(plain(cell)) for cell in cells]


def display(*, json: bool, screen: bool) -> Shown:
    """Return the display for this standard output."""
    console = Console()
    if json or not console.is_terminal:
        return Lines(sys.stdout, sys.stderr, json=json)
    return View(console, screen=screen)
