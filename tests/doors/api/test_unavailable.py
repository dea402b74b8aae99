"""The house while its database is away: 503 with Retry-After, nothing of the inside, and back by itself."""

import sqlite3
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from saleroom.storage import database
from tests.doors.api.answers import refusal
from tests.doors.conftest import Log
from tests.fixtures_house import House, ServeHouse
from tests.line import Line

DRAFT = {"name": "Clock", "startingPrice": "1"}


@pytest.fixture
def line(database_url: str) -> Iterator[Line]:
    """A line to the test's PostgreSQL."""
    line = Line(database_url)
    yield line
    line.cut()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_the_house_without_its_database(line: Line, serve_house: ServeHouse, errors_logged: Log) -> None:
    """While PostgreSQL is away every use of it is 503 `unavailable`, the page too; when it is back all goes on as before."""
    house = serve_house(database=line.url)
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    line.cut()
    for answer in (
        ada.get("/me"),
        ada.get("/auctions"),
        ada.get(f"/auctions/{gid}"),
        ada.post("/auctions", json=DRAFT),
        bob.bid(gid, 10),
        bob.post(f"/auctions/{gid}/buy"),
        house.anyone.post("/login", json={"username": "ada", "password": "anything at all"}),
    ):
        assert (503, "unavailable") == refusal(answer)
        assert "1" == answer.headers["retry-after"]
        assert {"message", "code"} == answer.json().keys()
    page = house.anyone.get("/")
    assert (503, True) == (page.status_code, page.headers["content-type"].startswith("text/html"))
    ready = house.anyone.get("/readyz")
    assert (503, "unavailable", "1") == (ready.status_code, ready.json()["database"], ready.headers["retry-after"])
    assert 200 == house.anyone.get("/healthz").status_code
    line.mend()
    assert 200 == house.anyone.get("/readyz").status_code
    assert 201 == bob.bid(gid, 10).status_code
    only_the_database_is_named(errors_logged)


def only_the_database_is_named(logged: Log) -> None:
    """Check that the log tells of the database and has no exception, and take note that errors were expected."""
    assert logged
    assert {"the database is unavailable", "closing waits for the database"} >= {entry["event"] for entry in logged}
    assert not any("exc_info" in entry for entry in logged)
    logged.clear()


def test_a_database_that_stays_busy(
    serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch, errors_logged: Log
) -> None:
    """While another program holds SQLite's write lock a write is 503 and has no effect; reading goes on."""
    monkeypatch.setattr(database, "SQLITE_BUSY_SECONDS", 0.1)
    house: House = serve_house()
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    other = sqlite3.connect(make_url(house.settings.database).database or "", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = bob.bid(gid, 10)
    assert (503, "unavailable") == refusal(answer)
    assert 0 == bob.json("GET", f"/auctions/{gid}")["bidCount"]
    other.execute("ROLLBACK")
    other.close()
    assert 201 == bob.bid(gid, 10).status_code
    only_the_database_is_named(errors_logged)
