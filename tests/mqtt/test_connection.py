"""The connection: MQTT 5 and 3.1.1, the properties of each, and a broker that refuses."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import aiomqtt
import pytest
from structlog.testing import capture_logs

from saleroom.mqtt import relay as relay_module
from saleroom.mqtt.connection import PublishRefusal, VersionRefusal, acknowledged, connect
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import MqttSettings, Version
from tests.mqtt.device import V5, Device
from tests.mqtt.equipment import Mosquitto, Sales, Subscriber
from tests.patience import SECONDS_MAX, until
from tests.rows import each_of

Relaying = Callable[..., Relay]
Subscribe = Callable[..., Subscriber]
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Callable[..., Mosquitto]]:
    """Start Mosquitto with more lines in its configuration."""
    started: list[Mosquitto] = []

    def start(*lines: str) -> Mosquitto:
        started.append(Mosquitto(tmp_path, *lines))
        started[-1].start()
        return started[-1]

    yield start
    for broker in started:
        broker.kill()


@each_of(
    {"kind": "mosquitto", "version": Version.AUTO, "spoken": Version.V5},
    {"kind": "mosquitto", "version": Version.V5, "spoken": Version.V5},
    {"kind": "mosquitto", "version": Version.V311, "spoken": Version.V311},
    {"kind": "embedded", "version": Version.AUTO, "spoken": Version.V311},
    {"kind": "embedded", "version": Version.V311, "spoken": Version.V311},
)
async def test_the_newest_version_that_both_speak(
    kind: str, version: Version, spoken: Version, request: pytest.FixtureRequest
) -> None:
    """With `auto`, a broker that takes MQTT 5 gets it, any other 3.1.1; a version that is set is used."""
    broker = request.getfixturevalue(kind)
    settings = replace(broker if isinstance(broker, MqttSettings) else broker.settings, version=version)
    for first in (Version.V5, Version.V311):
        async with connect(settings, first) as connection:
            await acknowledged(connection.send("saleroom/status", b"{}"))
            if first is Version.V5:
                assert spoken == connection.version


async def test_a_version_that_is_set_and_refused_is_named(embedded: MqttSettings) -> None:
    """With MQTT 5 set, a broker that refuses it is an error that names the setting."""
    with pytest.raises(aiomqtt.MqttError, match="mqtt_version is 5, try auto") as caught:
        async with connect(replace(embedded, version=Version.V5)):
            pass
    assert isinstance(caught.value.__cause__, VersionRefusal)


async def test_a_broker_that_drops_what_it_does_not_know() -> None:
    """If a broker closes the connection at an MQTT 5 CONNECT, the house connects again with 3.1.1, at once."""
    levels: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        levels.append((await reader.read(1000))[8])
        if levels[-1] == 4:
            writer.write(b"\x20\x02\x00\x00")
            await reader.read(1000)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    settings = MqttSettings("127.0.0.1", server.sockets[0].getsockname()[1])
    async with server, connect(settings) as connection:
        assert Version.V311 == connection.version
    assert [5, 4] == levels


@on_sqlite
async def test_messages_describe_themselves_in_mqtt_5(sales: Sales, mosquitto: Mosquitto, relaying: Relaying) -> None:
    """A subscriber of MQTT 5 sees that all is JSON, and that events expire; a state and the status do not."""
    device = Device(mosquitto.settings, "saleroom/#", version=V5)
    relaying(mosquitto.settings)
    gid = await sales.sell()
    await sales.until_delivered()
    state, events, status = (
        f"saleroom/{topic}" for topic in (f"auctions/{gid}/state", f"auctions/{gid}/events", "status")
    )
    await until(lambda: bool(device.on(state)), "the state")
    shown = {heard.topic: heard.properties for heard in device.heard}
    device.close()
    described = {"ContentType": "application/json"}
    assert {state: described, events: described | {"MessageExpiryInterval": 86400}, status: described} == shown


@on_sqlite
async def test_the_state_of_an_auction_that_is_over_expires(
    sales: Sales, mosquitto: Mosquitto, relaying: Relaying
) -> None:
    """The state of an auction that is over goes to a broker of MQTT 5 with a day to live."""
    device = Device(mosquitto.settings, "saleroom/auctions/+/state", version=V5)
    relaying(mosquitto.settings)
    gid = await sales.sell()
    await sales.cancel(gid)
    topic = mosquitto.settings.state_topic(gid)
    await until(
        lambda: any(json.loads(heard.payload)["status"] == "cancelled" for heard in device.on(topic)), "the end"
    )
    device.close()
    assert 86400 == device.on(topic)[-1].properties["MessageExpiryInterval"]


@on_sqlite
async def test_events_that_the_broker_refuses_stay_owed(
    sales: Sales, limited: Callable[..., Mosquitto], tmp_path: Path, relaying: Relaying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a broker of MQTT 5 refuses events, one warning gives its reason; they go out when it allows them."""
    monkeypatch.setattr(relay_module, "BACKOFF_SECONDS_MAX", 0.1)
    rules = tmp_path / "acl"
    rules.write_text("topic write saleroom/status\ntopic read saleroom/#\n")
    broker = limited(f"acl_file {rules}")
    gid = await sales.sell()
    with capture_logs() as lines:
        relay = relaying(broker.settings)
        await until(lambda: bool(lines), "a warning")
        await asyncio.sleep(0.5)
        assert 1 == await relay.owed()
        # Mosquitto 2.0.11 ends the connection too.
        assert {"warning"} == {line["log_level"] for line in lines}
        assert ["Not authorized"] == [line["reason"] for line in lines if "refuses" in line["event"]]
        assert len({line["event"] for line in lines}) == len(lines)
        assert "Longcase clock" not in str(lines)
        rules.write_text("topic readwrite #\n")
        broker.reload()
        device = Device(broker.settings, broker.settings.events_topic(gid))
        await sales.until_delivered()
        await until(lambda: bool(device.heard), "the event")
    device.close()
    assert await sales.payloads(gid) == [heard.payload for heard in device.heard]


async def test_a_message_over_the_brokers_limit_is_refused_and_the_connection_lives(
    limited: Callable[..., Mosquitto],
) -> None:
    """A message larger than a broker of MQTT 5 takes is not sent, as the broker would end the connection."""
    broker = limited("max_packet_size 1000")
    async with connect(broker.settings) as connection:
        with pytest.raises(PublishRefusal, match="too large"):
            await acknowledged(connection.send("saleroom/status", b"x" * 1000))
        await acknowledged(connection.send("saleroom/status", b"x" * 900))


async def test_no_more_is_in_flight_than_the_broker_takes() -> None:
    """If a broker of MQTT 5 limits unacknowledged messages, the next one waits for an acknowledgement."""
    received = bytearray()
    broker: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        broker.append(writer)
        await reader.read(1000)
        writer.write(b"\x20\x06\x00\x00\x03\x21\x00\x03")  # a Receive Maximum of 3
        while data := await reader.read(1000):
            received.extend(data)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    settings = MqttSettings("127.0.0.1", server.sockets[0].getsockname()[1])
    async with server, connect(settings) as connection:
        waiting = [connection.send("saleroom/status", b"message") for _ in range(5)]
        await until(lambda: received.count(b"message") >= 3, "three messages")
        await asyncio.sleep(0.2)
        assert 3 == received.count(b"message")
        broker[0].write(b"\x40\x02\x00\x01")
        await waiting[0]
        await until(lambda: received.count(b"message") >= 4, "the fourth message")
        for message in waiting:
            message.cancel()


async def test_an_answer_overtakes_events_that_wait(mosquitto: Mosquitto, subscribe: Subscribe) -> None:
    """An answer goes out before the events that wait, and the events stay in their order."""
    subscriber = subscribe(mosquitto.settings, "saleroom/status")
    async with connect(mosquitto.settings) as connection:
        events = [connection.send("saleroom/status", b"%d" % number) for number in range(1000)]
        answer = connection.send("saleroom/status", b"answer", is_answer=True)
        await acknowledged(*events, answer)
    await until(lambda: len(subscriber.messages) > 1000, "all messages")
    came = subscriber.payloads("saleroom/status")
    assert came.index(b"answer") < 300
    came.remove(b"answer")
    assert [b"%d" % number for number in range(1000)] == came


async def test_nobody_waits_for_a_connection_that_is_lost(mosquitto: Mosquitto) -> None:
    """When the connection is lost, every message that is not acknowledged fails at once, and later ones too."""
    async with connect(mosquitto.settings) as connection:
        lost = asyncio.create_task(connection.closed())
        mosquitto.kill()
        waiting = [connection.send("saleroom/status", b"1") for _ in range(200)]
        for message in (lost, *waiting, connection.send("saleroom/status", b"2")):
            with pytest.raises(aiomqtt.MqttError):
                await asyncio.wait_for(message, SECONDS_MAX)
