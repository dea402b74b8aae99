"""A check of documents that has passed is not repeated for the same ones: `tests/passed.py`."""

from functools import partial
from pathlib import Path

import pytest

from tests import passed


def test_a_check_is_repeated_until_it_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is repeated after a failure, and for another document or tool; the parts that it depends on do not run together."""
    monkeypatch.setattr(passed, "KEPT", tmp_path / "passed")
    (tool := tmp_path / "tool").write_text("1")
    ran: list[str] = []

    def fails() -> None:
        ran.append("fails")
        raise ValueError("found")

    for _ in range(2):
        with pytest.raises(ValueError, match="found"):
            passed.once_for(fails, "document", tool)
    for document in ("document", "document", "other", "ot", "document"):
        passed.once_for(partial(ran.append, document), document, tool)
    passed.once_for(lambda: ran.append("split"), "docu", b"ment", tool)
    tool.write_text("2")
    passed.once_for(lambda: ran.append("new tool"), "document", tool)
    assert ["fails", "fails", "document", "other", "ot", "split", "new tool"] == ran
