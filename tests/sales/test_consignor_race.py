"""A bid and the change that makes its bidder the consignor, at the same moment in two processes on PostgreSQL."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures_process import Start, Visit
from tests.patience import SECONDS_MAX
from tests.process import Client, ServeProcess, saleroom
from tests.sales.api.evening import LATER

ROUNDS = 8


class _Racer:
    """Somebody with connections of their own, so that either process may answer, and one start for all."""

    def __init__(self, house: ServeProcess, token: str, start: threading.Barrier) -> None:
        self._house, self._token, self._start = house, token, start

    def ask(self, method: str, path: str, body: Any) -> tuple[int, str]:
        """Send one request once all have come to the start; return its status and the code of a refusal."""
        client = Client(self._house.url)
        try:
            client.get("/healthz")  # the connection is there before the start
            self._start.wait()
            answer = client.ask(method, path, self._token, body)
            return answer.status_code, "" if answer.is_success else answer.json()["code"]
        finally:
            client.close()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize("door", ["the account of the consignor", "the consignor of the lot"])
def test_either_the_bid_is_decided_first_or_it_is_refused(
    door: str, tmp_path: Path, database_url: str, start: Start, visit: Visit
) -> None:
    """By the log of the lot: with a bid in it the bidder is not its consignor, without one the bid was refused."""
    house = start("--workers", "2", database=database_url)
    anyone = visit(house)
    ada, bob = anyone.enter("ada"), anyone.enter("bob")
    assert 0 == saleroom(tmp_path, "users", "role", "ada", "auctioneer", database=database_url).returncode
    said = {"title": "An evening", "kind": "live", "startsAt": LATER}
    gid = anyone.post("/sales", ada, said)["gid"]
    for number in range(1, ROUNDS + 1):
        code = f"C{number}"
        of_lot = door == "the consignor of the lot"
        anyone.post("/consignors", ada, {"code": code, "name": "Erben", **({"username": "bob"} if of_lot else {})})
        lot = {"name": "A clock", "startingPrice": "10", **({} if of_lot else {"consignor": code})}
        anyone.post(f"/sales/{gid}/lots", ada, lot)
    anyone.post(f"/sales/{gid}/publish", ada)
    lots = [one["gid"] for one in anyone.get(f"/sales/{gid}/lots", ada)["lots"]]

    line = threading.Barrier(2, timeout=SECONDS_MAX)
    staff, bidder = _Racer(house, ada, line), _Racer(house, bob, line)
    with ThreadPoolExecutor(2) as both:
        for number, one in enumerate(lots, 1):
            path, body = f"/consignors/C{number}", {"username": "bob"}
            if door == "the consignor of the lot":
                path, body = f"/sales/{gid}/lots/{number}", {"consignor": f"C{number}"}
            change = both.submit(staff.ask, "PATCH", path, body)
            bid = both.submit(bidder.ask, "POST", f"/auctions/{one}/bids", {"amount": "10"})
            outcome = (bid.result(), change.result())
            assert outcome in [((201, ""), (409, "consignor_bids")), ((403, "own_auction"), (200, ""))], number
            assert (outcome[0][0] == 201) == (1 == len(anyone.history(one)))
