"""`python -m tests.faults`: every trial at full size, with its progress, and a table at the end.

Exit codes: 0 nothing was found, 1 something was, 130 it was stopped.
"""

import argparse
import asyncio
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.faults import live, lost_machine, money, outbox, photos, table, trial
from tests.faults.judging import faults
from tests.faults.live import LiveOutcome, LiveTrial
from tests.faults.lost_machine import MachineOutcome, MachineTrial
from tests.faults.money import MoneyOutcome, MoneyTrial
from tests.faults.outbox import OutboxOutcome, OutboxTrial
from tests.faults.photos import PhotoOutcome, PhotoTrial
from tests.faults.places import place
from tests.faults.trial import Trial, TrialOutcome
from tests.fixtures_database import embedded_server
from tests.needs import need

BIDS = 10_000
AnyTrial = Trial | OutboxTrial | LiveTrial | MoneyTrial | MachineTrial | PhotoTrial
AnyOutcome = TrialOutcome | OutboxOutcome | LiveOutcome | MoneyOutcome | MachineOutcome | PhotoOutcome
ALL: tuple[AnyTrial, ...] = (
    *table.FULL,
    outbox.FULL,
    live.FULL,
    money.FULL,
    lost_machine.FULL,
    lost_machine.CONTROL,
    photos.FULL,
)
HEADINGS = (
    "deaths",
    "bids",
    "sent again",
    "told",
    "duplicates",
    "missing",
    "out of order",
    "doubled",
    "lots",
    "closed wrong",
    "other",
)


def main(arguments: list[str] | None = None) -> int:
    """Run the trials whose names hold one of the given words, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description="Break the house, and count what is lost."
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="with commas: parts of the trials' names")
    parser.add_argument("--on", default="", metavar="WORDS", help=f"with commas, of: {', '.join(trial.ON_ALL)}")
    parser.add_argument(
        "--bids", default=BIDS, type=int, metavar="NUMBER", help=f"bids in each storm; {BIDS} unless given"
    )
    chosen = parser.parse_args(arguments)
    planned = list(_planned(chosen.only, chosen.on))
    if not planned:
        parser.error(f"no trial is called so; there are: {', '.join(one.name for one in ALL)}")
    try:
        for program in ("mosquitto", "mosquitto_sub"):
            need(program)
    except pytest.skip.Exception as missing:
        parser.error(str(missing))
    console = Console(width=None if sys.stdout.isatty() else 160)
    found: list[TrialResult] = []
    code = 0
    try:
        postgresql = any(where in trial.ON_POSTGRESQL for _, where in planned)
        with embedded_server() if postgresql else nullcontext() as server, _progress(console) as progress:
            task = progress.add_task("", total=len(planned))
            for one, where in planned:
                progress.update(task, description=f"{one.name}, {where}")
                found.append(_try(one, where, chosen.bids, server))
                _show(progress.console, found[-1])
                progress.advance(task)
    except KeyboardInterrupt:
        code = 130
    console.print(_table(found))
    faults = [fault for one in found for fault in one.faults]
    console.print(f"{len(found)} of {len(planned)} trials run; faults found: {len(faults)}")
    return code or int(bool(faults))


class TrialResult:
    """The result of one trial in one place; `outcome` is None if the trial could not be finished."""

    def __init__(
        self,
        name: str,
        where: str,
        outcome: AnyOutcome | None,
        faults: list[str],
        seconds: float,
    ) -> None:
        self.name, self.where, self.outcome, self.faults, self.seconds = name, where, outcome, faults, seconds


def _planned(only: str, on: str) -> Iterator[tuple[AnyTrial, str]]:
    names, places = ([word.strip() for word in words.split(",") if word.strip()] for words in (only, on))
    for one in ALL:
        for where in one.on:
            if any(word in one.name for word in names or [""]) and any(word in where for word in places or [""]):
                yield one, where


def _try(one: AnyTrial, where: str, bids: int, server: Any) -> TrialResult:
    started = time.monotonic()
    outcome: AnyOutcome | None = None
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="saleroom-faults-") as folder:
        try:
            with place(where, Path(folder), server, on_disk=one.on_disk) as there:
                if isinstance(one, OutboxTrial):
                    outcome = asyncio.run(outbox.run(one, Path(folder), where, there))
                elif isinstance(one, LiveTrial):
                    outcome = asyncio.run(live.run(one, Path(folder), where, there))
                elif isinstance(one, MoneyTrial):
                    outcome = asyncio.run(money.run(one, Path(folder), where, there))
                elif isinstance(one, MachineTrial):
                    outcome = asyncio.run(lost_machine.run(one, Path(folder), where, there))
                elif isinstance(one, PhotoTrial):
                    outcome = asyncio.run(photos.run(one, Path(folder), where, there))
                else:
                    outcome = asyncio.run(trial.run(one, Path(folder), where, there, bids))
            found = outcome.faults
        except Exception as error:  # noqa: BLE001  # one that cannot be run is a fault, and the others go on
            found = [f"could not be run: {error}\n{''.join(traceback.format_exception(error))}"]
    return TrialResult(one.name, where, outcome, found, time.monotonic() - started)


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=console, transient=True)


def _show(console: Console, found: TrialResult) -> None:
    console.print(
        f"{'found' if found.faults else 'ok':5} {found.seconds:5.0f} s  {found.name}, {found.where}", highlight=False
    )
    for fault in found.faults:
        console.print(f"      {fault}", markup=False, highlight=False)


def _table(found: list[TrialResult]) -> Table:
    shown = Table("trial", "on", title="What was told of the log, over all subscribers or readers of a trial")
    for heading in HEADINGS:
        shown.add_column(heading, justify="right")
    shown.add_column("noted")
    for one in found:
        shown.add_row(*_row(one, one.outcome))
    return shown


def _row(found: TrialResult, outcome: AnyOutcome | None) -> list[str]:
    if outcome is None:
        return [found.name, found.where, "could not be run"]
    if isinstance(outcome, OutboxOutcome | LiveOutcome | MoneyOutcome | MachineOutcome | PhotoOutcome):
        return [found.name, found.where, *[""] * len(HEADINGS), str(outcome)]
    told, recorded = outcome.told, outcome.recorded
    missing = sum(one.missing for one in told) + recorded.lost
    disordered = sum(one.disordered for one in told)
    doubled = sum(one.doubled for one in told) + recorded.doubled
    other = sum(one.unknown + one.stale for one in told) + len(outcome.violations)
    received = f"{len(told)} x {max(one.received for one in told)}"
    duplicates = sum(one.duplicates for one in told)
    counted = [
        outcome.deaths,
        recorded.bids,
        outcome.repeats,
        received,
        duplicates,
        missing,
        disordered,
        doubled,
        outcome.closed.auctions,
        sum(faults(outcome.closed).values()),
        other,
    ]
    noted = ", ".join(f"{what}: {number}" for what, number in outcome.notes.items())
    return [found.name, found.where, *map(str, counted), noted]


if __name__ == "__main__":
    sys.exit(main())
