"""The log of refusals: a line for requests whose input, right or rate was refused."""

import pytest

from tests.fixtures_house import ServeHouse
from tests.http.conftest import Log
from tests.patience import until


async def test_refusals_are_logged_with_their_number(
    serve_house: ServeHouse, errors_logged: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first refusal is logged at once, later ones in one line a second: their routes, their number, the last network.

    Nothing that a client wrote is in the line, except the network.
    """
    monkeypatch.setattr("saleroom.logs.TELL_SECONDS", 0.5)
    house = serve_house()
    gid, token = house.user("ada").gid(), {"Authorization": "Bearer a-forged-token"}
    assert 401 == house.anyone.get("/me", headers=token).status_code
    await until(lambda: _lines(errors_logged) == [(1, {"401 /me": 1})], "the first line")
    for _ in range(5):
        assert 401 == house.anyone.get("/me", headers=token).status_code
    assert 401 == house.anyone.post(f"/auctions/{gid}/bids", headers=token, json={"amount": 11}).status_code
    assert 403 == house.stranger.post("/login?password=hunter2", json={}).status_code
    assert 404 == house.anyone.get("/nowhere").status_code
    assert 400 == house.anyone.get("/auctions?limit=hunter2").status_code
    assert 405 == house.anyone.delete("/auctions").status_code
    assert 415 == house.anyone.post("/login", content=b"hunter2").status_code
    wrong = {"username": "ada", "password": "hunter2"}
    assert [422] * 5 + [429] == [house.anyone.post("/login", json=wrong).status_code for _ in range(6)]
    told = {"400 /auctions": 1, "405 /auctions": 1, "415 /login": 1} | {
        "401 /me": 5,
        "401 /auctions/{gid}/bids": 1,
        "403 other": 1,
        "429 /login": 1,
    }
    await until(lambda: sum(count for count, _ in _lines(errors_logged)) == 12, "all are told")
    counted: dict[str, int] = {}
    for _, routes in _lines(errors_logged)[1:]:
        counted = {name: counted.get(name, 0) + routes.get(name, 0) for name in counted | routes}
    assert told == counted
    entries = [entry for entry in errors_logged if entry["event"] == "requests were refused"]
    assert {"127.0.0.1"} == {entry["latest_network"] for entry in entries}
    assert "forged" not in str(errors_logged) and "hunter2" not in str(errors_logged) and gid not in str(entries)
    assert len(entries) <= 4


def _lines(logged: Log) -> list[tuple[int, dict[str, int]]]:
    return [(entry["refused"], entry["routes"]) for entry in logged if entry["event"] == "requests were refused"]
