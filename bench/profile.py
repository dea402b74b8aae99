"""Where the processor time of a bid goes: the sampled stacks of a house under load, by the steps of `bench/steps.py`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bench import BenchError, bidding, data
from bench.bidding import CONNECTIONS, Interval, recorded
from bench.data import AUCTIONS
from bench.servers import House
from bench.stage import Stage
from bench.steps import NONE, STEPS, step_of
from bench.wrk import Load

ROWS = {
    "sqlite-hot": ("sqlite", 1),
    "sqlite-spread": ("sqlite", AUCTIONS),
    "pg-hot": ("postgresql", 1),
    "pg-spread": ("postgresql", AUCTIONS),
}
OTHERS = "other threads: SQLite's commits"
DATABASE = "PostgreSQL beside the house"
_WRITE_SECONDS_MAX = 60.0


class Samples(Struct):
    """What `bench/sampler.py` writes: the seconds of each stack, and those of all other threads."""

    stacks: list[tuple[list[str], float]]
    others: float


class Profile(Struct, frozen=True, kw_only=True):
    """The processor time of a house under load by step, in parts of all, and PostgreSQL's in parts of the house's."""

    bids: int
    shares: dict[str, float]
    database: float | None
    unknown: list[str]
    """The functions with the most time of those in none of the steps."""


def take(stage: Stage, row: str) -> Profile:
    """Return the profile of a house under the load of `row`, on a fresh database."""
    kind, auctions = ROWS[row]
    file = stage.folder / "samples.json"
    file.unlink(missing_ok=True)
    load = Load(script="bid.lua", tokens=stage.tokens, gids=stage.gids(auctions), connections=CONNECTIONS)
    command = (sys.executable, "-m", "bench.sampler", str(file))
    with stage.database(kind) as url:
        with House(stage.folder, url, saleroom=command) as house:
            interval = Interval(house.pid, stage.server_pid(kind))

            def sample(seconds: float) -> None:
                os.kill(house.pid, signal.SIGUSR1)
                time.sleep(seconds)
                os.kill(house.pid, signal.SIGUSR2)

            bidding.run_load(stage, house, load, interval, sample)
            found = _written(file)
        accepted = data.on(url, lambda connection: recorded(connection, 0, interval))
    shares, unknown = grouped(found)
    return Profile(
        bids=accepted,
        shares=shares,
        database=interval.database_cpu / interval.server_cpu if kind == "postgresql" else None,
        unknown=unknown,
    )


def grouped(samples: Samples) -> tuple[dict[str, float], list[str]]:
    """Return the share of each step, of no step and of other threads, and the functions in no step with the most time."""
    seconds: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for stack, spent in samples.stacks:
        step = step_of(stack)
        seconds[step] += spent  # type: ignore[assignment]  # a Counter adds floats too
        if step == NONE:
            unknown[stack[0] if stack else "no Python"] += spent  # type: ignore[assignment]  # likewise
    seconds[OTHERS] = max(0.0, samples.others)  # type: ignore[assignment]  # likewise
    total = sum(seconds.values()) or 1.0
    shares = {step: seconds[step] / total for step in (*STEPS, OTHERS, NONE)}
    return shares, [function for function, _ in unknown.most_common(5)]


def markdown(profiles: dict[str, Profile]) -> str:
    """Return the table of shares in Markdown: a line for each step, a column for each row."""
    lines = [("step", *profiles), ("---", *("---:" for _ in profiles))]
    lines += [
        (step, *(f"{profile.shares[step]:.1%}" for profile in profiles.values())) for step in (*STEPS, OTHERS, NONE)
    ]
    beside = ("" if profile.database is None else f"{profile.database:.0%}" for profile in profiles.values())
    return _table([*lines, (DATABASE, *beside)])


def _table(lines: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _written(file: Path) -> Samples:
    """Wait for the file of samples and return them. Raises BenchError if it does not come."""
    deadline = time.monotonic() + _WRITE_SECONDS_MAX
    while not file.exists():
        if time.monotonic() > deadline:
            raise BenchError("the house has written no samples")
        time.sleep(0.05)
    return msgspec.json.decode(file.read_bytes(), type=Samples)
