"""What is told and recorded of a storm of bids, whatever fails in the middle of it: every trial in small."""

from pathlib import Path

import pytest

from tests.faults import table, trial
from tests.faults.trial import Trial

BIDS = 300
PACE_SECONDS = 0.1


@pytest.mark.parametrize(
    ("short", "where", "database_kind"),
    [
        pytest.param(short, where, "sqlite" if where == "sqlite" else "postgresql", id=f"{short.name}-{where}")
        for short in table.SHORT
        for where in short.on
    ],
    indirect=["database_kind"],
)
async def test_nothing_is_missing_out_of_order_or_doubled(
    short: Trial, where: str, bare_database_url: str, tmp_path: Path
) -> None:
    """Every event of the log arrives, in order within its auction; each acknowledged bid is in the log exactly once."""
    outcome = await trial.run(short, tmp_path, where, bare_database_url, BIDS, pace=PACE_SECONDS)
    print(f"\n{outcome}")  # noqa: T201  # for -s
    assert [] == outcome.faults
    assert outcome.recorded.bids >= BIDS
