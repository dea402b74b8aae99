"""docs/devices.md is true: its session is a real one, its commands bid, its refusals are those that devices get."""

import json
import re
import shlex
import subprocess
from pathlib import Path

from saleroom.bidding.api import asyncapi, devices
from saleroom.bidding.api.devices import COMMAND_ID_MAX
from saleroom.broker.embedded import CONNECTIONS_MAX
from saleroom.http.problems import status_of
from tests.fixtures_process import Start, Visit
from tests.mqtt.equipment import free_port
from tests.needs import need
from tests.patience import SECONDS_MAX
from tests.process import ending, wait_until
from tests.wire import Packet, RawClient, dump, packet, text

PAGE = Path(__file__).parents[1] / "docs" / "devices.md"
GID = "k3X9mQ2vTa1_"
COMMAND_ID = "paddle-7/0001f3a2"


def session(port: int, gid: str, token: str) -> list[Packet]:
    """Bid over a socket, as the page describes, and return all packets."""
    device = RawClient(port)
    device.send(packet(0x10, text("MQTT") + bytes([4, 2]) + (60).to_bytes(2) + text("paddle-7")))
    device.take()
    device.send(packet(0x82, (1).to_bytes(2) + text(f"saleroom/replies/{COMMAND_ID}") + b"\x01"))
    device.take()
    command = json.dumps({"token": token, "id": COMMAND_ID, "amount": "120.00"}, separators=(",", ":"))
    device.send(packet(0x32, text(f"saleroom/auctions/{gid}/bids") + (2).to_bytes(2) + command.encode()))
    # Both come at once, in either order: the broker's acknowledgement and the house's answer.
    device.packets[-2:] = sorted((device.take(), device.take()), key=lambda got: got.name != "PUBACK")
    answer = device.packets[-1].data
    end = answer.index(COMMAND_ID.encode()) + len(COMMAND_ID)
    device.send(packet(0x40, answer[end : end + 2]))
    device.close()
    return device.packets


_ONCE = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z|"head":"[0-9a-f]{64}"|"receipt":"[\w.~-]+"'
"""The parts that differ in every session: instants, hashes, signatures."""


def _text_of(shown: str, topic: str) -> str:
    """Return the payload of the PUBLISH in the page whose topic ends with `topic` or begins with it after the prefix."""
    for block in shown.split("\n\n"):
        data = bytes.fromhex("".join(line[:48] for line in block.splitlines()[1:]))
        if block.startswith("PUBLISH") and f"/{topic}".encode() in data:
            return data[data.index(b"{") :].decode()
    raise AssertionError(f"no PUBLISH for {topic}")


def test_the_session_is_one_that_happened(start: Start, visit: Visit) -> None:
    """The page's bytes are exactly those of a device and the embedded broker, except for gid, token and instants."""
    port = free_port()
    client = visit(start(mqtt="embedded", mqtt_port=str(port)))
    ada, ben = client.enter("ada"), client.enter("ben")
    gid = client.sell(ada)
    packets = session(port, gid, ben)
    page = PAGE.read_text()
    [shown] = re.findall(r"^```\n(CONNECT, .*?)^```$", page, re.MULTILINE | re.DOTALL)
    token = _text_of(shown, "bids").partition('"token":"')[2][: len(ben)]
    once = iter(re.findall(_ONCE, _text_of(shown, "replies")))

    def as_shown(data: bytes) -> bytes:
        data = data.replace(gid.encode(), GID.encode()).replace(ben.encode(), token.encode())
        return re.sub(_ONCE.encode(), lambda _: next(once).encode(), data)

    assert dump([Packet(sent.sender, as_shown(sent.data)) for sent in packets]) == shown


def test_the_commands_bid(start: Start, visit: Visit) -> None:
    """Copied into a shell, with a real gid and token, the lines of the page bid, and show the answer."""
    port = free_port()
    client = visit(start(mqtt="embedded", mqtt_port=str(port)))
    ada, ben = client.enter("ada"), client.enter("ben")
    gid = client.sell(ada)
    section = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1]
    states, answer, bid = re.findall(r"^```sh\n(.*?)\n```$", section, re.MULTILINE | re.DOTALL)
    token = json.loads(bid[bid.index("{") : bid.rindex("}") + 1])["token"]
    need("mosquitto_sub")

    def given(line: str) -> list[str]:
        words = shlex.split(line.replace(GID, gid).replace(token, ben).replace("-p 1883", ""))
        return [*words, "-p", str(port)]

    # With -d it prints when it is subscribed, and stdbuf makes it print at once.
    command = [need("stdbuf"), "-oL", *given(answer), "-W", f"{SECONDS_MAX:.0f}", "-d"]
    with ending(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as listening:
        said = iter(listening.stdout)
        assert any(line.startswith("Subscribed") for line in said), "it did not get its subscription"
        subprocess.run(given(bid), check=True, timeout=SECONDS_MAX)
        told = json.loads(next(line for line in said if line.startswith("{")))
    assert (201, "120.000", True) == (told["status"], told["bid"]["amount"], told["leading"])

    def shows_the_bid() -> bool:
        command = [*given(states), "-C", "1"]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=True).stdout
        topic, _, state = shown.partition(" ")
        return topic == f"saleroom/auctions/{gid}/state" and json.loads(state) == told["auction"]

    wait_until(shows_the_bid)  # the state follows the answer


def test_every_refusal_is_told() -> None:
    """The page lists each refusal that a device can meet under its status, and no other."""
    listed = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted((str(status_of(refused)), refused.code) for refused in asyncapi._refusals()) == sorted(listed)


def test_the_limits_are_those_of_the_house() -> None:
    """The sizes and rates in the page are the ones that the house and the embedded broker keep."""
    page = PAGE.read_text()
    for said in (
        f"| {devices.PAYLOAD_BYTES_MAX} bytes a command |",
        f"| {devices.RATE_PER_SECOND} commands a second, {devices.RATE_BURST} at once, for one token |",
        f"{CONNECTIONS_MAX} connections |",
        f"1 to {COMMAND_ID_MAX} characters",
    ):
        assert said in page
