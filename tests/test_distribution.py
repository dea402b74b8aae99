"""Long files of tests begin first, and a run ends in which a process was killed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distribution import APART, LONG, unit_of
from tests.patience import SECONDS_MAX

ROOT = Path(__file__).parents[1]
FILES = 8
TESTS = """
import os, pytest, signal

@pytest.mark.parametrize("number", range(3))
def test_it(number):
    if {kills} and number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED_AT_THE_END = """
import os, signal

def pytest_sessionfinish(session):
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
        os.kill(os.getpid(), signal.SIGKILL)
"""


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


@pytest.mark.parametrize(("where", "summary"), [("in a test", "1 failed, 23 passed"), ("at the end", "24 passed")])
def test_a_killed_process_fails_the_run(tmp_path: Path, where: str, summary: str) -> None:
    """The test in which it was killed fails, other processes run the rest, and the run ends and names what was killed."""
    for number in range(FILES):
        kills = where == "in a test" and number == FILES // 2
        (tmp_path / f"test_{number}.py").write_text(TESTS.format(kills=kills))
    (tmp_path / "pytest.ini").write_text("[pytest]")
    if where == "at the end":
        (tmp_path / "end.py").write_text(KILLED_AT_THE_END)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-q", "-p", "xdist"]
    plugins = ["-p", "tests.distribution", *(["-p", "end"] if where == "at the end" else [])]
    paths = os.pathsep.join((str(ROOT), str(tmp_path)))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [*command, *plugins, str(tmp_path)],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert 1 == done.returncode, done.stdout + done.stderr
    assert summary in done.stdout
    assert re.search(r"The process gw\d of the tests was killed: ", done.stdout)
    assert ("crashed while running" in done.stdout) == (where == "in a test")
