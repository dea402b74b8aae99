"""The work of strangers never stops a sale: searches, dead tokens and toggled stars, against a house that serves."""

import select
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from saleroom.bidding.service import reading
from saleroom.compose import ENDPOINTS
from saleroom.http.endpoints import Access
from saleroom.http.requests import SAFE_METHODS
from saleroom.storage import database as storage
from saleroom.storage.database import WORK, Database, Transaction
from saleroom.storage.turns import WAITING_MAX, Rank
from tests.fixtures_house import PASSWORD, House
from tests.process import wait_until
from tests.sales.needed import PARTS

_SLOW = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(600)",
}
_SEARCHES = 60
_TOKEN = "Zm9yZ2VkLXRva2VuIQ=="
_ON_DEAD_TOKENS = [one for one in ENDPOINTS if one.access is Access.TOKEN and one.method not in SAFE_METHODS]


@pytest.fixture
def written(house: House, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The use cases that have run in a transaction that may write, but for those of the house's own tasks."""
    seen: list[str] = []
    run = Database.transact

    def noted(self: Database, use_case: Callable[..., Any], *rest: Any, writes: bool) -> Any:
        if writes and WORK.get() is None:
            seen.append(use_case.__name__)
        return run(self, use_case, *rest, writes=writes)

    monkeypatch.setattr(Database, "transact", noted)
    return seen


@pytest.fixture
def endless_searches(house: House, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A house whose searches never end by themselves."""
    listed = reading.auction_list
    monkeypatch.setattr(storage, "READ_SECONDS_MAX", 600)

    def endless(tx: Transaction, token: str | None, which: Any, *rest: Any) -> Any:
        if which.text:
            tx.execute(text(_SLOW[tx.dialect]))
        return listed(tx, token, which, *rest)

    monkeypatch.setattr(reading, "auction_list", endless)
    yield
    wait_until(lambda: not house._database._reading._taken[Rank.COSTLY])


def search(house: House) -> socket.socket:
    """A connection that has asked for a search."""
    connection = socket.create_connection(("127.0.0.1", house.port))
    connection.sendall(b"GET /auctions?q=clock HTTP/1.1\r\nHost: house\r\n\r\n")
    return connection


def answered(connections: list[socket.socket]) -> list[socket.socket]:
    """Return the connections over which an answer has come."""
    return select.select(connections, [], [], 0)[0]


@pytest.mark.usefixtures("endless_searches")
def test_endless_searches_stop_nothing_else(house: House) -> None:
    """Bids are taken, people log in and read while all places for searches and their line are full; the rest is refused."""
    gid, bidder = house.user("seller").auction(), house.newcomer()
    running = house._database._reading._most[Rank.COSTLY]
    searches = [search(house) for _ in range(_SEARCHES)]
    try:
        assert 201 == bidder.bid(gid, "10").status_code
        account = {"username": bidder.name, "password": PASSWORD}
        assert 200 == house.anyone.post("/login", json=account).status_code
        for path in ("/auctions", "/me", "/me/bids", f"/auctions/{gid}", f"/auctions/{gid}/bids", "/readyz"):
            assert 200 == bidder.get(path).status_code
        refused = len(searches) - running - WAITING_MAX[Rank.COSTLY]
        wait_until(lambda: len(answered(searches)) >= refused)
        for connection in answered(searches):
            answer = connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"\r\nretry-after: 1\r\n" in answer.lower()
            assert b'"code":"busy"' in answer
    finally:
        for connection in searches:
            connection.close()
    wait_until(lambda: not house._database._reading._taken[Rank.COSTLY])


@pytest.mark.parametrize("endpoint", _ON_DEAD_TOKENS, ids=lambda one: f"{one.method} {one.path}")
def test_a_dead_token_takes_no_turn_to_write(house: House, written: list[str], endpoint: Any) -> None:
    """Requests with a dead token are refused by a read, except a bid: many share a transaction of the desk."""
    seller = house.user("seller")
    path = endpoint.path.format(gid=seller.gid(), id="7", username=seller.name, **PARTS)
    written.clear()
    headers = {"Authorization": f"Bearer {_TOKEN}", "X-Requested-With": "test"}
    body: dict[str, Any] = {"json": endpoint.form.example if endpoint.form is not None else {}}
    if endpoint.upload is not None:
        body = {"content": b"no picture"}
        headers["Content-Type"] = "image/jpeg"
    response = house.plain.request(endpoint.method, path, headers=headers, **body)
    assert 401 == response.status_code, response.text
    assert (["place_bids"] if endpoint.name == "placeBid" else []) == written


def test_a_star_that_is_there_is_not_written(house: House, written: list[str]) -> None:
    """To watch a watched lot, or to stop watching an unwatched one, takes no turn to write."""
    watcher, gid = house.newcomer(), house.user("seller").gid()
    written.clear()
    for method in ("DELETE", "PUT", "PUT", "PUT", "DELETE", "DELETE"):
        assert 204 == watcher.request(method, f"/auctions/{gid}/watch").status_code
    assert ["watch", "unwatch"] == written
