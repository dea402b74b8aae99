"""Python looks for reference cycles rarely, so that a start takes less processor time."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from saleroom.cli import main
from saleroom.runtime import serving

RARELY = (100_000, 50, 100)


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    """Begin with Python's own thresholds, and end with those of the tests."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_every_command_looks_rarely() -> None:
    """A command has its thresholds before it imports what it needs."""
    assert 0 == main(["--version"])
    assert RARELY == gc.get_threshold()


def test_each_of_several_processes_looks_rarely() -> None:
    """The processes of a house are new ones: each has its thresholds before it imports and makes the application."""
    made: Any = serving._made_by(f"{__name__}:thresholds_now")
    assert RARELY == made


def thresholds_now() -> object:
    """Stand for the factory of an application."""
    return gc.get_threshold()
