"""`python -m tests.failover`: three machines in network namespaces, broken under bids and judged from outside.

Exit codes: 0 nothing was found, 1 something was, 2 something is missing here, 130 it was stopped.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.failover import table
from tests.failover.cluster import check_needs
from tests.failover.inside import SPACES, run_inside
from tests.failover.trial import Trial, TrialOutcome
from tests.faults.judging import faults
from tests.needs import MARK

HEADINGS = ("breaks", "bids", "sent again", "lost", "doubled", "streams", "MQTT", "lots", "closed wrong", "other")


def main(arguments: list[str] | None = None) -> int:
    """Run the trials whose names hold one of the given words, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.failover", description="Break three machines, and count.")
    names = "; ".join(one.name for one in table.ALL)
    parser.add_argument(
        "--only", default="", metavar="WORDS", help=f"with commas: parts of the trials' names ({names})"
    )
    parser.add_argument("--count", default=1, type=int, metavar="NUMBER", help="breaks in each trial; 1 unless given")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the logs of all machines in this folder")
    chosen = parser.parse_args(arguments)
    words = [word.strip() for word in chosen.only.split(",") if word.strip()]
    planned = [one for one in table.ALL if any(word in one.name for word in words or [""])]
    if not planned:
        parser.error(f"no trial is called so; there are: {names}")
    if chosen.count < 1:
        parser.error("--count needs a number of at least 1")
    if problem := _missing():
        parser.error(problem)
    return _run_all(planned, chosen.count, chosen.keep)


def _missing() -> str:
    """Say what is missing here; nothing if all is there."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    try:
        check_needs()
    except (pytest.skip.Exception, pytest.fail.Exception) as missing:
        return f"needed here: {str(missing).removeprefix(MARK)}"
    trying = subprocess.run([*SPACES, "true"], capture_output=True, text=True, check=False)
    return f"no namespaces can be made here: {trying.stderr.strip()}" if trying.returncode else ""


def _run_all(planned: list[Trial], count: int, keep: str | None) -> int:
    console = Console(width=None if sys.stdout.isatty() else 160)
    shown = Table("trial", *HEADINGS, "pause", "on one lot", "limit", "noted")
    found = run = 0
    stopped = False
    try:
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("", total=len(planned))
            for one in planned:

                def say(what: str, name: str = one.name) -> None:
                    progress.update(task, description=f"{name}: {what}")

                started = time.monotonic()
                outcome, wrong = _try(one, count, keep, say)
                run += 1
                found += len(wrong)
                seconds = time.monotonic() - started
                console.print(f"{'found' if wrong else 'ok':5} {seconds:5.0f} s  {one.name}", highlight=False)
                for fault in wrong:
                    console.print(f"      {fault}", markup=False, highlight=False)
                if outcome is not None:
                    shown.add_row(*_row(one, outcome))
                progress.advance(task)
    except KeyboardInterrupt:
        stopped = True
    console.print(shown)
    console.print(f"{run} of {len(planned)} trials run; faults found: {found}")
    return 130 if stopped else int(bool(found))


def _try(
    one: Trial, count: int, keep: str | None, say: Callable[[str], object]
) -> tuple[TrialOutcome | None, list[str]]:
    """Run one trial; return its outcome, if it came to an end, and what was found."""
    with tempfile.TemporaryDirectory(prefix="saleroom-failover-") as made:
        folder = Path(made)
        folder.chmod(0o755)  # PostgreSQL and Mosquitto are other users
        outcome = run_inside(one, count, folder, say)
        for log in folder.glob("*/*.log") if keep else ():
            kept = Path(str(keep), one.name, log.parent.name)
            kept.mkdir(parents=True, exist_ok=True)
            shutil.copy(log, kept)
    if isinstance(outcome, str):  # one that cannot be run is a fault, and the others go on
        return None, [f"could not be run: {outcome}"]
    return outcome, found_by(one, outcome)


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
