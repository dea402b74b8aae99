"""Kills in the middle of a lot lose no act: the trial of a live sale in small."""

import asyncio
from pathlib import Path

import pytest

from tests.faults import live
from tests.faults.conftest import OpenPlace
from tests.faults.live import LiveTrial


@pytest.mark.parametrize("short", live.SHORT, ids=lambda short: short.on[0])
def test_no_act_is_lost_or_done_twice(short: LiveTrial, tmp_path: Path, open_place: OpenPlace) -> None:
    """Each act that was acknowledged is in the log once, and the block after a death is that of the log."""
    [where] = short.on
    with open_place(where) as there:
        outcome = asyncio.run(live.run(short, tmp_path, where, there))
    print(f"\n{outcome}")  # noqa: T201  # for -s
    assert [] == outcome.faults
    assert outcome.deaths >= short.kills
