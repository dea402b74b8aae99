"""`python -m tests.simulation`: many seeds, one seed step by step, or the planted faults.

Exit codes: 0 nothing was found (or with --planted: every plant was), 1 otherwise (also if a seed hangs), 2 wrong words,
130 stopped.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from tests.memory import roomy_memory
from tests.simulation import planted_desk, planted_sales  # noqa: F401  # they add to PLANTS
from tests.simulation.plan import plan
from tests.simulation.plan_entries import Plan
from tests.simulation.planted import PLANTS, searched
from tests.simulation.run import Result, run
from tests.simulation.shrinking import shrunk
from tests.simulation.storage import File

FAILURES_MAX = 5
"""How many failing seeds are shrunk and reported in full; the others only by number."""
TOLD_SECONDS = 10.0
"""After so long a line reports the progress, if no bar can."""
SEED_SECONDS_MAX = 300.0
"""A seed takes a fifth of a second; one that takes this long on a busy machine hangs."""
PLANTED_SEEDS_MAX = 400
_file: File | None = None


def main(arguments: list[str] | None = None) -> int:
    """Run the arguments' command, and return the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False, soft_wrap=True)
    try:
        if chosen.planted:
            return _all_planted(console)
        if chosen.plant is not None and chosen.plant not in PLANTS:
            parser.error(f"no fault is called so; there are: {'; '.join(PLANTS)}")
        with PLANTS[chosen.plant]() if chosen.plant else nullcontext():
            if chosen.seed is not None:
                return _one(console, chosen)
            return _many(console, chosen)
    except multiprocessing.TimeoutError:
        _tell(console, [f"no seed ended within {SEED_SECONDS_MAX:.0f} s: one hangs where the lines above say"])
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation", description="The house on a fake clock, with faults by seed."
    )
    parser.add_argument("--seeds", type=_seeds, default=range(1, 1001), metavar="N", help="1 to N, or FROM..TO; 1000")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that share the seeds; 1")
    parser.add_argument("--seed", type=int, metavar="N", help="this one alone, and tell all that happens")
    parser.add_argument("--keep", type=_numbers, metavar="N,N,...", help="of this seed, only these entries")
    parser.add_argument("--processes", type=int, metavar="N", help="of this seed, on so many processes of the house")
    parser.add_argument("--quiet", action="store_true", help="of this seed, tell the result only")
    parser.add_argument("--plant", metavar="NAME", help="with this fault planted")
    parser.add_argument("--planted", action="store_true", help="look for each planted fault, and show the table")
    return parser


def _seeds(text: str) -> range:
    first, dots, last = text.partition("..")
    numbers = range(int(first), int(last) + 1) if dots else range(1, int(first) + 1)
    if not numbers:
        raise ValueError
    return numbers


def _numbers(text: str) -> set[int]:
    return {int(number) for number in text.split(",")}


def _one(console: Console, chosen: argparse.Namespace) -> int:
    """Run one seed, and print all that happens."""
    one = plan(chosen.seed)
    if chosen.keep is not None:
        one = one.keeping(chosen.keep)
    if chosen.processes is not None:
        one = replace(one, processes=chosen.processes)
    with _fresh_file() as file:
        result = run(one, file, traces=not chosen.quiet)
    if not chosen.quiet:
        _tell(console, [f"{one.processes} processes", *one.lines(), "", *result.lines])
    _tell(console, [_summary(one.seed, result)])
    return int(result.breach is not None)


def _many(console: Console, chosen: argparse.Namespace) -> int:
    """Run many seeds, shrink the first that fail, and say how many did."""
    began, failed = time.monotonic(), []
    told = began
    commits = events = 0
    with _progress(console) as progress:
        task = progress.add_task("", total=len(chosen.seeds))
        for seed, result in _results(chosen.seeds, chosen.jobs):
            commits, events = commits + result.commits, events + result.events
            if result.breach is not None:
                failed.append(seed)
                progress.console.print(_summary(seed, result), markup=False)
                if len(failed) <= FAILURES_MAX:
                    _shrink(progress.console, seed, result, chosen.plant)
            rate = (progress.tasks[task].completed + 1) / (time.monotonic() - began)
            progress.update(task, advance=1, description=f"{rate:.1f} seeds/s, failed: {len(failed)}")
            if not console.is_terminal and time.monotonic() - told >= TOLD_SECONDS:
                told = time.monotonic()
                _tell(console, [f"{progress.tasks[task].completed:.0f} seeds, {rate:.1f}/s, failed: {len(failed)}"])
    seconds = time.monotonic() - began
    rate = len(chosen.seeds) / seconds
    done = f"{len(chosen.seeds)} seeds in {seconds:.0f} s ({rate:.2f}/s), {commits} transactions, {events} events"
    _tell(console, [f"{done}; failed: {len(failed)} {failed or ''}"])
    return int(bool(failed))


def _results(seeds: range, jobs: int) -> Iterator[tuple[int, Result]]:
    """Return the result of each seed. Raises multiprocessing.TimeoutError if one hangs, whose place is on standard error."""
    # The pool's processes are killed, so their files are removed from here.
    with (
        tempfile.TemporaryDirectory(prefix="saleroom-simulation-", dir=roomy_memory()) as folder,
        multiprocessing.get_context("fork").Pool(jobs, _prepare, (folder,)) as pool,
    ):
        results = pool.imap_unordered(_run_here, seeds)
        for _ in seeds:
            yield results.next(timeout=SEED_SECONDS_MAX)


def _prepare(folder: str) -> None:
    global _file  # noqa: PLW0603  # one file for all that this process of the pool runs
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it, and ends them
    _file = File(folder)


def _run_here(seed: int) -> tuple[int, Result]:
    assert _file is not None
    faulthandler.dump_traceback_later(SEED_SECONDS_MAX - 1, file=2)  # `sys.stderr` has no descriptor within a test
    try:
        return seed, run(plan(seed), _file)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _shrink(console: Console, seed: int, result: Result, planted: str | None) -> None:
    """Print the shortest plan that still fails, and the command to replay it."""
    assert result.breach is not None
    with _fresh_file() as file:
        least = shrunk(plan(seed), result.breach.kind, lambda smaller: run(smaller, file))
        breach = run(least, file).breach
    _tell(console, [f"  {least.processes} processes", *(f"  {line}" for line in least.lines()), f"  {breach}"])
    _tell(console, [f"  replay: {command(least, planted)}", ""])


def command(least: Plan, planted: str | None = None) -> str:
    """Return the command that replays a shrunk seed."""
    keep = ",".join(str(number) for number in sorted(entry.number for entry in least.entries))
    with_plant = f' --plant "{planted}"' if planted else ""
    return f"python -m tests.simulation --seed {least.seed} --processes {least.processes} --keep {keep}{with_plant}"


def found(name: str, seeds: Iterable[int], file: File) -> tuple[int, Result] | None:
    """Return the first of `seeds` that finds the planted fault `name`, and how; None if no seed does.

    A seed that finds something in the house without the plant does not count.
    """
    for seed in seeds:
        with PLANTS[name]():
            result = run(plan(seed), file)
        if result.breach is not None and run(plan(seed), file).breach is None:
            return seed, result
    return None


def _all_planted(console: Console) -> int:
    table = Table("planted fault", "seed", "property that is broken", "least that shows it", title="Planted faults")
    missed = 0
    with _fresh_file() as file:
        for name in PLANTS:
            hit = found(name, searched(name, PLANTED_SEEDS_MAX), file)
            breach = None if hit is None else hit[1].breach
            if hit is None or breach is None:
                missed += 1
                table.add_row(name, "-", f"not found in {PLANTED_SEEDS_MAX} seeds", "")
                continue
            seed, kind = hit[0], breach.kind
            with PLANTS[name]():
                least = shrunk(plan(seed), kind, lambda smaller: run(smaller, file), seconds_max=20.0)
            table.add_row(name, str(seed), kind, f"{len(least.entries)} of {len(plan(seed).entries)} entries")
            console.print(f"{name}: seed {seed}", markup=False)
    console.print(table)
    return int(bool(missed))


@contextmanager
def _fresh_file() -> Iterator[File]:
    file = File()
    try:
        yield file
    finally:
        file.remove()


def _progress(console: Console) -> Progress:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, TextColumn("{task.description}"), console=console, transient=True)


def _summary(seed: int, result: Result) -> str:
    of = f"seed {seed}: {result.commits} transactions, {result.events} events, {result.virtual_seconds:.0f} s of the house's"
    return f"{of}, {'ok' if result.breach is None else f'BROKEN {result.breach}'}"


def _tell(console: Console, lines: list[str]) -> None:
    for line in lines:
        console.print(line, markup=False)


if __name__ == "__main__":
    sys.exit(main())
