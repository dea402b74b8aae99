"""The table, for the terminal and for docs/maintaining/performance.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from bench import BenchError
from bench.line import Line
from bench.results import Results, Verdict, judge
from bench.rows import LINES

HEADS = ("row", "measure", "numerator", "denominator", "ratio", "spread", "target", "met?", "violations")
MARKERS = ("<!-- results: begin -->", "<!-- results: end -->")


def cells(runs: Sequence[Results], rows: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the table's lines for `rows`, as text in the order of `HEADS`."""
    chosen = set(rows)
    return [_cells(runs, line) for line in LINES if line.row in chosen]


def terminal(results: Results, rows: Iterable[str]) -> Table:
    """Return the table for a terminal."""
    table = Table(title=f"{results.rounds} rounds, {results.seconds_each:g} s each", box=box.SIMPLE_HEAD)
    for head in HEADS:
        table.add_column(head, overflow="fold", min_width=24 if head == "measure" else None)
    for line in cells([results], rows):
        table.add_row(*line)
    return table


def markdown(runs: Sequence[Results]) -> str:
    """Return the table, the machine and the processor times as Markdown. A line comes from the last run that has it whole."""
    rows = dict.fromkeys(line.row for line in LINES)
    lines = [_origin(results) for results in runs]
    lines += ["", f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
    lines += [f"| {' | '.join(line)} |" for line in cells(runs, rows)]
    details = [line for results in runs for line in _details(results)]
    if details:
        heads = (
            "measurement",
            "value",
            "p50 ms",
            "p99 ms",
            "house or peer, µs of CPU each",
            "PostgreSQL, µs of CPU each",
        )
        lines += ["", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        lines += [f"| {' | '.join(line)} |" for line in details]
    return "\n".join(lines)


def _origin(results: Results) -> str:
    on = ", ".join(f"{name} {value}" for name, value in results.machine.items())
    return f"- Measured at {results.at}, rounds: {results.rounds}, seconds each: {results.seconds_each:g}, on {on}."


def into_document(runs: Sequence[Results], document: Path) -> None:
    """Write the table between the markers of `document`. Raises BenchError if it has none."""
    text = document.read_text("utf-8")
    between = re.compile(f"{re.escape(MARKERS[0])}.*{re.escape(MARKERS[1])}", re.DOTALL)
    if between.search(text) is None:
        raise BenchError(f"{document} has no lines {MARKERS[0]} and {MARKERS[1]}")
    written = f"{MARKERS[0]}\n{markdown(runs)}\n{MARKERS[1]}"
    document.write_text(between.sub(lambda _: written, text), "utf-8")


def number(value: float) -> str:
    """Return a figure with three or more digits: 12,345, 123, 12.3, 1.23 or 0.012."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 3}f}"


def _cells(runs: Sequence[Results], line: Line) -> tuple[str, ...]:
    target = "" if line.target is None else f"{'≤' if line.lower_is_better else '≥'} {line.target:g}"
    verdict = judge(runs, line)
    if verdict is None:
        sides = {name.partition(".")[0] for name in (line.numerator, line.denominator) if name is not None}
        reasons = {results.not_measured.get(side, "") for results in runs for side in sides} - {""}
        reason = "; ".join(sorted(reasons))
        return (line.row, f"{line.measure} ({reason or 'not measured'})", "", "", "", "", target, "", "")
    measure = f"{line.measure} ({verdict.note})" if verdict.note else line.measure
    return (line.row, measure, *_measured(verdict), target, _met(verdict), str(verdict.violations))


def _measured(verdict: Verdict) -> tuple[str, str, str, str]:
    unit = verdict.line.unit
    below = "" if verdict.denominator is None else f"{number(verdict.denominator)} {unit}"
    spread = f"{number(verdict.least)} to {number(verdict.greatest)}"
    ratio = number(verdict.ratio)
    return f"{number(verdict.numerator)} {unit}", below, f"{ratio} {unit}" if not below else ratio, spread


def _met(verdict: Verdict) -> str:
    return {None: "", True: "yes", False: "no"}[verdict.met]


def _details(results: Results) -> list[tuple[str, ...]]:
    lines = []
    for name in results.readings:
        readings = results.readings[name]
        if any("server_cpu_us" in reading.figures or "database_cpu_us" in reading.figures for reading in readings):
            figures = [_median(results, f"{name}.{figure}") for figure in _DETAILS]
            lines.append((f"`{name}`", _median(results, name), *figures))
    return lines


_DETAILS = ("p50_ms", "p99_ms", "server_cpu_us", "database_cpu_us")


def _median(results: Results, name: str) -> str:
    measurement, _, figure = name.partition(".")
    values = [r.named(figure) for r in results.readings[measurement] if not figure or figure in r.figures]
    return number(sorted(values)[len(values) // 2]) if values else ""
