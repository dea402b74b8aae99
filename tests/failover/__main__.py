"""`python -m tests.failover`: three machines in network namespaces, broken under bids and judged from outside.

Exit codes: 0 nothing was found, 1 something was, 2 something is missing here, 130 it was stopped.
"""

import argparse
import asyncio
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.failover import table
from tests.failover.cluster import check_needs, faketime
from tests.failover.inside import SPACES, run_inside
from tests.failover.trial import Trial, TrialOutcome, together
from tests.faults.judging import faults
from tests.needs import MARK

BREAKS_EACH = 25
"""How many breaks one cluster gets; for more there is another cluster."""
HEADINGS = ("breaks", "bids", "sent again", "lost", "doubled", "streams", "MQTT", "lots", "closed wrong", "other")


def main(arguments: list[str] | None = None) -> int:
    """Run the trials whose names hold one of the given words, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.failover", description="Break three machines, and count.")
    names = "; ".join(one.name for one in table.ALL)
    parser.add_argument(
        "--only", default="", metavar="WORDS", help=f"with commas: parts of the trials' names ({names})"
    )
    parser.add_argument("--count", default=1, type=int, metavar="NUMBER", help="breaks in each trial; 1 unless given")
    parser.add_argument("--jobs", default=1, type=int, metavar="NUMBER", help="clusters side by side; 1 unless given")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the logs of all machines in this folder")
    chosen = parser.parse_args(arguments)
    words = [word.strip() for word in chosen.only.split(",") if word.strip()]
    planned = [one for one in table.ALL if any(word in one.name for word in words or [""])]
    if not planned:
        parser.error(f"no trial is called so; there are: {names}")
    for name in ("count", "jobs"):
        if getattr(chosen, name) < 1:
            parser.error(f"--{name} needs a number of at least 1")
    if problem := _missing(planned):
        parser.error(problem)
    return _Run(planned, chosen.count, chosen.keep).all(chosen.jobs)


def _missing(planned: list[Trial]) -> str:
    """Say what is missing here for these trials; nothing if all is there."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    try:
        check_needs()
        if any(one.clocks for one in planned):
            faketime()
    except (pytest.skip.Exception, pytest.fail.Exception) as missing:
        return f"needed here: {str(missing).removeprefix(MARK)}"
    trying = subprocess.run([*SPACES, "true"], capture_output=True, text=True, check=False)
    return f"no namespaces can be made here: {trying.stderr.strip()}" if trying.returncode else ""


class _Run:
    """A run of some trials, each with `count` breaks on one cluster after the other or on several side by side."""

    def __init__(self, planned: list[Trial], count: int, keep: str | None) -> None:
        self._planned, self._count, self._keep = planned, count, keep
        self._console = Console(width=None if sys.stdout.isatty() else 160)
        self._table = Table("trial", *HEADINGS, "pause", "on one lot", "limit", "noted")
        self._steps: dict[str, str] = {}
        self._run = self._found = 0

    def all(self, jobs: int) -> int:
        """Run all of them, on up to `jobs` clusters at a time, and return the exit code."""
        stopped = False
        try:
            asyncio.run(self._all(jobs))
        except KeyboardInterrupt:
            stopped = True
        self._console.print(self._table)
        self._console.print(f"{self._run} of {len(self._planned)} trials run; faults found: {self._found}")
        return 130 if stopped else int(bool(self._found))

    async def _all(self, jobs: int) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        places = asyncio.Semaphore(jobs)
        with Progress(*columns, console=self._console, transient=True) as progress:
            task = progress.add_task("", total=self._count * len(self._planned))

            async def part(one: Trial, count: int, number: int) -> tuple[TrialOutcome | str, float]:
                name = f"{one.name} ({number})" if count < self._count else one.name

                def say(what: str) -> None:
                    self._steps[name] = what
                    progress.update(task, description="; ".join(f"{who}: {step}" for who, step in self._steps.items()))

                async with places:
                    started = time.monotonic()
                    outcome = await _outcome(one, count, self._keep and str(Path(self._keep, name)), say)
                self._steps.pop(name, None)
                progress.advance(task, count)
                return outcome, time.monotonic() - started

            async def whole(one: Trial) -> None:
                parts = [part(one, size, number) for number, size in enumerate(shares(self._count, jobs), 1)]
                self._tell(one, await asyncio.gather(*parts))

            async with asyncio.TaskGroup() as group:
                for one in self._planned:
                    group.create_task(whole(one))

    def _tell(self, one: Trial, parts: Sequence[tuple[TrialOutcome | str, float]]) -> None:
        """Say what was found in the parts of a trial; one that cannot be run is a fault, and the others count."""
        outcomes = [part for part, _ in parts if isinstance(part, TrialOutcome)]
        wrong = [f"could not be run: {part}" for part, _ in parts if isinstance(part, str)]
        seconds = sum(seconds for _, seconds in parts)
        if outcomes:
            whole = together(outcomes)
            wrong += found_by(one, whole)
            self._table.add_row(*_row(one, whole))
        self._run += 1
        self._found += len(wrong)
        self._console.print(f"{'found' if wrong else 'ok':5} {seconds:5.0f} s  {one.name}", highlight=False)
        for fault in wrong:
            self._console.print(f"      {fault}", markup=False, highlight=False)


def shares(count: int, jobs: int) -> list[int]:
    """Return how many breaks each cluster of a trial gets: for each of `jobs` about as many, and no more than `BREAKS_EACH`."""
    clusters = max(min(jobs, count), math.ceil(count / BREAKS_EACH))
    return [count // clusters + (number < count % clusters) for number in range(clusters)]


async def _outcome(one: Trial, count: int, keep: str | None, say: Callable[[str], object]) -> TrialOutcome | str:
    """Run one trial on a cluster of its own; return its outcome, or why it did not come to an end."""
    with tempfile.TemporaryDirectory(prefix="saleroom-failover-") as made:
        folder = Path(made)
        folder.chmod(0o755)  # PostgreSQL and Mosquitto are other users
        try:
            return await run_inside(one, count, folder, say)
        finally:
            for log in folder.glob("*/*.log") if keep else ():
                kept = Path(str(keep), log.parent.name)
                kept.mkdir(parents=True, exist_ok=True)
                shutil.copy(log, kept)


def found_by(one: Trial, outcome: TrialOutcome) -> list[str]:
    """Return the faults of a trial; of a control that it found none."""
    if one.control:
        return [] if outcome.recorded.lost else ["no bid was lost, so this trial shows nothing"]
    return outcome.faults


def _row(one: Trial, outcome: TrialOutcome) -> list[str]:
    told = [sum(sum(faults(verdict).values()) for verdict in those) for those in (outcome.streams, outcome.subscribers)]
    recorded, closed = outcome.recorded, outcome.closed
    on_all, on_one = ([one[place] for one in outcome.pauses] for place in (0, 1))
    counted = [
        len(outcome.pauses),
        recorded.bids,
        outcome.repeats,
        recorded.lost,
        recorded.doubled,
        *told,
        closed.auctions,
        sum(faults(closed).values()),
        len(outcome.others),
    ]
    times = [f"{max(seconds):.1f} s" if seconds else "" for seconds in (on_all, on_one)]
    noted = ", ".join(f"{what}: {number}" for what, number in outcome.notes.items())
    return [one.name, *map(str, counted), *times, f"{one.seconds_max:.0f} s", noted]


if __name__ == "__main__":
    sys.exit(main())
