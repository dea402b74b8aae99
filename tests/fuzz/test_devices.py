"""Hostile devices: their MQTT packets to the embedded broker, and commands on their topics."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.bidding.api.devices import CommandHandler
from saleroom.bidding.service.desk import Desk
from saleroom.broker import packets
from saleroom.broker.links import TcpLink
from saleroom.broker.packets import MalformedPacket, Packet
from saleroom.logs import Tally
from saleroom.mqtt.topics import DeviceMessage, MqttSettings
from saleroom.storage.database import Database
from tests.broker import raw
from tests.broker.raw import RawDevice
from tests.fixtures_hypothesis import on_a_database
from tests.fuzz.mangling import as_bytes, bounded, mangled, mangled_text, nasty
from tests.process import ServeProcess

topics = st.sampled_from(
    ["saleroom/auctions/abc/bids", "saleroom/#", "$SYS/#", "+/+", "a" * 2000, "", "/", "saleroom/status"]
)
numbers = st.integers(0, 65535)
payloads = st.binary(max_size=40) | nasty().map(as_bytes)
valid_packets = st.one_of(
    st.builds(raw.connect, st.text("abc$/", max_size=30), numbers, clean=st.booleans()),
    st.builds(raw.publish, topics, payloads, st.integers(0, 2), numbers),
    st.builds(lambda filters, number: raw.subscribe(*filters, number=number), st.lists(topics, max_size=4), numbers),
    st.builds(lambda filters, number: raw.unsubscribe(*filters, number=number), st.lists(topics, max_size=4), numbers),
    st.builds(lambda kind, number: raw.packet(kind, 2 * (kind == 6), number.to_bytes(2)), st.integers(4, 7), numbers),
    st.sampled_from([raw.packet(12, 0, b""), raw.packet(14, 0, b""), raw.packet(15, 0, b"abc"), raw.packet(0, 0, b"")]),
)
streams = mangled(st.lists(valid_packets, min_size=1, max_size=6).map(b"".join))


@given(mangled(valid_packets), st.booleans())
def test_a_packet_is_weighed_or_malformed(data: bytes, is_first: bool) -> None:
    """Any packet has a cost or is malformed, and the reason repeats nothing of it."""
    body = data[2:]
    packet = Packet(data[0] >> 4, data[0] & 15, body) if data else Packet(0, 0, b"")
    reason = ""
    with bounded():
        try:
            cost = packets.cost(packet, is_first=is_first)
        except MalformedPacket as error:
            reason, cost = str(error), 1.0
    assert reason.isprintable()
    assert 0 < cost <= 1 + packets.FILTERS_MAX * packets.WILDCARD_COST


class Nobody:
    """The writer of a link that is only read from."""

    def __init__(self) -> None:
        self.written = b""

    @property
    def transport(self) -> "Nobody":
        return self

    def write(self, data: bytes) -> None:
        self.written += data

    async def drain(self) -> None:
        """Return at once: there is nothing to wait for."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    abort = close


async def read(data: bytes) -> list[bytes]:
    """Return the part of `data` that amqtt would get: its packets, as long as there are any."""
    reader: Any = asyncio.StreamReader()
    writer: Any = Nobody()
    reader.feed_data(data)
    reader.feed_eof()
    link = TcpLink(reader, writer, Tally("told"), lambda: 0)
    taken = []
    while packet := await link.read():
        taken.append(packet)
    return taken


@given(streams)
def test_a_stream_is_read_in_whole_packets(data: bytes) -> None:
    """Of any bytes of a client, the beginning is handed on, packet by packet, and reading ends."""
    with bounded():
        taken = asyncio.run(read(data))
    assert data.startswith(b"".join(taken))
    assert all(packet[0] >> 4 in range(1, 15) for packet in taken)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProcess]:
    """A house with its embedded broker, in a separate process."""
    served = ServeProcess(tmp_path_factory.mktemp("broker"), mqtt="embedded", mqtt_port="0")
    yield served
    served.kill()


@on_a_database(40)
@given(data=streams, connects=st.booleans())
def test_the_broker_survives_any_bytes(brokers: ServeProcess, data: bytes, connects: bool) -> None:
    """A client that sends anything is answered or cut off, and the next one connects and is answered as usual."""
    broker = MqttSettings("127.0.0.1", brokers.mqtt_port)
    with suppress(OSError), RawDevice(broker, None if connects else b"") as client:
        client.send(data)
        client.socket.settimeout(0.01)
        client.receive(1)
    with RawDevice(broker) as client:
        client.send(raw.subscribe("saleroom/status"))
        assert 0x90 == client.receive(1)[0]
    assert "Traceback" not in brokers.log()
    assert "error" not in brokers.log().lower()


commands = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b/1", "", "x" * 129]) | nasty()},
    optional={
        "token": st.sampled_from(["abcdefghijklmnopqrstuv==", ""]) | nasty(),
        "amount": st.sampled_from(["12", 12, "1e3", None]) | nasty(),
        "maximum": st.sampled_from(["12", 99, True]) | nasty(),
        "x": nasty(),
    },
)


@on_a_database(60)
@given(
    payload=mangled(commands.map(lambda said: as_bytes(json.dumps(said, ensure_ascii=False)))),
    topic=mangled_text(st.sampled_from(["saleroom/auctions/abcdefghijkl/bids"])),
    response=st.none() | mangled_text(st.sampled_from(["saleroom/replies/a"])),
    correlation=st.none() | st.binary(max_size=9),
)
async def test_a_command_is_answered_or_dropped(
    database: Database, payload: bytes, topic: str, response: str | None, correlation: bytes | None
) -> None:
    """A command that nobody should send is refused below 500 or dropped; an answer goes nowhere but below the replies."""
    house: Any = SimpleNamespace(database=database, desk=Desk(database))
    reply = await CommandHandler(house, "saleroom/")(
        DeviceMessage(topic, payload, response_topic=response, correlation=correlation)
    )
    if reply is not None:
        assert reply.topic.startswith("saleroom/replies/")
        assert not {*"+#\0"} & {*reply.topic}
        assert 400 <= msgspec.json.decode(reply.payload)["status"] < 500
