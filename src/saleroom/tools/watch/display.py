"""The displays of a sale: a live view on a terminal, otherwise a line for each event, in words or as JSON."""

from __future__ import annotations

import asyncio
import re
import select
import sys
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from saleroom.kernel.terminal import printable
from saleroom.tools.amounts import Money, in_currency
from saleroom.tools.console import ToolConsole
from saleroom.tools.errors import ToolError
from saleroom.tools.watch.messages import LotEvent, LotState
from saleroom.tools.watch.sale import Sale
from saleroom.tools.watch.words import left, status, words

PAINT_SECONDS = 0.25
READER_SECONDS = 1.0
EVENTS_SHOWN_MAX = 10
TABLE_LINES = 5
"""Lines of the view that show neither a lot, an event nor the state of the connection."""
HEAD_LINES_MAX, EVENT_LINES_MAX = 3, 3
SOON = timedelta(minutes=1)
_FAR = datetime.max.replace(tzinfo=UTC)
_NO_TERMINAL = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


class OutputClosed(Exception):
    """Standard output is closed, because its reader, such as `head`, has seen enough."""


class Lines:
    """A line on `out` for each event, in words or as JSON; sentences about the watch itself go to `err`."""

    def __init__(self, out: TextIO, err: TextIO, *, json: bool) -> None:
        self._out, self._err, self._json = out, err, json
        self._money = in_currency(None)

    def __enter__(self) -> None:
        """There is nothing to prepare."""

    def __exit__(self, *_: object) -> None:
        """There is nothing to put in order."""

    def event(self, payload: str, event: LotEvent, lot: LotState | None) -> None:
        """Write the event, at once."""
        if self._json:
            line = _NO_TERMINAL.sub(lambda mark: f"\\u{ord(mark[0]):04x}", payload) if self._out.isatty() else payload
        else:
            line = f"{event.time:%Y-%m-%dT%H:%M:%S.%fZ} {in_words(event, lot, self._money)}"
        try:
            self._out.write(f"{line}\n")
            self._out.flush()
        except BrokenPipeError:
            raise OutputClosed from None
        except OSError as error:
            # It must not look like an error of the connection, which would be tried again.
            raise ToolError(f"standard output cannot be written: {error.strerror}") from None

    def write_money(self, money: Money) -> None:
        """Write amounts by `money` from now on."""
        self._money = money

    def notice(self, text: str) -> None:
        """Write the sentence."""
        self._err.write(f"saleroom: {printable(text)}\n")
        self._err.flush()

    async def run(self, sale: Sale) -> None:
        """Watch for the reader to go, even while there is nothing to write. Raises OutputClosed."""
        reader = select.poll()
        reader.register(self._out.fileno(), 0)  # poll always reports a closed pipe, without being asked to
        while not reader.poll(0):  # noqa: ASYNC110  # no event loop reports it for a pipe that is only written to
            await asyncio.sleep(READER_SECONDS)
        raise OutputClosed


class LiveView:
    """The lots, the time left, and the last events, painted in place, or with `screen` over the whole terminal."""

    def __init__(self, console: Console, *, screen: bool) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, screen=screen, vertical_overflow="crop")
        self._events: deque[Text] = deque(maxlen=EVENTS_SHOWN_MAX)
        self._money = in_currency(None)

    def __enter__(self) -> None:
        """Start to paint."""
        self._live.start()

    def __exit__(self, *_: object) -> None:
        """Stop, and leave the last view on the terminal."""
        self._live.stop()

    def event(self, payload: str, event: LotEvent, lot: LotState | None) -> None:
        """Add a line to the last events."""
        self._say(f"{event.time.astimezone():%H:%M:%S} {in_words(event, lot, self._money)}")

    def write_money(self, money: Money) -> None:
        """Write amounts by `money` from now on."""
        self._money = money

    def notice(self, text: str) -> None:
        """Add a line to the last events."""
        self._say(printable(text), "yellow")

    async def run(self, sale: Sale) -> None:
        """Paint several times a second, and a last time at the end."""
        try:
            while True:
                self._paint(sale)
                await asyncio.sleep(PAINT_SECONDS)
        finally:
            self._paint(sale)

    def _say(self, text: str, style: str = "") -> None:
        self._events.append(Text(text, style=style))

    def _paint(self, sale: Sale) -> None:
        self._live.update(self.picture(sale), refresh=True)

    def picture(self, sale: Sale) -> RenderableType:
        """Return the view, no higher than the terminal."""
        now = sale.clock.now()
        places = {gid: place for place, gid in enumerate(sale.labels)}
        shown = sorted(
            sale.lots.values(),
            key=lambda lot: (lot.gid != sale.block, lot.over, lot.ends_at or _FAR, places.get(lot.gid, 0), lot.gid),
        )
        head = self._folded(Text(f"{printable(sale.link)} · {now:%H:%M:%S} UTC", style="bold"), HEAD_LINES_MAX)
        last = [line for event in self._events for line in self._folded(event, EVENT_LINES_MAX)]
        last = last[-max(1, self._console.height // 3) :]
        room = max(1, self._console.height - TABLE_LINES - len(head) - len(last))
        table = Table(expand=True, box=None, header_style="dim", pad_edge=False)
        table.add_column("lot", ratio=1, no_wrap=True)
        table.add_column("price", justify="right", no_wrap=True)
        table.add_column("leader", no_wrap=True, max_width=20)
        table.add_column("next bid", justify="right", no_wrap=True)
        table.add_column("bids", justify="right", no_wrap=True)
        table.add_column("left", justify="right", no_wrap=True)
        table.add_column("status", no_wrap=True)
        for lot in shown[:room]:
            table.add_row(*_row(lot, now, self._money), style=_style(lot, now))
        more = f", {len(shown) - room} more not shown" if len(shown) > room else ""
        count = Text(f"{sum(not lot.over for lot in shown)} open{more}", no_wrap=True, overflow="ellipsis")
        return Group(*head, count, "", table, "", *last)

    def _folded(self, text: Text, lines_max: int) -> list[Text]:
        """Return `text` on as many lines as it needs, up to `lines_max`."""
        lines = list(text.wrap(self._console, self._console.width))
        if len(lines) > lines_max:
            lines[lines_max - 1].append(" …")
            lines[lines_max - 1].truncate(self._console.width, overflow="ellipsis")
        return lines[:lines_max]


def in_words(event: LotEvent, lot: LotState | None, money: Money) -> str:
    """Return the line for an event: its id, its lot, and its words."""
    name = f" {printable(_title(lot))}:" if lot is not None else ""
    return f"{printable(event.id)}{name} {words(event, money)}"


def _title(lot: LotState) -> str:
    """Return the name of a lot, after its number in the sale that is watched."""
    return f"{lot.label} {lot.name}".strip()


def _style(lot: LotState, now: datetime) -> str:
    if lot.over:
        return "dim"
    if lot.stage is not None:
        return "bold red" if lot.stage == "final_call" else "bold"
    return "bold red" if lot.ends_at is not None and lot.ends_at - now < SOON else ""


def _row(lot: LotState, now: datetime, money: Money) -> list[Text]:
    until = lot.starts_at if lot.status == "scheduled" else lot.ends_at
    cells = [
        _title(lot),
        money(lot.current_bid or "-"),
        lot.current_bidder or "-",
        money(lot.minimum_bid or "-"),
        str(lot.bid_count),
        left(None if lot.over else until, now),
        status(lot),
    ]
    return [Text(printable(cell)) for cell in cells]


def display(*, json: bool, screen: bool) -> Lines | LiveView:
    """Return the display that fits standard output."""
    console = ToolConsole()
    if json or not console.is_terminal:
        return Lines(sys.stdout, sys.stderr, json=json)
    return LiveView(console, screen=screen)
