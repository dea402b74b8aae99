"""The messages and records of a storm of bids are right, whatever fails in the middle of it: every trial in small."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import table, trial
from tests.faults.places import TrialDatabase, place
from tests.faults.trial import Trial

BIDS = 60
LOTS = 8
PACE_SECONDS = 0.1


TRIALS = [pytest.param((short, where), id=f"{short.name}-{where}") for short in table.SHORT for where in short.on]


@pytest.fixture(params=TRIALS)
def trial_somewhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Trial, str, TrialDatabase]]:
    """A trial, where it takes place, and that place."""
    short, where = request.param
    own = where == "sqlite" or short.on_disk
    server = None if own else request.getfixturevalue("postgresql_server")
    tables = None
    if not own:
        _, tables = request.getfixturevalue("postgresql_template")
    elif where == "sqlite":
        tables = request.getfixturevalue("sqlite_template")
    with place(where, tmp_path, server, on_disk=short.on_disk, tables=tables) as there:
        yield short, where, there


async def test_nothing_is_missing_out_of_order_or_doubled(
    trial_somewhere: tuple[Trial, str, TrialDatabase], tmp_path: Path
) -> None:
    """Every event of the log arrives, in order within its auction; each acknowledged bid is in the log exactly once.

    Each auction is closed once, as its bids say; and a bid that cannot be written gets 503, with a time to come back.
    """
    short, where, there = trial_somewhere
    outcome = await trial.run(short, tmp_path, where, there, BIDS, pace=PACE_SECONDS, lots=LOTS)
    print(f"\n{outcome}")  # noqa: T201  # for -s
    assert [] == outcome.faults
    assert outcome.recorded.bids >= BIDS
