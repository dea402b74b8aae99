"""The entries of plans: requests, new lots and faults. A plan is data, and any entry can be left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.bidding.domain.oracle import DEFAULT_TIERS, SECOND, Terms
from tests.histories import LEADER, PEOPLE, Relative
from tests.simulation.troubles import Trouble

STAFF = 4
"""Who of `PEOPLE` may void bids. In some seeds they bid as well."""
CLERKS = (5, 6)
"""Who work at the block of a live sale."""
NAMES = (*PEOPLE, "clerk", "second clerk")
LASTS = 36.0
"""Seconds in which entries begin."""


@dataclass(frozen=True)
class NewLot:
    """An auction is created; its instants are microseconds from this entry's time. `lot` is its number."""

    number: int
    at: float
    lot: int
    who: int
    terms: Terms

    def __str__(self) -> str:
        return f"{NAMES[self.who]} creates lot {self.lot}: {_terms(self.terms)}"


@dataclass(frozen=True)
class Way:
    """How a request fares the first time; from the second on it passes."""

    door: str = "http"
    delay: float = 0.0
    lost: bool = False
    unanswered: bool = False
    twice: float | None = None
    """Seconds after which it is sent once more, even if the first copy was answered."""
    dies: bool = False
    """Whether the client is gone after its first try."""

    def __str__(self) -> str:
        words = [
            "" if self.door == "http" else f"over {self.door.upper()}",
            f"{self.delay} s late" if self.delay else "",
            "lost at first" if self.lost else "",
            "its answer lost at first" if self.unanswered else "",
            "" if self.twice is None else f"twice, {self.twice} s apart",
            "and dies" if self.dies else "",
        ]
        return ", ".join(word for word in words if word)


@dataclass(frozen=True)
class PlannedRequest:
    """A request by somebody. `near`: once it is time, wait for this instant of the lot."""

    number: int
    at: float
    what: str
    who: int
    lot: int = 0
    amount: Relative | None = None
    maximum: Relative | None = None
    near: Relative | None = None
    changes: tuple[tuple[str, Any], ...] = ()
    way: Way = Way()
    key: int | None = None
    """The entry whose Idempotency-Key it uses, if not its own."""
    pick: int = 0
    """Which of the bids that stand a void names, or by a number below 0 one that does not."""

    def __str__(self) -> str:
        who = "the leader" if self.who == LEADER else NAMES[self.who]
        details = [f"{name} {_near(at)}" for name, at in (("amount", self.amount), ("maximum", self.maximum)) if at]
        if self.changes:
            details.append(", ".join(f"{name}={value}" for name, value in self.changes))
        on = f" lot {self.lot}" if self.lot else ""
        when = "" if self.near is None else f" at {_near(self.near)} us"
        way = f" ({self.way})" if str(self.way) else ""
        key = "" if self.key is None else f" under the key of {self.key}"
        return f"{who}: {self.what}{on}{' ' if details else ''}{', '.join(details)}{when}{key}{way}"


@dataclass(frozen=True)
class PlannedTrouble:
    """A fault; `seconds` is its duration, or its size."""

    number: int
    at: float
    what: Trouble
    process: int
    seconds: float

    def __str__(self) -> str:
        return f"FAULT process {self.process}, {self.seconds} s: {self.what.value}"


Entry = NewLot | PlannedRequest | PlannedTrouble


@dataclass(frozen=True)
class Plan:
    """The plan of a seed. `policies` says what kind of bidder each of `PEOPLE` is."""

    seed: int
    processes: int
    policies: tuple[str, ...]
    entries: tuple[Entry, ...]

    def keeping(self, numbers: set[int]) -> Plan:
        """Return the plan with these entries only."""
        return replace(self, entries=tuple(entry for entry in self.entries if entry.number in numbers))

    def lines(self) -> list[str]:
        """Say all of it, an entry a line, in order of time."""
        ordered = sorted(self.entries, key=lambda entry: (entry.at, entry.number))
        return [f"{entry.number:4}  {entry.at:6.2f} s  {entry}" for entry in ordered]


def _near(near: Relative) -> str:
    return near.anchor if not near.delta else f"{near.anchor} {'+' if near.delta > 0 else '-'} {abs(near.delta)}"


def _terms(lot: Terms) -> str:
    def seconds(value: int | None) -> str:
        return "none" if value is None else f"{value / SECOND:g} s"

    soft, steps = lot.soft_close, "default" if lot.tiers == DEFAULT_TIERS else lot.tiers
    closes = "none" if soft is None else f"{soft.window} s for {soft.extension} s, cap {seconds(soft.cap)}"
    return (
        f"starting {lot.starting}, reserve {lot.reserve}, buy now {lot.buy_now}, soft close {closes}, "
        f"starts {seconds(lot.starts)}, ends {seconds(lot.ends)}, steps {steps}"
    )


def absolute(terms: Terms, now: int) -> Terms:
    """Return terms with their instants if they are sent at `now`."""
    soft = terms.soft_close
    if soft is not None and soft.cap is not None:
        soft = replace(soft, cap=now + soft.cap)
    starts = None if terms.starts is None else now + terms.starts
    return replace(terms, soft_close=soft, starts=starts, ends=None if terms.ends is None else now + terms.ends)
