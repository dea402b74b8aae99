"""Kills in the middle of money lose no act and leave no part of one: the trial of the money in small."""

import asyncio
from pathlib import Path

import pytest

from tests.faults import money
from tests.faults.conftest import OpenPlace
from tests.faults.money import MoneyTrial


@pytest.mark.parametrize("short", money.SHORT, ids=lambda short: short.on[0])
def test_no_act_is_lost_doubled_or_half_done(short: MoneyTrial, tmp_path: Path, open_place: OpenPlace) -> None:
    """After each death all is there of an act or nothing; at the end each act that was answered is there once."""
    [where] = short.on
    with open_place(where) as there:
        outcome = asyncio.run(money.run(short, tmp_path, where, there))
    print(f"\n{outcome}")  # noqa: T201  # for -s
    assert [] == outcome.faults
    assert outcome.deaths >= short.kills
