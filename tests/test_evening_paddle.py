"""examples/evening_paddle.py as a device maker runs it: a separate process that bids in a live sale over a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import test_paddle
from tests.fixtures_process import Start, Visit
from tests.line import Line
from tests.mqtt.equipment import free_port
from tests.process import PASSWORD, Client, saleroom
from tests.test_paddle import Take

PROGRAM = Path(__file__).parents[1] / "examples" / "evening_paddle.py"
LINES_MAX = 105


@pytest.fixture
def take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Take]:
    """Take a paddle: `take(token, ..., "--", sale)`."""
    monkeypatch.setattr(test_paddle, "PROGRAM", PROGRAM)
    with test_paddle.taking(tmp_path) as take:
        yield take


class Evening:
    """A live sale of two lots from 10, with an increment of 5; ada runs it over HTTP, ben has the paddle 100."""

    def __init__(self, folder: Path, client: Client) -> None:
        added = saleroom(folder, "users", "add", "ada", "--role", "auctioneer", stdin=f"{PASSWORD}\n")
        assert 0 == added.returncode, added.stderr
        self._client, self.ada, self.ben = client, client.log_in("ada"), client.enter("ben")
        said = {"title": "An evening", "kind": "live", "names": "paddles", "registration": "open", "increment": "5"}
        self.gid = client.post("/sales", self.ada, said | {"startsAt": "2099-05-01T12:00:00Z"})["gid"]
        for name in ("Clock", "Vase"):
            client.post(f"/sales/{self.gid}/lots", self.ada, {"name": name, "startingPrice": "10"})
        client.post(f"/sales/{self.gid}/publish", self.ada)
        client.post(f"/sales/{self.gid}/participants", self.ada, {"personName": "Ines", "paddle": 12})
        answer = client.ask("PUT", f"/sales/{self.gid}/registration", self.ben)
        assert 200 == answer.status_code, answer.text
        self.participant = answer.json()["participant"]

    def act(self, act: str, **said: Any) -> None:
        """Act on the block."""
        seen = self._client.get(f"/sales/{self.gid}/block", self.ada)["tag"]
        self._client.post(f"/sales/{self.gid}/block", self.ada, {"act": act, "seen": seen, **said})

    def limit(self, amount: str) -> None:
        """Give ben a limit."""
        path = f"/sales/{self.gid}/participants/{self.participant}"
        assert 200 == self._client.ask("PATCH", path, self.ada, {"bidLimit": amount}).status_code


def test_it_knows_nothing_of_the_house() -> None:
    """The example stays short, and knows nothing of the house's own code."""
    text = PROGRAM.read_text()
    assert text.count("\n") <= LINES_MAX and "import saleroom" not in text and "from saleroom" not in text


@pytest.mark.parametrize("kind", ["embedded", "mosquitto"])
def test_a_paddle_bids_through_an_evening(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, start: Start, visit: Visit, take: Take
) -> None:
    """Enter bids the ask; it says who leads, follows the hammer to the next lot, keeps to the limit, and ends with the sale."""
    port = free_port() if kind == "embedded" else request.getfixturevalue("mosquitto").port
    where = {"mqtt": "embedded", "mqtt_port": str(port)} if kind == "embedded" else {"mqtt": f"mqtt://127.0.0.1:{port}"}
    client = visit(start(**where))
    evening = Evening(tmp_path, client)
    paddle = take(evening.ben, "--port", str(port), "--name", "paddle-7", "--", evening.gid)
    paddle.until("SALE published: An evening")
    paddle.type("")
    paddle.until("NOT NOW: published")
    evening.act("call")
    paddle.until("SALE running")
    paddle.until("Clock: no bid yet, ask 10.000, called")
    paddle.type("")
    paddle.until("ANSWER 201")
    paddle.until("YOU LEAD")
    evening.act("bid", amount="15", paddle=12)
    paddle.until("OUTBID by #12")
    evening.act("ask", amount="30")
    paddle.until("ask 30.000, called")
    evening.limit("25")
    paddle.type("")
    paddle.until("ANSWER 409")
    paddle.until("left 25.000")
    evening.limit("30")
    evening.act("warn")
    paddle.until("fair_warning")
    paddle.type("")
    paddle.until("Clock: 30.000 by #100, ask 35.000, called")
    evening.act("warn")
    evening.act("warn")
    paddle.until("final_call")
    evening.act("sell")
    paddle.until("Clock: 30.000 by #100, ask none, sold")
    paddle.type("")
    paddle.until("NOT NOW: running Clock")
    evening.act("call")
    paddle.until("Vase: no bid yet, ask 10.000, called")
    client.post(f"/sales/{evening.gid}/pause", evening.ada)
    paddle.until("SALE paused")
    paddle.type("")
    paddle.until("NOT NOW: paused Vase")
    client.post(f"/sales/{evening.gid}/resume", evening.ada)
    paddle.until("SALE running", times=2)
    evening.act("pass")
    paddle.until("no_bids")
    evening.act("end")
    assert 0 == paddle.wait()
    assert "SALE closed" in paddle.text.splitlines()[-1]
    assert "Traceback" not in paddle.text and evening.ben not in paddle.text


def test_an_ask_that_changed_on_the_way_is_not_bid(tmp_path: Path, start: Start, visit: Visit, take: Take) -> None:
    """Cut off, it shows the old ask: what was pressed then is refused once it is back, with the new ask, and not sent again."""
    port = free_port()
    client = visit(start(mqtt="embedded", mqtt_port=str(port)))
    evening = Evening(tmp_path, client)
    way = Line(f"mqtt://127.0.0.1:{port}")
    try:
        paddle = take(evening.ben, "--port", str(way.port), "--", evening.gid)
        evening.act("call")
        paddle.until("ask 10.000, called")
        way.cut()
        paddle.until("NO CONNECTION")
        evening.act("bid", amount="10", paddle=12)
        paddle.type("")
        paddle.until("BID 10.000")
        paddle.type("")
        paddle.until("NOT NOW: one bid at a time")
        way.mend()
        paddle.until("ANSWER 409")
        paddle.until("minimumBid 15.000")
        paddle.until("Clock: 10.000 by #12, ask 15.000, called")
        paddle.type("")
        paddle.until("YOU LEAD")
        evening.act("sell")
        evening.act("end")
        assert 0 == paddle.wait()
        assert (1, 1) == (paddle.text.count("ANSWER 409"), paddle.text.count("ANSWER 201"))
    finally:
        way.cut()
