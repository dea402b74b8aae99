"""The house without its database: 503 with Retry-After, no internals in the answers, and a recovery by itself."""

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from saleroom.bidding.service import closing
from saleroom.logs import OutageLog
from saleroom.storage import sqlite
from tests.bidding.api.answers import refusal
from tests.faults.places import small_disk
from tests.fixtures_house import PASSWORD, House, ServeHouse
from tests.http.conftest import Log
from tests.line import Line
from tests.patience import until
from tests.process import wait_until

DRAFT = {"name": "Clock", "startingPrice": "1"}


@pytest.fixture
def line(database_url: str) -> Iterator[Line]:
    """A line to the test's PostgreSQL."""
    line = Line(database_url)
    yield line
    line.cut()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_the_house_without_its_database(
    line: Line, serve_house: ServeHouse, errors_logged: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While PostgreSQL is away every use of it is 503 `unavailable`, also the page. When it is back, everything works again.

    The log has a line for the outage, not for each request.
    """
    monkeypatch.setattr("saleroom.logs.TELL_SECONDS", 600.0)
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
    wait_until(lambda: house.anyone.get("/readyz").status_code == 200)
    assert 201 == bob.bid(gid, 10).status_code
    assert 1 == [entry["event"] for entry in errors_logged].count("the database is unavailable")
    only_the_database_is_named(errors_logged)


async def test_a_line_a_second_for_all_that_fails(errors_logged: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failed request is logged at once. Later ones are counted in one line a second."""
    monkeypatch.setattr("saleroom.logs.TELL_SECONDS", 0.05)
    outage = OutageLog()
    for reason in ("gone", "gone", "starting up"):
        outage.failed(reason)
    assert [("gone", 1)] == _lines(errors_logged)
    await until(lambda: len(errors_logged) == 2, "a second line")
    assert [("gone", 1), ("starting up", 2)] == _lines(errors_logged)
    await asyncio.sleep(0.2)  # enough time for a line without any request
    outage.failed("gone again")
    assert [("gone", 1), ("starting up", 2), ("gone again", 1)] == _lines(errors_logged)
    errors_logged.clear()


def _lines(logged: Log) -> list[tuple[str, int]]:
    return [(entry["reason"], entry["requests"]) for entry in logged]


def only_the_database_is_named(logged: Log) -> None:
    """Check that the log is about the database and has no exception, and clear it, as these errors were expected."""
    assert logged
    known = {
        "the database is unavailable",
        "closing waits for the database",
        "closing goes on",
        "sales wait for the database",
        "ends that follow wait for the database",
        "a duty waits for the database",
        "what other processes commit is noticed only once a second for now",
        "somebody registered",
        "somebody logged in",
    }
    assert known >= {entry["event"] for entry in logged}
    assert not any("exc_info" in entry for entry in logged)
    logged.clear()


def test_a_database_that_stays_busy(
    serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch, errors_logged: Log
) -> None:
    """While another program holds SQLite's write lock, a write is 503 and has no effect. Reading goes on."""
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
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


def test_a_database_that_is_moved_away_while_it_serves(
    serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch, errors_logged: Log
) -> None:
    """A house whose file was moved away takes no bid that nobody would find again: 503, until the file is back."""
    monkeypatch.setattr(closing, "HEARTBEAT_SECONDS", 0.1)
    house: House = serve_house()
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    file = Path(make_url(house.settings.database).database or "")
    file.rename(away := file.with_name("away.db"))
    wait_until(lambda: house.anyone.get("/readyz").status_code == 503)
    assert (503, "unavailable") == refusal(bob.bid(gid, 10))
    said = f"SQLite: {file} is no longer the file that was opened; bring it back, or end the house and restore a backup"
    assert {said} == {entry["reason"] for entry in errors_logged if "reason" in entry}
    away.rename(file)
    wait_until(lambda: house.anyone.get("/readyz").status_code == 200)
    assert 201 == bob.bid(gid, 10).status_code
    only_the_database_is_named(errors_logged)


def test_a_full_disk_of_temporary_files(
    serve_house: ServeHouse, monkeypatch: pytest.MonkeyPatch, errors_logged: Log
) -> None:
    """Without room for what the house puts together, an answer is 503, and the log names the reason in one line."""
    ada = serve_house().user("ada")
    with small_disk(2**20) as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk.folder))
        disk.fill()
        assert (503, "busy") == refusal(ada.post("/me/export", json={"password": PASSWORD}))
        disk.empty()
        assert 200 == ada.post("/me/export", json={"password": PASSWORD}).status_code
    [entry] = [entry for entry in errors_logged if entry["log_level"] == "error"]
    assert ("a disk has no room for a file", "[Errno 28] No space left on device") == (entry["event"], entry["reason"])
    errors_logged.clear()


def test_a_database_that_is_damaged_while_it_serves(serve_house: ServeHouse, errors_logged: Log) -> None:
    """With a damaged SQLite file every use of it is 503 `unavailable`, and the log says the remedy, without tracebacks."""
    house: House = serve_house()
    ada, bob = house.user("ada"), house.user("bob")
    gid = ada.auction()
    file = make_url(house.settings.database).database or ""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("UPDATE users SET id = id")  # what connections have read of the file before counts no longer
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    with open(file, "r+b") as pages:  # noqa: PTH123  # a path that is text
        size = pages.seek(0, 2)
        pages.seek(4096)
        pages.write(b"\xff" * (size - 4096))
    for answer in (ada.get("/me"), ada.get("/auctions"), ada.get(f"/auctions/{gid}"), bob.bid(gid, 10)):
        assert (503, "unavailable") == refusal(answer)
    assert (503, 503) == (house.anyone.get("/").status_code, house.anyone.get("/readyz").status_code)
    assert 200 == house.anyone.get("/healthz").status_code
    said = "database disk image is malformed; put a backup in its place"
    assert said in [entry.get("reason") for entry in errors_logged]
    assert not any("exc_info" in entry for entry in errors_logged)
    errors_logged.clear()
