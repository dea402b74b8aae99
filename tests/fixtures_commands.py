"""Commands of saleroom, run by tests in an empty folder."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from saleroom.cli import main
from tests.terminal import CommandResult

Run = Callable[..., CommandResult]


def environment() -> dict[str, str]:
    """Return this process's environment without settings, and a terminal wide enough for whole lines."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SALEROOM_")}
    return kept | {"COLUMNS": "200", "PYTHONWARNINGS": "error", "NO_COLOR": "1"}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run one command in an empty folder, without starting a process for it."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SALEROOM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*args: str, stdin: str = "") -> CommandResult:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main(list(args))
        return CommandResult(code, *capfd.readouterr())

    return run
