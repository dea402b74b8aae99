"""A file of SQLite that somebody moves away while it is open."""

from pathlib import Path

import pytest
from sqlalchemy import make_url

from saleroom.storage import heartbeats
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable
from tests.fixtures_database import T0

pytestmark = pytest.mark.databases("sqlite")


async def test_a_file_that_is_gone(clocked_database: Database, database_url: str, tmp_path: Path) -> None:
    """A file that was moved away, or has another in its place, takes and shows nothing until it is back; none is made."""
    file, away = Path(make_url(database_url).database or ""), tmp_path / "away.db"
    database = clocked_database
    await database.write(heartbeats.record)
    file.rename(away)
    with pytest.raises(DatabaseUnavailable, match="unable to open database file"):
        await database.read(heartbeats.last)  # on its first connection
    assert not file.exists()
    for has_another in (False, True):
        if has_another:
            file.touch()
        database.look_at_file()
        for refused in (database.write(heartbeats.record), database.read(heartbeats.last)):
            with pytest.raises(DatabaseUnavailable, match="no longer the file that was opened; bring it back"):
                await refused
    away.replace(file)
    database.look_at_file()
    assert (T0, T0) == await database.write(heartbeats.record)
