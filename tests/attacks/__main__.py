"""`python -m tests.attacks`: every attack on a served house on both databases, and the storms as a table.

Exit codes: 0 the house held, 1 it did not, 2 wrong words, 130 it was stopped.
"""

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.attacks import inputs, seen, storms, wire
from tests.attacks.storms import TIMES_MAX, Bids, Storm
from tests.attacks.table import Attack
from tests.attacks.target import ON, Target, attacked
from tests.fixtures_database import _postgresql_database, embedded_server
from tests.process import PROGRAM

ATTACKS = (*wire.ATTACKS, *seen.ATTACKS, *inputs.ATTACKS)


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen attacks and storms, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.attacks",
        description="Attack a served house as strangers did, and say what it withstood.",
        epilog="Examples: python -m tests.attacks --only cursor,search --on sqlite; "
        "python -m tests.attacks --program ../older/.venv/bin/saleroom",
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="with commas: parts of the names of attacks")
    parser.add_argument("--on", default="", metavar="WORDS", help=f"with commas, of: {', '.join(ON)}")
    parser.add_argument("--lots", default=storms.LOTS, type=int, metavar="N", help="lots on sale during the storms")
    parser.add_argument("--program", default=PROGRAM, type=Path, metavar="FILE", help="the `saleroom` to attack")
    parser.add_argument("--no-storms", action="store_true", help="leave the storms out, which take minutes")
    chosen = parser.parse_args(arguments)
    words = [word.strip() for word in chosen.only.split(",") if word.strip()]
    attacks = [one for one in ATTACKS if _wanted(one, words)]
    raging = [] if chosen.no_storms else [one for one in storms.STORMS if _wanted(one, words)]
    if not attacks and not raging:
        parser.error(f"no attack is called so; there are: {', '.join(one.name for one in (*ATTACKS, *storms.STORMS))}")
    places = [one for one in ON if not chosen.on or one in chosen.on.split(",")]
    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    report = Report(console)
    try:
        with _progress(console) as progress:
            for on in places:
                _attack(on, attacks, raging, chosen.lots, chosen.program, report, progress)
    except KeyboardInterrupt:
        report.show()
        return 130
    report.show()
    return int(bool(report.found))


class Report:
    """The results of all attacks and storms."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._storms = Table(
            "row", "storm", "on", "p50 alone", "p50", "times", "p99 alone", "p99", "times", "refused", "/me p99"
        )
        self._storms.title = "How long a bid takes, in ms"
        self.found = 0
        self.tried = 0

    def attack(self, one: Attack, on: str, found: str | None, seconds: float) -> None:
        """Print the result of an attack."""
        self.tried += 1
        self.found += found is not None
        verdict = "held" if found is None else "FELL"
        self._console.print(f"{verdict}  {seconds:5.1f} s  {one.row:>3}  {on:10}  {one.name}", markup=False)
        if found is not None:
            self._console.print(f"                          {found}", markup=False)

    def storm(self, one: Storm, on: str, alone: Bids, during: Bids) -> None:
        """Print the result of a storm."""
        self.tried += 1
        times = during.p50 / alone.p50, during.p99 / alone.p99
        fell = max(times) > TIMES_MAX or during.refused > 0
        self.found += fell
        row = [one.row, one.name, on, f"{alone.p50:.1f}", f"{during.p50:.1f}", f"{times[0]:.1f}"]
        row += [f"{alone.p99:.1f}", f"{during.p99:.1f}", f"{times[1]:.1f}", str(during.refused)]
        row.append(f"{during.me_p99:.0f}")
        self._storms.add_row(*row)
        self._console.print(
            f"{'FELL' if fell else 'held'}           {one.row:>3}  {on:10}  storm: {one.name}", markup=False
        )

    def show(self) -> None:
        """Print the table of the storms, and how many attacks the house did not withstand."""
        if self._storms.row_count:
            self._console.print(self._storms)
        self._console.print(f"{self.tried} attacks, of which the house did not withstand {self.found}")


def _wanted(one: Attack | Storm, words: list[str]) -> bool:
    return not words or any(word in one.name or word == one.row for word in words)


def _attack(
    on: str,
    attacks: list[Attack],
    raging: list[Storm],
    lots: int,
    program: Path,
    report: Report,
    progress: Progress,
) -> None:
    own = [one for one in attacks if on in one.on]
    task = progress.add_task("", total=len(own) + len(raging))
    with served(on, program) as target:
        if raging:
            progress.update(task, description=f"{lots} lots are put up for sale, {on}")
            known = storms.furnish(target, lots)
            for storm in raging:
                progress.update(task, description=f"{storm.name}, {on}")
                alone = storms.measure(target, known, None)
                report.storm(storm, on, alone, storms.measure(target, known, storm))
                progress.advance(task)
    with served(on, program) as target:
        for one in own:
            progress.update(task, description=f"{one.name}, {on}")
            began = time.monotonic()
            try:
                found = one.run(target)
            except Exception as error:  # noqa: BLE001  # an attack that cannot be run is told as one that was not withstood
                found = f"could not be run: {error}\n{''.join(traceback.format_exception(error))}"
            report.attack(one, on, found, time.monotonic() - began)
            progress.advance(task)


@contextmanager
def served(on: str, program: Path = PROGRAM, **more: str) -> Iterator[Target]:
    """Serve a house with an empty database, and with `more` settings."""
    with tempfile.TemporaryDirectory(prefix="saleroom-attacks-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if on == "sqlite":
            with attacked(on, f"sqlite:///{folder}/saleroom.db", folder, program, **more) as target:
                yield target
            return
        with embedded_server() as server:
            for url in _postgresql_database(server.get_uri(), "template0"):
                with attacked(on, url, folder, program, **more) as target:
                    yield target


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=console, transient=True)


if __name__ == "__main__":
    sys.exit(main())
