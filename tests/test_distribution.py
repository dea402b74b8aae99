"""Long files of tests begin first."""

from pathlib import Path

from tests.distribution import APART, LONG, unit_of


def test_long_files_are_there() -> None:
    """A file that was renamed would begin late without a word."""
    assert [] == [name for name in LONG if not (Path(__file__).parents[1] / name).exists()]


def test_what_stays_together() -> None:
    """Tests of a file share a process, and so do all of the browser; the trials of houses do not."""
    for one, other, together in (
        ("tests/kernel/test_money.py::test_a", "tests/kernel/test_money.py::test_b", True),
        ("tests/browser/test_lot.py::test_a", "tests/browser/test_home.py::test_b", True),
        *((f"{file}::test_a[x]", f"{file}::test_a[y]", False) for file in APART),
    ):
        assert together == (unit_of(one) == unit_of(other)), one
