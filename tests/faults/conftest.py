"""Places for the trials in small, with the tables in them: to make these takes as long as a short trial."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.faults.places import TrialDatabase, place
from tests.kept_databases import on_server

OpenPlace = Callable[..., AbstractContextManager[TrialDatabase]]


@pytest.fixture
def open_place(request: pytest.FixtureRequest, tmp_path: Path) -> OpenPlace:
    """Return a function that opens a place: `open_place("two processes", on_disk=True)`."""

    def open_with_tables(where: str, *, on_disk: bool = False) -> AbstractContextManager[TrialDatabase]:
        if where == "sqlite":
            file = request.getfixturevalue("sqlite_template")
            return place(where, tmp_path, None, on_disk=on_disk, tables=file)
        orders, name = request.getfixturevalue("postgresql_template")
        tables = on_server(orders.server, name) if on_disk else name
        return place(where, tmp_path, orders.server, on_disk=on_disk, tables=tables)

    return open_with_tables
