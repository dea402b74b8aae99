"""What a run has found: readings, lines of the table made of them, and the JSON file that keeps both."""

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

from bench.rows import Curve, Line


class Reading(Struct, kw_only=True):
    """One measurement, taken once: its `value`, further `figures` by name (unit last), and violations by their kind."""

    value: float
    figures: dict[str, float] = field(default_factory=dict)
    violations: dict[str, int] = field(default_factory=dict)
    note: str = ""
    """What a reader of the figure has to know."""

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
    """Measurement -> why there is none."""
    failed: int = 0
    """How many measurements ended in an error of their own, told in `not_measured`."""
    stopped: bool = False
    """Whether somebody ended it before its end."""

    def violations(self) -> int:
        """Return how many violations all databases of the run held."""
        return sum(sum(reading.violations.values()) for each in self.readings.values() for reading in each)

    def figure(self, name: str) -> list[float]:
        """Return what each round found for `measurement` or `measurement.figure`; nothing where it was not measured."""
        measurement, _, figure = name.partition(".")
        readings = self.readings.get(measurement, [])
        return [reading.named(figure) for reading in readings if not figure or figure in reading.figures]


class Verdict(Struct, kw_only=True, frozen=True):
    """One line of the table, worked out: medians, their ratio, and the least and the greatest ratio of any one round."""

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
        """Whether the target is reached; None where there is none."""
        target = self.line.target
        if target is None:
            return None
        return self.ratio <= target if self.line.lower_is_better else self.ratio >= target


def judge(runs: Sequence[Results], line: Line) -> Verdict | None:
    """Work a line out from the last run that has both its sides, or return None: sides of two runs make no ratio."""
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
    """Return the points of a curve in the run that has most of it, the last one of equals.

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
    """Return what the figures depend on and no ratio can take away."""
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
    """Return the results of a run that begins now."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Results(at=at, rounds=rounds, seconds_each=seconds_each, machine=machine())


def write(results: Results, file: Path) -> None:
    """Keep `results` as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))


def read(file: Path) -> Results:
    """Return the results that `write` kept. Raises OSError, or msgspec.ValidationError where it holds something else."""
    return msgspec.json.decode(file.read_bytes(), type=Results)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []  # another system than Linux has no such file


def _revision() -> str:
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or "unknown"
