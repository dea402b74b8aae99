"""The messages and records of a storm of bids are right, whatever fails in the middle of it: every trial in small."""

import asyncio
from pathlib import Path

import pytest

from tests.faults import table, trial
from tests.faults.conftest import OpenPlace
from tests.faults.trial import Trial

BIDS = 60
LOTS = 8
PACE_SECONDS = 0.1

TRIALS = [pytest.param(short, where, id=f"{short.name}-{where}") for short in table.SHORT for where in short.on]


@pytest.mark.parametrize(("short", "where"), TRIALS)
def test_nothing_is_missing_out_of_order_or_doubled(
    short: Trial, where: str, open_place: OpenPlace, tmp_path: Path
) -> None:
    """Every event of the log arrives, in order within its auction; each acknowledged bid is in the log exactly once.

    Each auction is closed once, as its bids say; and a bid that cannot be written gets 503, with a time to come back.
    """
    with open_place(where, on_disk=short.on_disk) as there:
        outcome = asyncio.run(trial.run(short, tmp_path, where, there, BIDS, pace=PACE_SECONDS, lots=LOTS))
    print(f"\n{outcome}")  # noqa: T201  # for -s
    assert [] == outcome.faults
    assert outcome.recorded.bids >= BIDS
