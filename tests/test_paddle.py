"""examples/paddle.py as a device maker runs it: a separate process that bids in a real house over real brokers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from saleroom.mqtt.topics import MqttSettings
from tests.fixtures_process import Start, Visit
from tests.line import Line
from tests.mqtt.equipment import Mosquitto, Subscriber, free_port
from tests.patience import SECONDS_MAX
from tests.process import environment, wait_until

PROGRAM = Path(__file__).parents[1] / "examples" / "paddle.py"
LINES_MAX = 80


class Paddle:
    """A running paddle; what it prints is in a file."""

    def __init__(self, folder: Path, token: str, *arguments: str) -> None:
        self._out = folder / "paddle.txt"
        with self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, PROGRAM, *arguments],
                env=environment() | {"PADDLE_TOKEN": token, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    @property
    def text(self) -> str:
        """Its output so far."""
        return self._out.read_text()

    def type(self, line: str) -> None:
        """Type a line."""
        assert self.process.stdin is not None, "it is a pipe"
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def until(self, words: str, times: int = 1) -> None:
        """Wait until it has printed `words` so many times."""
        deadline = time.monotonic() + SECONDS_MAX
        while self.text.count(words) < times:
            assert time.monotonic() < deadline, f"{words!r} was not printed {times} times: {self.text}"
            time.sleep(0.02)

    def wait(self) -> int:
        """Wait for its end and return the exit code."""
        return self.process.wait(SECONDS_MAX)


Take = Callable[..., Paddle]


@contextmanager
def taking(folder: Path) -> Iterator[Take]:
    """Yield a function that takes a paddle; in the end all are put back."""
    paddles: list[Paddle] = []

    def start(token: str, *arguments: str) -> Paddle:
        paddles.append(Paddle(folder, token, *arguments))
        return paddles[-1]

    yield start
    for paddle in paddles:
        paddle.process.kill()
        paddle.process.wait()
        paddle.process.communicate()


@pytest.fixture
def take(tmp_path: Path) -> Iterator[Take]:
    """Take a paddle: `take(token, ..., "--", gid)`."""
    with taking(tmp_path) as take:
        yield take


@pytest.fixture(params=["embedded", "mosquitto", "mosquitto --v5"])
def broker(request: pytest.FixtureRequest) -> tuple[dict[str, str], list[str]]:
    """Settings of the house, and a paddle's arguments to reach the same broker."""
    if request.param == "embedded":
        port = free_port()
        return {"mqtt": "embedded", "mqtt_port": str(port)}, ["--port", str(port)]
    port = request.getfixturevalue("mosquitto").port
    return {"mqtt": f"mqtt://127.0.0.1:{port}"}, ["--port", str(port), *request.param.split()[1:]]


def test_it_fits_on_a_page() -> None:
    """The example has 80 lines at most, and knows nothing of the house's own code."""
    text = PROGRAM.read_text()
    assert text.count("\n") <= LINES_MAX and "saleroom." not in text and "import saleroom" not in text


def test_a_paddle_bids_is_outbid_and_ends(
    broker: tuple[dict[str, str], list[str]], start: Start, visit: Visit, take: Take
) -> None:
    """It shows the lot, bids, shows the result, is outbid, lets the house bid, and ends with the auction."""
    settings, reach = broker
    client = visit(start(**settings))
    ada, ben, cyd = (client.enter(name) for name in ("ada", "ben", "cyd"))
    gid = client.sell(ada)
    paddle = take(ben, *reach, "--name", "paddle-7", "--", gid)
    paddle.until("Longcase clock: no bid yet, next 100.000, open")
    paddle.type("b 100")
    paddle.until("ANSWER 201 accepted")
    paddle.until("Longcase clock: 100.000 by ben, next 110.000, open")
    client.post(f"/auctions/{gid}/bids", cyd, {"amount": "110"})
    paddle.until("OUTBID by cyd")
    paddle.type("b 111")
    paddle.until("ANSWER 409 The bid is too low")
    paddle.type("m 200")
    paddle.until("ANSWER 201", times=2)
    client.post(f"/auctions/{gid}/bids", cyd, {"amount": "150"})
    paddle.until("160.000 by ben")
    client.post(f"/auctions/{gid}/close", ada)
    assert 0 == paddle.wait()
    assert "160.000 by ben, next none, sold" in paddle.text.splitlines()[-1]
    assert 1 == paddle.text.count("OUTBID")
    assert "Traceback" not in paddle.text and ben not in paddle.text


def test_a_bid_that_is_sent_again_counts_once(mosquitto: Mosquitto, start: Start, visit: Visit, take: Take) -> None:
    """While the house does not answer the paddle sends its bid again; when it does there is one bid and one answer."""
    house = start(mqtt=f"mqtt://127.0.0.1:{mosquitto.port}")
    client = visit(house)
    ada, ben = client.enter("ada"), client.enter("ben")
    gid = client.sell(ada)
    ears = Subscriber(MqttSettings("127.0.0.1", mosquitto.port), "saleroom/auctions/+/bids")
    try:
        paddle = take(ben, "--port", str(mosquitto.port), "--", gid)
        paddle.until("open")
        house.process.send_signal(signal.SIGSTOP)
        paddle.type("b 100")
        wait_until(lambda: len(ears.messages) >= 2)
    finally:
        os.kill(house.process.pid, signal.SIGCONT)
        ears.close()
    assert 1 == len({message.payload for message in ears.messages})
    paddle.until("ANSWER 201 accepted")
    client.post(f"/auctions/{gid}/close", ada)
    assert 0 == paddle.wait()
    assert (1, 1) == (len(client.history(gid)), paddle.text.count("ANSWER"))


def test_a_paddle_outlives_its_connection(start: Start, visit: Visit, take: Take) -> None:
    """Cut off, it says so, comes back by itself, and bids on; the state that it finds covers the events it missed."""
    port = str(free_port())
    client = visit(start(mqtt="embedded", mqtt_port=port))
    ada, ben, cyd = (client.enter(name) for name in ("ada", "ben", "cyd"))
    gid = client.sell(ada)
    way = Line(f"mqtt://127.0.0.1:{port}")
    try:
        paddle = take(ben, "--port", str(way.port), "--", gid)
        paddle.until("open")
        paddle.type("b 100")
        paddle.until("ANSWER 201")
        way.cut()
        client.post(f"/auctions/{gid}/bids", cyd, {"amount": "110"})
        paddle.until("NO CONNECTION")
        way.mend()
        paddle.until("OUTBID by cyd")
        paddle.type("b 120")
        paddle.until("120.000 by ben")
        client.post(f"/auctions/{gid}/close", ada)
        assert 0 == paddle.wait()
    finally:
        way.cut()
