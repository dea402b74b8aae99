"""A fixture of the tests of `saleroom doctor`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saleroom.cli import main
from tests.mqtt.equipment import free_port

SECRET = "open-sesame-and-more"
Examine = Callable[..., dict[str, list[tuple[str, str]]]]


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Examine:
    """Run the command with these settings; return the level and words of all findings by check."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0, **settings: str) -> dict[str, list[tuple[str, str]]]:
        given = {"mqtt": "off", "port": str(free_port())} | settings
        for name, value in given.items():
            monkeypatch.setenv(f"SALEROOM_{name.upper()}", value)
        capfd.readouterr()
        returned = main(["doctor", "--json", *arguments])
        said = capfd.readouterr()
        assert SECRET not in said.out + said.err
        # A house that other tests share may log a line at any time.
        answer: dict[str, Any] = json.loads(next(line for line in said.out.splitlines() if line.startswith("{")))
        assert (code, code == 0, "") == (returned, answer["ok"], said.err)
        found: dict[str, list[tuple[str, str]]] = {}
        for one in answer["findings"]:
            assert bool(one.get("remedy")) == (one["level"] in ("warn", "fault")), "whatever is wrong has a remedy"
            found.setdefault(one["check"], []).append((one["level"], one["what"]))
        return found

    return run
