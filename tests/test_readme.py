"""The README's auction runs as written against the house that `make run` starts, with `mosquitto_sub` beside it."""

import json
import re
import subprocess
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from saleroom.mqtt.topics import MqttSettings
from tests.mqtt.equipment import PrintedMessage, Subscriber
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.process import ServeProcess, environment, wait_until

README = Path(__file__).parents[1] / "README.md"
EVENTS = ["auction.created", "bid.placed", "bid.placed", "bid.placed", "auction.closed"]
ENDING = json.dumps({"status": "offline"}, separators=(",", ":")).encode()


def blocks(heading: str) -> list[str]:
    """Return the commands of one section, block by block."""
    [section] = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", README.read_text(), re.MULTILINE | re.DOTALL)
    return re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


class Example:
    """One run of the example: its output, the output of `mosquitto_sub` meanwhile, and how the house ended."""

    def __init__(self, folder: Path) -> None:
        watch, *commands = blocks("A whole auction")
        need("curl")
        served = ServeProcess(folder)
        try:
            words = watch.split()
            assert words[:-1] == ["mosquitto_sub", "-v", "-t"], "the example watches everything under a prefix"
            subscriber = Subscriber(MqttSettings("127.0.0.1", served.mqtt_port), words[-1].strip("'"))
            try:
                # Only the address changes, as other tests and people use the default port.
                script = "\n".join(commands).replace("http://127.0.0.1:9000", served.url)
                self.shell = subprocess.run(
                    ["sh", "-eu"],
                    input=script,
                    env=environment(),
                    capture_output=True,
                    text=True,
                    timeout=SECONDS_MAX,
                    check=False,
                )
                self.code = served.terminate()
                wait_until(lambda: any(message.payload == ENDING for message in subscriber.messages))
            finally:
                subscriber.close()
        finally:
            served.kill()
        self.messages: list[PrintedMessage] = subscriber.messages
        self.output, self.log = served.output, served.log()
        self.answers: list[dict[str, Any]] = [json.loads(line) for line in self.shell.stdout.splitlines()]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The example, run once."""
    return Example(tmp_path_factory.mktemp("readme"))


def test_the_example_sells_the_clock(example: Example) -> None:
    """Copied into a POSIX shell, the commands run an auction that ends as the README says."""
    assert ("", 0) == (example.shell.stderr, example.shell.returncode)
    last = example.answers[-1]
    assert {
        "status": "closed",
        "outcome": "sold",
        "currentBidder": "ben",
        "currentBid": "160.000",
    }.items() <= last.items()
    for word in ('"status":"closed"', '"outcome":"sold"', '"160.000"'):
        assert word in README.read_text()


def test_mosquitto_sub_shows_the_example(example: Example) -> None:
    """A third-party subscriber gets every event of the example in order, and the auction's last state."""
    gid = example.answers[-1]["gid"]
    events = [json.loads(m.payload) for m in example.messages if m.topic == f"saleroom/auctions/{gid}/events"]
    assert EVENTS == [event["type"] for event in events]
    assert [1, 2, 3, 4, 5] == [event["sequence"] for event in events]
    states = [json.loads(m.payload) for m in example.messages if m.topic == f"saleroom/auctions/{gid}/state"]
    assert example.answers[-1] == states[-1]
    statuses = [m.payload for m in example.messages if m.topic == "saleroom/status"]
    # A subscriber may get the state that was kept and the state as it is published, both "online".
    assert [b'{"status":"online"}', ENDING] == [status for status, _ in groupby(statuses)]


def test_the_house_names_its_address_and_exits_with_0(example: Example) -> None:
    """The start names address, database, broker, mails and the way to an owner; SIGTERM ends it with 0, without an error."""
    lines = example.output.splitlines()
    assert 5 == len(lines)
    assert re.match(r"saleroom serves on http://127\.0\.0\.1:[0-9]+;", lines[0])
    assert ["database", "sqlite:///saleroom.db"] == lines[1].split()
    assert re.fullmatch(r" +mqtt +mqtt://127\.0\.0\.1:[0-9]+ \(embedded\)", lines[2])
    assert ["mails", "off"] == lines[3].split()
    assert "saleroom users owner-link" in lines[4]
    # Another broker on this machine causes one line.
    expected = ("the usual MQTT port is taken", "somebody registered", "somebody logged in")
    log = [line for line in example.log.splitlines() if not any(words in line for words in expected)]
    assert (0, []) == (example.code, log)
