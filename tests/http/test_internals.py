"""The internal parts of uvicorn and Starlette that the house uses exist."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from saleroom.http import internals
from saleroom.http.internals import Config, FlowControl, MultiPartParser, ServerState

MEMBERS: dict[type[Any], set[str]] = {
    FlowControl: {
        "drain",
        "pause_reading",
        "pause_writing",
        "read_paused",
        "resume_reading",
        "resume_writing",
    },
    MultiPartParser: {"_files_to_close_on_error", "on_end", "parse"},
    Config: {"timeout_keep_alive"},
    ServerState: {"connections", "default_headers", "tasks", "total_requests"},
}


@pytest.mark.parametrize("kind", MEMBERS, ids=lambda kind: kind.__name__)
def test_members_are_where_they_were(kind: type[Any]) -> None:
    """Each internal member that the house uses is still a member, or is named in the source of the class."""
    source = inspect.getsource(kind)
    moved = sorted(name for name in MEMBERS[kind] if not hasattr(kind, name) and f"self.{name}" not in source)
    assert [] == moved, (
        f"{kind.__module__}.{kind.__name__} has no {moved}: mend saleroom/http, then raise pyproject.toml's bound"
    )


def test_inner_parts_are_named_in_one_place() -> None:
    """Of the modules of http, only `internals.py` imports from uvicorn."""
    folder = Path(internals.__file__).parent
    found = [
        one.name
        for one in folder.glob("*.py")
        if "from uvicorn" in one.read_text() or "import uvicorn" in one.read_text()
    ]
    assert ["internals.py"] == found
