"""Which events are new, repeated or missing. The events of an auction are numbered without gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

GRACE_SECONDS = 5.0
"""How much later than a state the events that led to it may come."""


@dataclass(frozen=True)
class Gap:
    """Events `first` to `last` of an auction that did not come."""

    gid: str
    first: int
    last: int


class Sequences:
    """The last event of each auction, and the later version that its state has. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._reported: dict[str, int] = {}
        self._ahead: dict[str, tuple[int, float]] = {}

    def event(self, gid: str, sequence: int) -> bool:
        """Note an event; return False if it came before. Ask `gap` first, which returns the events missing before it."""
        if sequence <= self._last.get(gid, 0):
            return False
        self._last[gid] = sequence
        version, _ = self._ahead.get(gid, (0, 0.0))
        if sequence >= version:
            self._ahead.pop(gid, None)
        return True

    def gap(self, gid: str, sequence: int) -> Gap | None:
        """Return the events missing between the last one and this one, without those that were reported before."""
        if gid not in self._last:
            return None
        return self._missing(gid, sequence - 1)

    def state(self, gid: str, version: int, at: float) -> None:
        """Note a state: the first one sets the starting point, a later one says which events must come."""
        if gid not in self._last:
            self._last[gid] = version
        elif version > max(self._last[gid], self._reported.get(gid, 0), self._ahead.get(gid, (0, 0.0))[0]):
            self._ahead[gid] = (version, at + GRACE_SECONDS)

    def overdue(self, at: float) -> Iterator[Gap]:
        """Yield the missing events that a state has announced and whose time is over."""
        for gid in [gid for gid, (_, until) in self._ahead.items() if until <= at]:
            version, _ = self._ahead.pop(gid)
            if missing := self._missing(gid, version):
                yield missing

    def lost(self) -> None:
        """Wait for no event any more, because the connection is lost and the next one may bring it."""
        self._ahead.clear()

    def settled(self, gid: str) -> bool:
        """Whether no event of this auction is waited for."""
        return gid not in self._ahead

    def forget(self, gid: str) -> None:
        """Drop an auction that is gone."""
        for known in (self._last, self._reported, self._ahead):
            known.pop(gid, None)

    def _missing(self, gid: str, last: int) -> Gap | None:
        first = max(self._last[gid], self._reported.get(gid, 0)) + 1
        if last < first:
            return None
        self._reported[gid] = last
        return Gap(gid, first, last)
