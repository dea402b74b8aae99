"""Kills in the middle of a lot lose no act: the trial of a live sale in small."""

import asyncio
from pathlib import Path

import pytest

from tests.faults import live
from tests.faults.live import LiveTrial
from tests.faults.places import place


@pytest.mark.parametrize("short", live.SHORT, ids=lambda short: short.on[0])
def test_no_act_is_lost_or_done_twice(short: LiveTrial, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Each act that was acknowledged is in the log once, and the block after a death is that of the log."""
    [where] = short.on
    server = None if where == "sqlite" else request.getfixturevalue("postgresql_server")
    with place(where, tmp_path, server, on_disk=False) as there:
        outcome = asyncio.run(live.run(short, tmp_path, where, there))
    print(f"\n{outcome}")  # noqa: T201  # for -s
    assert [] == outcome.faults
    assert outcome.deaths >= short.kills
