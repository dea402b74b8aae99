"""Kills of the house, of the store and of moves lose no byte of a photo: the trial of photos in small."""

import asyncio
from pathlib import Path

import pytest

from tests.faults import photos
from tests.faults.conftest import OpenPlace
from tests.faults.photos import PhotoTrial


@pytest.mark.parametrize("short", photos.SHORT, ids=lambda short: short.on[0])
def test_no_photo_is_lost_and_none_is_left_behind(short: PhotoTrial, tmp_path: Path, open_place: OpenPlace) -> None:
    """Each row's bytes are there, acknowledged photos are served, and the store has nothing else after a sweep."""
    [where] = short.on
    with open_place(where) as there:
        outcome = asyncio.run(photos.run(short, tmp_path, where, there))
    print(f"\n{outcome}")  # noqa: T201  # for -s
    assert [] == outcome.faults
    assert outcome.deaths >= short.kills
