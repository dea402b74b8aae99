"""Shrinks a failing plan to the shortest one that still fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulation.plan_entries import Entry, Plan
from tests.simulation.run import Result

SECONDS_MAX = 60.0

Run = Callable[[Plan], Result]


def shrunk(plan: Plan, kind: str, run: Run, seconds_max: float = SECONDS_MAX) -> Plan:
    """Return the shortest plan found within `seconds_max` that still breaks `kind`."""
    deadline = time.monotonic() + seconds_max

    def still(smaller: Plan) -> bool:
        breach = run(smaller).breach if time.monotonic() < deadline else None
        return breach is not None and breach.kind == kind

    size = max(1, len(plan.entries) // 2)
    while size:
        for fewer in _without_chunks(plan, size):
            if still(fewer):
                plan = fewer
                break
        else:
            size //= 2
    for processes in range(1, plan.processes):
        if still(smaller := _fewer_processes(plan, processes)):
            return smaller
    return plan


def _without_chunks(plan: Plan, size: int) -> Iterator[Plan]:
    """Yield the plan without some of its entries, the last ones first: entries after a breach do not matter."""
    ordered: list[Entry] = sorted(plan.entries, key=lambda entry: (-entry.at, entry.number))
    for start in range(0, len(ordered), size):
        left = {entry.number for entry in (*ordered[:start], *ordered[start + size :])}
        yield plan.keeping(left)


def _fewer_processes(plan: Plan, processes: int) -> Plan:
    """Return the plan on fewer processes, or the same if a process that would be missing has a fault."""
    missing = any(getattr(entry, "process", 1) > processes for entry in plan.entries)
    return plan if missing else replace(plan, processes=processes)
