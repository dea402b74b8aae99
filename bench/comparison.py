"""This checkout beside another revision: rounds of this one, the other, and the other again, in random order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from functools import partial

from msgspec import Struct
from rich import box
from rich.console import Console
from rich.table import Table
from sqlalchemy.exc import SQLAlchemyError

from bench import BenchError, bidding, instructions, revisions, turns
from bench.data import AUCTIONS
from bench.report import number
from bench.results import Reading, Results, new
from bench.revisions import Revision
from bench.run import stop_by_sigterm, told
from bench.servers import House
from bench.stage import Stage
from bench.verdicts import Comparison, Outcome, Round, compare

SIDES = ("this", "other", "again")
HEADS = ("row", "measure", "other", "this", "ratio", "spread", "null ratio", "its spread", "this is")


class Measure(Struct, frozen=True):
    """A figure that is compared: `value` if its name is empty."""

    figure: str
    label: str
    lower_is_better: bool = True


class Way(StrEnum):
    """How a row measures: `wrk` for some seconds, instructions in storms, or storms on all three sides by turns."""

    WRK = ""
    INSTRUCTIONS = "-instructions"
    TURNS = "-turns"


class Row(Struct, frozen=True, kw_only=True):
    """A row of the comparison: bids on so many auctions, or requests for `path` unless it is empty."""

    kind: str
    auctions: int
    way: Way
    path: str = ""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The figures that are compared."""
        if self.way is Way.INSTRUCTIONS:
            return (
                Measure("", "instructions of the house for each accepted bid"),
                Measure(instructions.CALLS, "reads and writes of the house for each accepted bid"),
            )
        if self.way is Way.TURNS:
            return (
                Measure("", f"µs of the house's processor time for each {'answer' if self.path else 'accepted bid'}"),
            )
        database = (Measure("database_cpu_us", "µs of PostgreSQL's processor time for each accepted bid"),)
        return (
            Measure("server_cpu_us", "µs of the house's processor time for each accepted bid"),
            *(database if self.kind == "postgresql" else ()),
            Measure("", "accepted bids/s", lower_is_better=False),
        )


_KINDS = (("sqlite", "sqlite"), ("pg", "postgresql"))
_SIZES = (("hot", 1), ("spread", AUCTIONS))
ROWS = {
    f"{name}-{size}{way}": Row(kind=kind, auctions=auctions, way=way)
    for way in Way
    for name, kind in _KINDS
    for size, auctions in _SIZES
} | {
    f"{name}-{what}{Way.TURNS}": Row(kind=kind, auctions=auctions, way=Way.TURNS, path=path)
    for name, kind in _KINDS
    for what, auctions, path in (
        ("show-hot", 1, "/auctions/{gid}"),
        ("show-spread", AUCTIONS, "/auctions/{gid}"),
        ("list", AUCTIONS, "/auctions"),
    )
}


def run(commit: str, rows: Sequence[str], rounds: int, seconds: float, console: Console) -> Results:
    """Compare this checkout with `commit`. Ctrl-C ends all servers, removes the other revision, and returns what there is.

    The older side makes the database of both. Each side then opens a copy once, which migrates the newer one's.
    """
    results = new(rounds, seconds)

    def say(text: str) -> None:
        console.print(text, highlight=False)

    stop_by_sigterm()
    try:
        with ExitStack() as stack:
            other_is_older = revisions.older_is_other(commit)
            say(f"Installing {commit}")
            other, here = stack.enter_context(revisions.installed(commit)), revisions.this()
            say(f"Comparing {here.name} with {other.name}, which is measured twice")
            results.machine["other"] = other.name
            stage = stack.enter_context(Stage(seconds, say, say, filler=other if other_is_older else here))
            opened = {
                (kind, revision): stage.copied_template(kind, partial(_open, stage, revision))
                for kind in dict.fromkeys(ROWS[name].kind for name in rows)
                for revision in (here, other)
            }
            for turn in range(1, rounds + 1):
                for name in (name for name in rows if ROWS[name].way is Way.TURNS and name not in results.not_measured):
                    kind = ROWS[name].kind
                    sides = {
                        side: turns.Side(revision.saleroom, opened[kind, revision])
                        for side, revision in (("this", here), ("other", other), ("again", other))
                    }
                    try:
                        found = turns.take(stage, kind, sides, auctions=ROWS[name].auctions, path=ROWS[name].path)
                    except (BenchError, SQLAlchemyError) as error:
                        results.not_measured[name] = str(error)
                        results.failed += 1
                        say(f"round {turn}  {name:<28} not measured: {error}")
                    else:
                        for side, readings in found.items():
                            results.readings.setdefault(f"{name} {side}", []).extend(readings)
                            say(f"round {turn}  {name:<28} {side:<6} {turns.told(readings)}")
                for name, side in ((name, side) for name in rows for side in random.sample(SIDES, len(SIDES))):
                    if ROWS[name].way is Way.TURNS or name in results.not_measured:
                        continue
                    revision = here if side == "this" else other
                    try:
                        reading = _measure(stage, ROWS[name], revision, opened[ROWS[name].kind, revision])
                    except (BenchError, SQLAlchemyError) as error:
                        results.not_measured[name] = f"{revision.name}: {error}"
                        results.failed += 1
                        say(f"round {turn}  {name:<28} {side:<6} not measured: {error}")
                    else:
                        results.readings.setdefault(f"{name} {side}", []).append(reading)
                        say(f"round {turn}  {name:<28} {side:<6} {told(reading)}")
    except KeyboardInterrupt:
        results.stopped = True
        say("Stopped; what was measured by then follows.")
    return results


def _open(stage: Stage, revision: Revision, url: str) -> None:
    stage.say(f"opening the database by {revision.name}")
    try:
        with House(stage.folder, url, saleroom=revision.saleroom):
            pass
    except BenchError as error:
        raise BenchError(
            f"{revision.name} cannot be compared: its house does not open the database: {error}"
        ) from error


def _measure(stage: Stage, row: Row, revision: Revision, template: str) -> Reading:
    with stage.database(row.kind, template) as url:
        if row.way is Way.INSTRUCTIONS:
            return instructions.for_each_bid(stage, url, auctions=row.auctions, saleroom=revision.saleroom)
        return bidding.on_database(stage, url, row.kind, auctions=row.auctions, saleroom=revision.saleroom)


def comparisons(results: Results) -> list[tuple[str, Measure, Comparison]]:
    """Return what each row and measure says, of the rounds that are whole and have no zero to divide by."""
    found = []
    for name, row in ROWS.items():
        for measure in row.measures:
            sides = (results.figure(f"{name} {side}.{measure.figure}") for side in SIDES)
            rounds = [Round(*figures) for figures in zip(*sides, strict=False) if min(figures) > 0]
            if rounds:
                found.append((name, measure, compare(rounds, lower_is_better=measure.lower_is_better)))
    return found


def table(found: Sequence[tuple[str, Measure, Comparison]]) -> Table:
    """Return the table for a terminal."""
    made = Table(box=box.SIMPLE_HEAD)
    for head in HEADS:
        made.add_column(head, overflow="fold", min_width=24 if head == "measure" else None)
    for name, measure, each in found:
        made.add_row(
            *(name, measure.label, number(each.other), number(each.this)),
            *(f"{each.ratio:.3f}", _between(each.spread), f"{each.null:.3f}", _between(each.null_spread)),
            str(each.outcome),
        )
    return made


def _between(spread: tuple[float, float]) -> str:
    return f"{spread[0]:.3f} to {spread[1]:.3f}"


def is_worse(found: Sequence[tuple[str, Measure, Comparison]]) -> bool:
    """Return whether any figure has become worse."""
    return any(each.outcome is Outcome.WORSE for _, _, each in found)
