"""Logs: no input can break a line or steer the terminal."""

import json

import pytest
import structlog

from saleroom import logs

HOSTILE = "/a\x1b[2J\nFAKE\r\x9b\u202e\u2066\u2028b"


@pytest.mark.parametrize("style", ["console", "json"])
def test_texts_from_outside_are_escaped(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Characters that end a line, steer a terminal or turn the direction are escaped, and nothing else is changed."""
    logs.configure("info", style)
    structlog.get_logger().info("a request", path=HOSTILE, name="P\u00e9ndule \u6642\u8a08", number=3)
    line = capsys.readouterr().err
    assert 1 == line.count("\n")
    assert line.strip().isprintable()
    assert "\\x1b[2J\\nFAKE" in line.replace("\\\\", "\\")
    shown = json.loads(line) if style == "json" else {"name": line}
    assert "P\u00e9ndule \u6642\u8a08" in shown["name"]


def test_a_traceback_is_written_out_too(capsys: pytest.CaptureFixture[str]) -> None:
    """An exception that repeats its input cannot steer the terminal either."""
    logs.configure("info", "console")
    structlog.get_logger().error("internal error", exc_info=ValueError(HOSTILE))
    said = capsys.readouterr().err
    assert all(line.isprintable() for line in said.splitlines())
    assert "ValueError: " in said and "\\x1b[2J" in said
