"""The sample Mosquitto of deploy/mosquitto, installed as its README says, with a house and devices on it."""

import asyncio
import json
import os
import re
import ssl
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import aiomqtt
import pytest
from structlog.testing import capture_logs

from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import ONLINE, DeviceMessage, MqttSettings, Reply
from tests.fixtures_process import Start, Visit
from tests.mqtt.equipment import Sales, Subscriber, free_port, publish
from tests.needs import need
from tests.patience import SECONDS_MAX, until
from tests.process import ending, wait_until
from tests.sales.service.evenings import evening

Relaying = Callable[..., Relay]
Subscribe = Callable[..., Subscriber]
SAMPLE = Path(__file__).parents[2] / "deploy" / "mosquitto"
BIDS = "saleroom/auctions/x/bids"
FORBIDDEN = (
    "status",
    "auctions/x/state",
    "auctions/x/events",
    "sales/x/state",
    "sales/x/events",
    "replies/gate-1/1",
    "else",
)
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


@dataclass(frozen=True)
class Sample:
    """The installed sample: its folder and its ports."""

    folder: Path
    port: int
    websocket_port: int

    def account(self, name: str) -> MqttSettings:
        """Return how an account of the README reaches the broker."""
        password = (self.folder / f"{name}.password").read_text().strip()
        authority = str(self.folder / "authority.pem")
        return MqttSettings.from_url(
            f"mqtts://127.0.0.1:{self.port}", user=name, password=password, client_id=name, ca_file=authority
        )

    def publish(self, name: str, topic: str, payload: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Publish once as a device."""
        trust = ("--cafile", str(self.folder / "authority.pem"))
        return publish(self.account(name), topic, payload, *trust, *options, as_service=True)


def commands(readme: str) -> list[str]:
    """Return the README's commands for a newcomer, without those that install on the system."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", readme, re.DOTALL) for line in block.splitlines()]
    return [line for line in lines if not line.startswith("sudo ")]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """Mosquitto with the very files of the sample; only paths and ports differ."""
    folder = tmp_path_factory.mktemp("mosquitto")
    sample = Sample(folder, free_port(), free_port())
    need("openssl")
    need("mosquitto_passwd")
    for line in commands((SAMPLE / "README.md").read_text()):
        if not line.startswith("mosquitto_sub"):
            here = line.replace("DNS:broker.example", "IP:127.0.0.1")
            subprocess.run(["sh", "-c", here], cwd=folder, check=True, capture_output=True)
    (folder / "gate-2.password").write_text("another gate")
    passwords = ["mosquitto_passwd", "-b", "passwords", "gate-2", "another gate"]
    subprocess.run(passwords, cwd=folder, check=True, capture_output=True)
    (folder / "acl").write_text((SAMPLE / "acl").read_text())
    text = (SAMPLE / "mosquitto.conf").read_text()
    for there, here in (
        ("/etc/mosquitto/saleroom", str(folder)),
        ("/var/lib/mosquitto/", f"{folder}/"),
        ("listener 8883", f"listener {sample.port} 127.0.0.1"),
        ("listener 8884", f"listener {sample.websocket_port} 127.0.0.1"),
    ):
        assert there in text
        text = text.replace(there, here)
    as_root = "user root\n" if os.geteuid() == 0 else ""
    (folder / "mosquitto.conf").write_text(as_root + text)
    command = [need("mosquitto"), "-c", "mosquitto.conf"]
    with (folder / "mosquitto.log").open("w") as log:
        started = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    with ending(started) as broker:
        wait_until(lambda: "running" in (folder / "mosquitto.log").read_text() or broker.poll() is not None)
        assert broker.poll() is None, (folder / "mosquitto.log").read_text()
        yield sample


async def answered(command: DeviceMessage) -> Reply:
    """Answer a command, whose payload is its id, without a house."""
    return Reply(f"saleroom/replies/{command.payload.decode()}", b"answered")


@on_sqlite
async def test_a_device_sees_the_sale_and_its_own_answers(
    sample: Sample, sales: Sales, relaying: Relaying, subscribe: Subscribe
) -> None:
    """The house connects over TLS; a device gets states, events, status and its own answers, not others' bids or answers."""
    relay = relaying(sample.account("saleroom"), inbox=answered)
    device = subscribe(sample.account("gate-1"), "saleroom/#", as_service=True)
    gid, night = await sales.sell(), await evening(sales.database, 1)
    await until(lambda: relay.connected, "the house is connected")
    await sales.until_delivered()
    await until(lambda: len([m for m in device.messages if "/sales/" in m.topic]) >= 2, "the sale")
    for number in ("gate-2/1", "gate-1/1"):
        assert 0 == sample.publish("gate-2", f"saleroom/auctions/{gid}/bids", number).returncode
    await until(lambda: bool(device.payloads("saleroom/replies/gate-1/1")), "the answer")
    await until(lambda: bool(device.payloads(f"saleroom/auctions/{gid}/state")), "the state")
    expected = {
        "saleroom/status": [ONLINE],
        f"saleroom/auctions/{gid}/events": await sales.payloads(gid),
        f"saleroom/auctions/{gid}/state": [await sales.state(gid)],
        "saleroom/replies/gate-1/1": [b"answered"],
    }
    topics = {message.topic for message in device.messages}
    assert {f"saleroom/sales/{night.sale.gid}/{kind}" for kind in ("events", "state")} == {
        one for one in topics if "/sales/" in one
    }
    topics = {topic for topic in topics if "/sales/" not in topic and night.lots[0] not in topic}
    assert expected == {topic: list(dict.fromkeys(device.payloads(topic)))[-1:] for topic in topics}


@pytest.mark.parametrize("version", ["311", "5"])
@on_sqlite
async def test_a_device_may_only_publish_commands(
    sample: Sample, sales: Sales, relaying: Relaying, subscribe: Subscribe, version: str
) -> None:
    """A device's message on any other topic reaches nobody and is not retained, and MQTT 5 tells the device."""
    device = subscribe(sample.account("gate-1"), "#", as_service=True)
    for topic in (*FORBIDDEN, "auctions/x/y/bids"):
        answer = sample.publish("gate-2", f"saleroom/{topic}", "evil", "-r", "-V", version)
        assert (version == "5") == ("uthor" in answer.stderr + answer.stdout), answer
    relay = relaying(sample.account("saleroom"), inbox=answered)
    await until(lambda: relay.connected, "the house is connected")
    assert 0 == sample.publish("gate-2", BIDS, f"gate-1/{version}", "-V", version).returncode
    await until(lambda: bool(device.payloads(f"saleroom/replies/gate-1/{version}")), "the answer")
    assert b"evil" not in [message.payload for message in device.messages]


async def test_strangers_are_refused(sample: Sample) -> None:
    """Without an account, with a wrong password, or without TLS, nobody gets in."""
    gate, trust = sample.account("gate-1"), ("--cafile", str(sample.folder / "authority.pem"))
    anonymous = publish(gate, BIDS, "a bid", *trust)
    wrong = publish(replace(gate, password="wrong"), BIDS, "a bid", *trust, as_service=True)
    for answer in (anonymous, wrong):
        assert [5, True] == [answer.returncode, "not authorised" in answer.stderr], answer
    assert 0 != publish(gate, BIDS, "a bid", as_service=True).returncode


@pytest.mark.filterwarnings(
    "ignore:unclosed <ssl.SSLSocket:ResourceWarning"
)  # paho leaves a failed handshake to the GC
@on_sqlite
async def test_the_house_gives_its_password_to_no_stranger(sample: Sample, relaying: Relaying) -> None:
    """A broker whose certificate no trusted authority signed is not connected to, and a warning says why."""
    with capture_logs() as logs:
        relay = relaying(replace(sample.account("saleroom"), ca_file=None))
        await until(lambda: bool(logs), "a warning")
    assert ["warning", True, False] == [
        logs[0]["log_level"],
        "CERTIFICATE_VERIFY_FAILED" in logs[0]["reason"],
        relay.connected,
    ]


@on_sqlite
async def test_no_device_pushes_the_house_off(
    sample: Sample, sales: Sales, relaying: Relaying, subscribe: Subscribe
) -> None:
    """A device with the house's client id gets its own connection; the house stays online."""
    device = subscribe(sample.account("gate-1"), "saleroom/status", "saleroom/replies/gate-1/#", as_service=True)
    relay = relaying(sample.account("saleroom"), inbox=answered)
    await until(lambda: relay.connected, "the house is connected")
    await until(lambda: ONLINE in device.payloads("saleroom/status")[-1:], "online")
    before = len(device.payloads("saleroom/status"))
    assert 0 == sample.publish("gate-2", BIDS, "gate-1/off", "-i", "saleroom").returncode
    await until(lambda: bool(device.payloads("saleroom/replies/gate-1/off")), "the answer")
    assert [before, True] == [len(device.payloads("saleroom/status")), relay.connected]


@on_sqlite
async def test_a_retained_command_is_cleared(
    sample: Sample, sales: Sales, relaying: Relaying, subscribe: Subscribe
) -> None:
    """The house may clear a command that a device retained, so that its token does not stay with the broker."""
    sample.publish("gate-2", BIDS, "gate-1/retained", "-r")
    early = subscribe(sample.account("saleroom"), BIDS, as_service=True)
    await until(lambda: [(BIDS, b"gate-1/retained", True)] == early.messages, "the command is retained")
    early.close()
    with capture_logs():
        relay = relaying(sample.account("saleroom"), inbox=answered)
        await until(lambda: relay.connected, "the house is connected")
        sample.publish("gate-2", BIDS, "gate-1/after")
        witness = subscribe(sample.account("gate-1"), "saleroom/replies/gate-1/#", as_service=True)
        sample.publish("gate-2", BIDS, "gate-1/last")
        await until(lambda: bool(witness.payloads("saleroom/replies/gate-1/last")), "the answer")
        await relay.stop()
    house = subscribe(sample.account("saleroom"), BIDS, "saleroom/status", as_service=True)
    await until(lambda: bool(house.messages), "the retained status")
    assert [] == house.payloads(BIDS)


@on_sqlite
async def test_a_page_reads_the_sale_over_websocket(sample: Sample, sales: Sales, relaying: Relaying) -> None:
    """A device over WebSocket with TLS gets the status, as one over TCP does."""
    relay = relaying(sample.account("saleroom"))
    await until(lambda: relay.connected, "the house is connected")
    gate = sample.account("gate-2")
    trust = ssl.create_default_context(cafile=gate.ca_file)
    async with (
        asyncio.timeout(SECONDS_MAX),
        aiomqtt.Client(
            gate.host,
            sample.websocket_port,
            transport="websockets",
            username=gate.user,
            password=gate.password,
            tls_context=trust,
        ) as page,
    ):
        await page.subscribe("saleroom/status", 1)
        async for message in page.messages:
            if message.payload == ONLINE:
                break


async def test_a_house_with_the_settings_of_the_readme(
    sample: Sample, start: Start, visit: Visit, subscribe: Subscribe
) -> None:
    """With the README's settings for `saleroom serve`, its `mosquitto_sub` shows the status, and a device's bid gets 201."""
    readme = (SAMPLE / "README.md").read_text()
    [block] = re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)
    given = tomllib.loads(block)
    house_account = sample.account("saleroom")
    assert {"mqtt": "mqtts://broker.example", "mqtt_user": "saleroom"}.items() <= given.items()
    assert {"mqtt", "mqtt_user", "mqtt_ca_file"} == given.keys()
    house = start(
        mqtt=f"mqtts://127.0.0.1:{sample.port}",
        mqtt_user=given["mqtt_user"],
        mqtt_ca_file=str(sample.folder / "authority.pem"),
        mqtt_password=house_account.password or "",
    )
    witness = subscribe(sample.account("gate-1"), "saleroom/status", as_service=True)
    await until(lambda: [ONLINE] == witness.payloads("saleroom/status")[-1:], "the house is connected")
    witness.close()  # one account is one client, and this one would come back and push the next ones off
    [line] = [line for line in commands(readme) if line.startswith("mosquitto_sub")]
    line = line.replace("broker.example", "127.0.0.1").replace("8883", str(sample.port)) + f" -C 1 -W {SECONDS_MAX:.0f}"
    shown = subprocess.run(["sh", "-c", line], cwd=sample.folder, capture_output=True, text=True, check=True)
    assert 'saleroom/status {"status":"online"}\n' == shown.stdout
    ada, bob = visit(house), visit(house)
    gid = ada.sell(ada.enter("ada"))
    command = json.dumps({"token": bob.enter("bob"), "id": "gate-1/first", "amount": "100.000"})
    gate = sample.account("gate-1")
    async with (
        asyncio.timeout(SECONDS_MAX),
        aiomqtt.Client(
            gate.host,
            gate.port,
            username=gate.user,
            password=gate.password,
            tls_context=ssl.create_default_context(cafile=gate.ca_file),
        ) as device,
    ):
        await device.subscribe("saleroom/replies/gate-1/#", 1)
        await device.publish(f"saleroom/auctions/{gid}/bids", command, 1)
        message = await anext(aiter(device.messages))
    assert "saleroom/replies/gate-1/first" == str(message.topic)
    assert 201 == json.loads(message.payload)["status"]
