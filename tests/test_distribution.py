"""Long files of tests begin first."""

from pathlib import Path

from tests.distribution import LONG


def test_long_files_are_there() -> None:
    """A file that was renamed would begin late without a word."""
    assert [] == [name for name in LONG if not (Path(__file__).parents[1] / name).exists()]
