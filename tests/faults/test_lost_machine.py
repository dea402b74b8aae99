"""A machine that is lost with all its files takes no answered bid with it, if the house waits for Litestream."""

import asyncio
from pathlib import Path

from tests.faults import lost_machine
from tests.faults.lost_machine import SHORT, SHORT_CONTROL, MachineOutcome, MachineTrial
from tests.faults.places import TrialDatabase


def _tried(trial: MachineTrial, folder: Path) -> MachineOutcome:
    outcome = asyncio.run(lost_machine.run(trial, folder, "sqlite", TrialDatabase("")))
    print(f"\n{outcome}")  # noqa: T201  # for -s
    return outcome


def test_no_answered_bid_is_lost_and_nothing_is_told_that_is(tmp_path: Path) -> None:
    """Each acknowledged bid is in the restored log, each receipt verifies, and streams and MQTT told nothing else."""
    assert [] == _tried(SHORT, tmp_path).faults


def test_without_the_wait_answered_bids_are_lost(tmp_path: Path) -> None:
    """Litestream copies once a second. Otherwise the trial above would show nothing."""
    assert _tried(SHORT_CONTROL, tmp_path).lost > 0
