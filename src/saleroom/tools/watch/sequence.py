"""Which events are new, which come again, and which never came: the numbers of one auction's events leave none out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

GRACE_SECONDS = 5.0
"""How long the events that a state tells of may come after it."""


@dataclass(frozen=True)
class Gap:
    """Events `first` to `last` of an auction that did not come."""

    gid: str
    first: int
    last: int


class Sequences:
    """The last event of each auction, and how far its state is ahead of that. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self._ahead: dict[str, tuple[int, float]] = {}

    def event(self, gid: str, sequence: int) -> bool:
        """Note an event; False where it came before. `gap` says what is missing before it, and is asked first."""
        if sequence <= self._last.get(gid, 0):
            return False
        self._last[gid] = sequence
        version, _ = self._ahead.get(gid, (0, 0.0))
        if sequence >= version:
            self._ahead.pop(gid, None)
        return True

    def gap(self, gid: str, sequence: int) -> Gap | None:
        """Return what did not come between the last event and this one, and was not said to be missing yet."""
        if gid not in self._last:
            return None
        return self._missing(gid, sequence - 1)

    def state(self, gid: str, version: int, at: float) -> None:
        """Note a state: the first one is where we come in, a later one tells how many events there must be."""
        if gid not in self._last:
            self._last[gid] = version
        elif version > max(self._last[gid], self._told.get(gid, 0), self._ahead.get(gid, (0, 0.0))[0]):
            self._ahead[gid] = (version, at + GRACE_SECONDS)

    def overdue(self, at: float) -> Iterator[Gap]:
        """Yield what a state told of and did not come in time."""
        for gid in [gid for gid, (_, until) in self._ahead.items() if until <= at]:
            version, _ = self._ahead.pop(gid)
            if missing := self._missing(gid, version):
                yield missing

    def lost(self) -> None:
        """The connection is gone: whoever is waited for may come with the next one."""
        self._ahead.clear()

    def settled(self, gid: str) -> bool:
        """Whether nothing of this auction is waited for."""
        return gid not in self._ahead

    def forget(self, gid: str) -> None:
        """Drop an auction that is gone."""
        for known in (self._last, self._told, self._ahead):
            known.pop(gid, None)

    def _missing(self, gid: str, last: int) -> Gap | None:
        first = max(self._last[gid], self._told.get(gid, 0)) + 1
        if last < first:
            return None
        self._told[gid] = last
        return Gap(gid, first, last)
