"""A line of the table of results, and a curve."""

from __future__ import annotations

from msgspec import Struct

DATABASES = {"pg": "PostgreSQL", "sqlite": "SQLite"}
BIDS = "accepted bids/s"
REQUESTS = "answers/s"


class Line(Struct, frozen=True, kw_only=True):
    """One line: a measurement (or `measurement.figure`) in `unit`, divided by another one if there is a denominator."""

    row: str
    measure: str
    numerator: str
    unit: str
    denominator: str | None = None
    target: float | None = None
    lower_is_better: bool = False


class Curve(Struct, frozen=True, kw_only=True):
    """How accepted bids per second change with one quantity: a point for each x, by the name of its measurement."""

    row: str
    series: str
    x: str
    points: tuple[tuple[float, str], ...]
