"""The results of a run: readings, the lines of the table that come from them, and the JSON file with both."""

from __future__ import annotations

import platform
import statistics
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import psutil
from msgspec import Struct, field

from bench.line import Curve, Line


class Reading(Struct, kw_only=True):
    """One measurement of one round: its `value`, further `figures` by name (unit last), and violations by their kind."""

    value: float
    figures: dict[str, float] = field(default_factory=dict)
    violations: dict[str, int] = field(default_factory=dict)
    note: str = ""
    """A remark for readers of the figure."""

    def named(self, figure: str) -> float:
        """Return the figure of this name; `value` for an empty one."""
        return self.figures[figure] if figure else self.value


class Results(Struct, kw_only=True):
    """A whole run. `readings` has a list for each measurement, one entry for each round."""

    at: str
    rounds: int
    seconds_each: float
    machine: dict[str, str]
    readings: dict[str, list[Reading]] = field(default_factory=dict)
    not_measured: dict[str, str] = field(default_factory=dict)
    """The reason why a measurement is missing, by its name."""
    failed: int = 0
    """How many measurements failed; `not_measured` has the errors."""
    stopped: bool = False
    """Whether the run was stopped."""

    def violations(self) -> int:
        """Return the number of violations in all databases of the run."""
        return sum(sum(reading.violations.values()) for each in self.readings.values() for reading in each)

    def figure(self, name: str) -> list[float]:
        """Return the values of `measurement` or `measurement.figure` by round, none if it was not measured."""
        measurement, _, figure = name.partition(".")
        readings = self.readings.get(measurement, [])
        return [reading.named(figure) for reading in readings if not figure or figure in reading.figures]


class Verdict(Struct, kw_only=True, frozen=True):
    """One line of the table: medians, their ratio, and the least and the greatest ratio of a round."""

    line: Line
    numerator: float
    denominator: float | None
    ratio: float
    least: float
    greatest: float
    violations: int
    note: str

    @property
    def met(self) -> bool | None:
        """Whether the target is reached, None without a target."""
        target = self.line.target
        if target is None:
            return None
        return self.ratio <= target if self.line.lower_is_better else self.ratio >= target


def judge(runs: Sequence[Results], line: Line) -> Verdict | None:
    """Return a line from the last run that has both sides, or None: a ratio of two runs means nothing."""
    found = (_judge(results, line) for results in reversed(runs))
    return next((verdict for verdict in found if verdict is not None), None)


def _judge(results: Results, line: Line) -> Verdict | None:
    above = results.figure(line.numerator)
    if not above:
        return None
    if line.denominator is None:
        each, below = above, None
    else:
        beneath = results.figure(line.denominator)
        if not beneath:
            return None
        each = [a / b for a, b in zip(above, beneath, strict=False) if b]
        below = statistics.median(beneath)
    if not each or below == 0:
        return None
    numerator = statistics.median(above)
    sides = {name.partition(".")[0] for name in (line.numerator, line.denominator) if name is not None}
    return Verdict(
        line=line,
        numerator=numerator,
        denominator=below,
        ratio=numerator if below is None else numerator / below,
        least=min(each),
        greatest=max(each),
        violations=sum(sum(reading.violations.values()) for side in sides for reading in results.readings[side]),
        note="; ".join(sorted({reading.note for side in sides for reading in results.readings[side]} - {""})),
    )


def points(runs: Sequence[Results], curve: Curve) -> list[tuple[float, dict[str, float]]]:
    """Return the points of a curve in the run that has the most of them, the last of equals.

    A point is x, and the median of the value and of each figure.
    """
    return max((_points(results, curve) for results in reversed(runs)), key=len, default=[])


def _points(results: Results, curve: Curve) -> list[tuple[float, dict[str, float]]]:
    found = []
    for x, measurement in curve.points:
        readings = results.readings.get(measurement, [])
        if readings:
            medians = {name: statistics.median(r.figures[name] for r in readings) for name in readings[0].figures}
            found.append((x, medians | {"value": statistics.median(r.value for r in readings)}))
    return found


def machine() -> dict[str, str]:
    """Return the properties of the machine on which the figures depend."""
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor() or platform.machine(),
    )
    return {
        "processor": model,
        "cores": str(psutil.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "revision": _revision(),
    }


def new(rounds: int, seconds_each: float) -> Results:
    """Return the empty results of a run that starts now."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Results(at=at, rounds=rounds, seconds_each=seconds_each, machine=machine())


def write(results: Results, file: Path) -> None:
    """Write `results` as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))


def read(file: Path) -> Results:
    """Return the results that `write` wrote. Raises OSError, or msgspec.ValidationError for another file."""
    return msgspec.json.decode(file.read_bytes(), type=Results)


def together(runs: Sequence[Results]) -> Results:
    """Return the rounds of several runs on one machine as those of one run, the last of them."""
    last = runs[-1]
    readings: dict[str, list[Reading]] = {}
    for run in runs:
        for name, found in run.readings.items():
            readings.setdefault(name, []).extend(found)
    return msgspec.structs.replace(last, rounds=max(map(len, readings.values()), default=0), readings=readings)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []  # only Linux has this file


def _revision() -> str:
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or "unknown"
