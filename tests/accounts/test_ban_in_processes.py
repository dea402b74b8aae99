"""A ban stops bids in every process at once: two houses on one database, and a storm of bids through both."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from tests.fixtures_process import Start
from tests.process import PASSWORD, saleroom

BIDS_BEFORE = 20
HEADERS = {"X-Requested-With": "tests"}


def logged_in(base: str, name: str) -> httpx.Client:
    """Return a client that is logged in as `name`."""
    client = httpx.Client(base_url=base, headers=HEADERS, timeout=60)
    token = client.post("/login", json={"username": name, "password": PASSWORD}).json()["token"]
    client.headers["Authorization"] = f"Bearer {token}"
    return client


def ledger(client: httpx.Client, gid: str) -> list[str]:
    """Return the lines of the ledger of an auction, which has every accepted bid."""
    return client.get(f"/auctions/{gid}/ledger").text.splitlines()


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    """The clients of the test, which are closed at its end."""
    with ExitStack() as stack:
        yield stack


def test_a_ban_stops_bids_in_flight_in_both_processes(
    start: Start, clients: ExitStack, database_url: str, tmp_path: Path
) -> None:
    """Every bid of the banned user was decided before the answer to the ban, by the log; every later one is refused."""
    for name, role in (("ada", "owner"), ("bob", "member"), ("cyd", "member")):
        added = saleroom(tmp_path, "users", "add", name, "--role", role, stdin=PASSWORD, database=database_url)
        assert 0 == added.returncode, added.stderr
    houses = [start(database=database_url) for _ in range(2)]
    owner, seller = (clients.enter_context(closing(logged_in(houses[0].url, name))) for name in ("ada", "cyd"))
    terms = {"name": "Clock", "startingPrice": "1", "increment": "1"}
    gids = [seller.post("/auctions", json=terms).json()["gid"] for _ in houses]
    banned, begun = threading.Event(), threading.Barrier(3)
    late: list[httpx.Response] = []
    accepted: list[bool] = []

    def storm(base: str, gid: str) -> None:
        bidder = clients.enter_context(closing(logged_in(base, "bob")))
        amount = 0
        while True:
            amount += 1
            was_banned = banned.is_set()
            answer = bidder.post(f"/auctions/{gid}/bids", json={"maximum": str(amount)})
            accepted.append(answer.is_success)
            if amount == BIDS_BEFORE:
                begun.wait(60)
            if was_banned:
                late.append(answer)
                return

    threads = [threading.Thread(target=storm, args=(house.url, gid)) for house, gid in zip(houses, gids, strict=True)]
    for thread in threads:
        thread.start()
    begun.wait(60)
    answer = owner.post("/staff/users/bob/sanctions", json={"kind": "ban", "reason": "Shill bids"})
    before = [ledger(owner, gid) for gid in gids]
    banned.set()
    for thread in threads:
        thread.join(60)
    assert 201 == answer.status_code, answer.text
    assert [(403, "barred")] * 2 == [(one.status_code, one.json()["code"]) for one in late]
    assert before == [ledger(owner, gid) for gid in gids]
    assert accepted.count(True) >= 2 * BIDS_BEFORE
