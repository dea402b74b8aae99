"""The house while its database is away: 503 with Retry-After, nothing of the inside, and back by itself."""

import contextlib
import socket
import sqlite3
import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from saleroom.storage import database
from tests.doors.api.answers import refusal
from tests.doors.conftest import Log
from tests.fixtures_house import House, ServeHouse

DRAFT = {"name": "Clock", "startingPrice": "1"}


class Line:
    """A line to PostgreSQL that can be cut: forwards connections to the server of `url` until `cut`."""

    def __init__(self, url: str) -> None:
        self._target = make_url(url)
        self._open: list[socket.socket] = []
        self._listen(0)
        self.port = int(self._listener.getsockname()[1])
        self.url = self._target.set(host="127.0.0.1", port=self.port, query={}).render_as_string(hide_password=False)

    def _listen(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def cut(self) -> None:
        """Hang up on everybody and take no new connection."""
        for end in (self._listener, *self._open):
            with contextlib.suppress(OSError):  # it may have been hung up on from the other side
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def mend(self) -> None:
        """Take connections again, at the same port."""
        self._listen(self.port)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the listener is closed where the line is cut
            while True:
                near = listener.accept()[0]
                far = self._dial()
                self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _dial(self) -> socket.socket:
        folder = self._target.query.get("host")
        if folder is None:
            return socket.create_connection((self._target.host or "127.0.0.1", self._target.port or 5432))
        far = socket.socket(socket.AF_UNIX)
        far.connect(f"{folder}/.s.PGSQL.{self._target.port or 5432}")
        return far

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):  # either end may be closed meanwhile
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


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
