"""Figures of a house for its operator: counters, gauges and distributions, as values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """The kind of a figure, by which those of several processes become that of the house.

    COUNTER and DISTRIBUTION are added up, over processes that have ended too. GAUGE is added up over those that live. STATE is
    known by each process for the whole house: the latest counts.
    """

    COUNTER = "counter"
    DISTRIBUTION = "distribution"
    GAUGE = "gauge"
    STATE = "state"


class Sample(Struct, frozen=True):
    """One value of a figure, by the values of its labels. Of a distribution: how many values lie in each range, and their sum.

    The ranges of `counts` end at the figure's bounds; the last one has no end.
    """

    labels: tuple[str, ...] = ()
    value: float = 0
    counts: tuple[int, ...] = ()


class Figure(Struct, frozen=True):
    """A figure with its samples. `name` follows the conventions of Prometheus, without the `_total` of a counter."""

    name: str
    about: str
    kind: Kind
    samples: tuple[Sample, ...]
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


class Distribution:
    """Counts values by ranges. To count one costs less than a microsecond."""

    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` are the upper ends of the ranges, in order."""
        self.bounds = tuple(bounds)
        self._counts = [0] * (len(self.bounds) + 1)
        self._sum = 0.0

    def count(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self.bounds, value)] += 1
        self._sum += value

    def figure(self, name: str, about: str) -> Figure:
        """Return the present counts."""
        sample = Sample(value=self._sum, counts=tuple(self._counts))
        return Figure(name, about, Kind.DISTRIBUTION, (sample,), bounds=self.bounds)


def counters(name: str, about: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], float]) -> Figure:
    """Return counters by the values of their labels."""
    samples = tuple(Sample(found, value) for found, value in values.items())
    return Figure(name, about, Kind.COUNTER, samples, labels)


def gauge(name: str, about: str, value: float, kind: Kind = Kind.GAUGE) -> Figure:
    """Return a figure with one value."""
    return Figure(name, about, kind, (Sample(value=value),))
