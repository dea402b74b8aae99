"""A whole run: every measurement once in each round. Every second round is backwards, so that no side has an advantage."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import BenchError
from bench.measurements import measurement
from bench.report import number
from bench.results import Reading, Results, new
from bench.rows import ONCE, needed
from bench.stage import Stage


def run(rows: Sequence[str], rounds: int, seconds_each: float, memory_bids: int, console: Console) -> Results:
    """Return the results of `rows`. Ctrl-C stops all servers and returns the results so far."""
    results = new(rounds, seconds_each)
    names = needed(rows)
    plan = [
        (turn, name)
        for turn in range(1, rounds + 1)
        for name in (names if turn % 2 else reversed(names))
        if turn == 1 or name not in ONCE
    ]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    stop_by_sigterm()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=len(plan))
        try:
            with Stage(
                seconds_each,
                lambda text: progress.update(task, description=text),
                lambda text: console.print(f"NOTE: {text}"),
                memory_bids,
            ) as stage:
                for turn, name in plan:
                    if name not in results.not_measured:
                        progress.update(task, description=f"round {turn} of {rounds}: {name}")
                        told = _measure(stage, name, results, console)
                        console.print(f"round {turn}  {name:<28} {told}", highlight=False)
                    progress.advance(task)
        except KeyboardInterrupt:
            results.stopped = True
            console.print("Stopped; what was measured by then follows.")
    return results


def _measure(stage: Stage, name: str, results: Results, console: Console) -> str:
    """Take one measurement and print its result. If it fails, the rest of the run continues."""
    try:
        reading = measurement(name)(stage)
    except BenchError as error:
        results.not_measured[name] = str(error).splitlines()[0]
        return f"not measured: {error}"
    except Exception as error:  # noqa: BLE001  # shown here, counted, and part of the exit code
        console.print_exception()
        results.failed += 1
        results.not_measured[name] = f"failed: {type(error).__name__}"
        return "failed"
    results.readings.setdefault(name, []).append(reading)
    return told(reading)


def told(reading: Reading) -> str:
    """Return the figures of a reading as one line of text."""
    figures = "  ".join(f"{name} {number(value)}" for name, value in reading.figures.items())
    violations = "".join(f"  VIOLATIONS: {count} {kind}" for kind, count in reading.violations.items())
    return f"{number(reading.value):>9}  {figures}{violations}"


def stop_by_sigterm() -> None:
    """Let SIGTERM stop the run as Ctrl-C does."""

    def stop(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
