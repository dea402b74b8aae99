"""A sale as it is known from outside, from the states and events that have come."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from msgspec.structs import replace

from saleroom.tools.amounts import Money, in_currency
from saleroom.tools.clock import HouseClock
from saleroom.tools.watch.messages import LABEL_LENGTH_MAX, LotEvent, LotState, SaleState, first_lot
from saleroom.tools.watch.sequence import Gap, Sequences
from saleroom.tools.watch.words import standing

ENDED_SHOWN_MAX = 100
"""How many lots that are over stay shown; the latest ones do."""
LOTS_MAX = 20_000
"""How many lots are kept at a time. Beyond that, the lots that were seen first are dropped."""


class Display(Protocol):
    """Shows the events of a sale."""

    def event(self, payload: str, event: LotEvent, lot: LotState | None) -> None:
        """Show an event: its JSON on one line, the event itself, and its lot after it if that is known."""

    def notice(self, text: str) -> None:
        """Show a sentence about the watch itself."""

    def write_money(self, money: Money) -> None:
        """Write amounts by `money` from now on."""


class Sale:
    """One lot (`gid`), the lots of one sale of many (`evening`), or all lots of a house."""

    def __init__(self, gid: str | None, display: Display, evening: str | None = None) -> None:
        self.gid = gid
        self.evening = evening
        self.state_of_evening: SaleState | None = None
        self.block: str | None = None
        """The lot on the block of the sale of many, by gid."""
        self.labels: dict[str, str] = {}
        """The numbers of its lots, by gid, in the order of calling."""
        self.lots: dict[str, LotState] = {}
        self.clock = HouseClock()
        self.sequences = Sequences()
        self.link = "connecting"
        """The state of the connection, in words."""
        self._display = display
        self._money = in_currency(None)
        self._ended: deque[str] = deque()

    @property
    def over(self) -> bool:
        """Whether one lot or one sale of many is watched, and it is over."""
        if self.evening is not None:
            return self.state_of_evening is not None and self.state_of_evening.over
        lot = self.lots.get(self.gid or "")
        return lot is not None and lot.over

    def state(self, lot: LotState) -> None:
        """Take a lot as the house shows it, unless events that came are later."""
        known = self.lots.get(lot.gid)
        if known is None or lot.version >= known.version:
            self._keep(lot)

    def version_of(self, gid: str) -> int:
        """Return the version of a lot or of the sale of many, which is known."""
        if gid == self.evening and self.state_of_evening is not None:
            return self.state_of_evening.version
        return self.lots[gid].version

    def of_evening(self, state: SaleState) -> None:
        """Take the sale of many as the house shows it, unless events that came are later."""
        known = self.state_of_evening
        if known is None or state.version >= known.version:
            self.state_of_evening = state
        if state.called is not None:
            self.block = state.called

    def called(self, gid: str, label: str) -> None:
        """Note the lot on the block."""
        self.labels[gid] = label
        self.block = gid

    def event(self, payload: str, event: LotEvent) -> bool:
        """Take an event in and show it, unless it came before. Return False if events before it are missing."""
        gap = self.sequences.gap(event.gid, event.sequence)
        if gap is not None:
            self.missing(gap)
        if not self.sequences.event(event.gid, event.sequence):
            return True
        if event.of_sale:
            self._happened(event)
            self._display.event(payload, event, None)
            return gap is None
        lot = self.lots.get(event.gid) or first_lot(event)
        if lot is not None:
            if event.sequence > lot.version:
                lot = lot.after(event)
            lot = self._keep(lot)
        self._display.event(payload, event, lot)
        return gap is None

    def missing(self, gap: Gap) -> None:
        """Show which events did not come."""
        lot = self.lots.get(gap.gid)
        which = f"event {gap.first}" if gap.first == gap.last else f"events {gap.first} to {gap.last}"
        name = f" ({lot.name})" if lot is not None else ""
        self._display.notice(f"missed: {which} of {gap.gid}{name}")

    def drop(self, gid: str) -> None:
        """Drop a lot that the house no longer shows."""
        self.lots.pop(gid, None)
        self.sequences.forget(gid)

    def write_money(self, currency: str | None) -> None:
        """Write amounts in `currency` from now on."""
        self._money = in_currency(currency)
        self._display.write_money(self._money)

    def connected(self, text: str) -> None:
        """Show that the connection is live, or live again."""
        self.link = text
        self._display.notice(text)

    def lost(self, reason: str, seconds: float) -> None:
        """Show that the connection is lost, and when the next try is."""
        self.sequences.lost()
        self.link = f"connection lost ({reason}); next try in {seconds:.1f} s"
        self._display.notice(self.link)

    def conclude(self) -> None:
        """Show how the one lot or the sale of many ended."""
        if self.state_of_evening is not None:
            self.link = f"{self.evening} ({self.state_of_evening.title}) is over: {self.state_of_evening.status}"
            self._display.notice(self.link)
        lot = self.lots.get(self.gid or "")
        if lot is not None:
            self.link = f"{lot.gid} ({lot.name}) is over: {standing(lot, self._money)}"
            self._display.notice(self.link)

    def notice(self, text: str) -> None:
        """Show a sentence about the watch itself."""
        self._display.notice(text)

    def _happened(self, event: LotEvent) -> None:
        """Let an event of the sale of many change what is known of it."""
        known = self.state_of_evening
        if known is not None and event.sequence > known.version:
            self.state_of_evening = known.after(event)
        gid, label = event.data.get("lot"), event.data.get("label")
        if isinstance(gid, str) and isinstance(label, str):
            if event.type in ("lot.called", "lot.reopened"):
                self.called(gid, label[:LABEL_LENGTH_MAX])
            elif event.type in ("lot.added", "lot.amended"):
                self.labels[gid] = label[:LABEL_LENGTH_MAX]
        if len(self.labels) > LOTS_MAX:
            self.labels.pop(next(iter(self.labels)))

    def _keep(self, lot: LotState) -> LotState:
        """Keep a lot, with its number in the sale of many if it has one, and return it."""
        lot = replace(lot, label=self.labels.get(lot.gid, ""))
        if lot.over and lot.gid not in self._ended:
            self._ended.append(lot.gid)
            if len(self._ended) > ENDED_SHOWN_MAX:
                self.lots.pop(self._ended.popleft(), None)
        self.lots[lot.gid] = lot
        if len(self.lots) > LOTS_MAX:
            self.drop(next(iter(self.lots)))
        return lot
