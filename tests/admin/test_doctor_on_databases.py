"""`saleroom doctor`: what it finds of a database and of its clock."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from saleroom.cli import main
from saleroom.storage import heartbeats
from saleroom.storage.database import Database
from tests.admin.conftest import SECRET, Examine
from tests.bidding.service.people import person, sells
from tests.fixtures_process import Start
from tests.mqtt.equipment import free_port


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_damaged_database_is_found_by_each_check_that_reads_it(
    examine: Examine, tmp_path: Path, *, is_cut: bool
) -> None:
    """A file that is no database, or was copied in part, is a finding with its remedy, and the other checks go on."""
    file = tmp_path / "saleroom.db"
    assert 0 == main(["migrate"])
    file.write_bytes(file.read_bytes()[:100_000] if is_cut else b"no database " * 1_000)
    found = examine(code=1)
    assert any("cannot be read from sqlite:///saleroom.db" in said for _, said in found["database"])
    assert "disk" in found


def test_a_database_that_is_away(examine: Examine) -> None:
    """A database that cannot be reached is a fault, without its password."""
    url = f"postgresql://ada:{SECRET}@127.0.0.1:{free_port()}/house"
    [(level, what)] = examine(code=1, database=url)["database"]
    assert ("fault", True) == (level, "127.0.0.1" in what)


def test_a_database_that_nobody_may_look_at(examine: Examine) -> None:
    """A path that the system refuses, as it does that of a closed folder, is one finding, and the other checks go on."""
    file = f"{'x' * 300}.db"
    found = examine(code=1, database=f"sqlite:///{file}")
    assert [("fault", f"{file}: File name too long")] == found["database"]
    assert (["off"], ["ok"]) == tuple([level for level, _ in found[name]] for name in ("processes", "ports"))


def test_a_database_that_is_gone_while_a_house_serves(examine: Examine, start: Start, tmp_path: Path) -> None:
    """A file of SQLite that somebody has moved away is a fault if a house serves, otherwise it is not there yet."""
    house = start()
    (tmp_path / "saleroom.db").rename(tmp_path / "away.db")
    port = house.url.rpartition(":")[2]
    assert [("fault", "sqlite:///saleroom.db is not there, and a house serves")] == examine(code=1, port=port)[
        "database"
    ]
    house.kill()
    assert "warn" == examine(port=port)["database"][0][0]


async def test_a_clock_that_was_set_back(examine: Examine, database: Database, database_url: str) -> None:
    """A clock behind the last heartbeat of the house, or behind its last events, is a warning."""
    database.clock = lambda: datetime.now(UTC) + timedelta(days=1)
    await database.write(heartbeats.record)
    await _finds_that(examine, database_url)
    await sells(database, await person(database))
    database.clock = None
    await database.write(heartbeats.record)  # the house serves on
    await _finds_that(examine, database_url)


async def _finds_that(examine: Examine, database_url: str) -> None:
    [(level, what)] = (await asyncio.to_thread(examine, database=database_url))["clock"]
    assert ("warn", True) == (level, what.startswith("the clock is 86")), what


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_server_without_a_connection_left(database_url: str, capfd: pytest.CaptureFixture[str]) -> None:
    """If other programs have all connections of PostgreSQL, the remedy is about connections."""
    taken: list[asyncpg.Connection] = []
    try:
        with suppress(asyncpg.TooManyConnectionsError):
            while True:
                taken.append(await asyncpg.connect(database_url))
        assert 1 == await asyncio.to_thread(main, ["doctor", "--database", database_url])
    finally:
        for connection in taken:
            await connection.close()
    said = capfd.readouterr().out
    assert "clients already" in said
    assert "-> raise max_connections of the server" in said


def test_old_tables(examine: Examine, bare_database_url: str) -> None:
    """Tables of an older revision are a warning; they are left as they are."""
    assert 0 == main(["migrate", "--to", "0015", "--database", bare_database_url])
    [(level, what)] = examine(database=bare_database_url)["tables"]
    assert ("warn", True) == (level, what.startswith("at revision 0015"))
