"""The counts and latencies of a load test."""

from __future__ import annotations

import math
import time
from array import array
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Sequence

from msgspec import Struct

from saleroom.tools.errors import NoAnswer

WINDOW_SECONDS = 3
"""The live figures cover so many full seconds."""
BOUNDS_MS = tuple(digit * 10**power for power in range(-1, 5) for digit in (1, 2, 5))
"""Upper bounds of the histogram's buckets, evenly spaced on a logarithmic scale."""


class Summary(Struct):
    """Percentiles of latencies, in milliseconds."""

    count: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


class _Second(Struct):
    """The answers of one second."""

    number: int
    accepted: int = 0
    refused: int = 0
    latencies: list[float] = []


class Figures:
    """All counts and latencies of one run. Latencies are in seconds."""

    def __init__(self) -> None:
        self.bids = array("d")
        self.looks = array("d")
        self.answers: Counter[str] = Counter()
        """How often each answer came: `bid 201`, `bid 409 bid_too_low`, `read 200`, `bid lost: TimeoutError`."""
        self.accepted = self.refused = self.errors = self.in_flight = 0
        self._recent: deque[_Second] = deque(maxlen=WINDOW_SECONDS + 1)
        self.began = self.ended = time.monotonic()
        self._cpu_began = self._cpu_ended = time.process_time()

    def start(self) -> None:
        """Begin to measure the time and the processor time of the bidding."""
        self.began = self.ended = time.monotonic()
        self._cpu_began = self._cpu_ended = time.process_time()

    def stop(self) -> None:
        """Stop measuring them."""
        self.ended, self._cpu_ended = time.monotonic(), time.process_time()

    @property
    def seconds(self) -> float:
        """How long the bidding took."""
        return max(self.ended - self.began, 1e-9)

    @property
    def processor(self) -> float:
        """The share of one processor that this client used while it bid."""
        return (self._cpu_ended - self._cpu_began) / self.seconds

    def count_bid(self, latency: float, status: int, code: str, error: NoAnswer | None) -> None:
        """Count an answer to a bid."""
        second = self._second()
        if status == 201:
            self.accepted += 1
            second.accepted += 1
        elif status == 409:
            self.refused += 1
            second.refused += 1
        self._count("bid", status, code, error)
        if status:
            self.bids.append(latency)
            second.latencies.append(latency)

    def count_look(self, latency: float, status: int, error: NoAnswer | None) -> None:
        """Count an answer to a look."""
        self._count("read", status, "", error)
        if status:
            self.looks.append(latency)

    def recent(self) -> tuple[float, float, Summary]:
        """Return accepted and refused bids per second and the latencies, over the last full seconds."""
        now = int(time.monotonic())
        full = [one for one in self._recent if now - WINDOW_SECONDS <= one.number < now]
        over = max(1, min(WINDOW_SECONDS, now - int(self.began)))
        latencies = [latency for one in full for latency in one.latencies]
        return sum(o.accepted for o in full) / over, sum(o.refused for o in full) / over, summary(latencies)

    def _count(self, what: str, status: int, code: str, error: NoAnswer | None) -> None:
        if error is not None:
            self.answers[f"{what} lost: {error.kind}"] += 1
        else:
            self.answers[f"{what} {status} {code}".strip()] += 1
        if status in (0, 429) or status >= 500:
            self.errors += 1

    def _second(self) -> _Second:
        number = int(time.monotonic())
        if not self._recent or self._recent[-1].number != number:
            self._recent.append(_Second(number))
        return self._recent[-1]


def summary(latencies: Sequence[float]) -> Summary:
    """Return the percentiles of latencies in seconds. A percentile is the least value that so many latencies do not exceed."""
    ordered = sorted(latencies)
    if not ordered:
        return Summary(0, 0.0, 0.0, 0.0, 0.0)

    def at(part: float) -> float:
        return round(ordered[max(0, math.ceil(part * len(ordered)) - 1)] * 1000, 3)

    return Summary(len(ordered), at(0.5), at(0.9), at(0.99), round(ordered[-1] * 1000, 3))


def histogram(latencies: Sequence[float]) -> list[tuple[float, int]]:
    """Return (upper bound in milliseconds, count) from the first bucket that is not empty to the last one."""
    counts = [0] * (len(BOUNDS_MS) + 1)
    for latency in latencies:
        counts[bisect_left(BOUNDS_MS, latency * 1000)] += 1
    filled = [place for place, count in enumerate(counts) if count]
    if not filled:
        return []
    bounds = (*BOUNDS_MS, math.inf)
    return [(bounds[place], counts[place]) for place in range(filled[0], filled[-1] + 1)]
