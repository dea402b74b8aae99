"""The call of the program that its user can type where they stand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from saleroom.tools.program import program


def test_the_call_works_where_the_user_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the bare name only if the shell finds it by that; otherwise the path from this folder, or the whole path."""
    file = tmp_path / "my house" / ".venv" / "bin" / "saleroom"
    file.parent.mkdir(parents=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(file), "demo"])
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(file.parents[2])
    assert ".venv/bin/saleroom" == program()
    monkeypatch.chdir("/usr")
    assert f"'{file}'" == program()
    monkeypatch.chdir(file.parent.parent / "bin")
    monkeypatch.setenv("PATH", str(file.parent))
    assert "saleroom" == program()
    other = tmp_path / "saleroom"
    other.write_bytes(file.read_bytes())
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "./saleroom" == program(), "the shell finds another one"
    monkeypatch.setattr(sys, "argv", [str(file.parent / "__main__.py")])
    assert program().endswith(" -m saleroom")
