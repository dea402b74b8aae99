"""The limits of one client of the embedded broker: beyond them it is slowed down or cut off, and the rest are served."""

import asyncio
import gc
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from structlog.testing import capture_logs

from saleroom.broker import embedded, links
from saleroom.broker.amqtt_fixes import FixedBroker
from saleroom.mqtt.connection import acknowledged, connect
from saleroom.mqtt.topics import MqttSettings
from tests.broker import raw
from tests.broker.raw import CONNACK, RawDevice
from tests.mqtt.equipment import Subscriber, publish
from tests.patience import SECONDS_MAX, until

Subscribe = Callable[..., Subscriber]
BIDS = "saleroom/auctions/x/bids"
BROKERS: list[FixedBroker] = []
"""The brokers of the running test. A search among all objects would also find half-made ones of other threads."""


@pytest.fixture(autouse=True)
def brokers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take note of each broker that a test starts."""

    def make(*arguments: Any) -> FixedBroker:
        BROKERS.append(FixedBroker(*arguments))
        return BROKERS[-1]

    monkeypatch.setattr(embedded, "FixedBroker", make)
    yield
    BROKERS.clear()


def remembered() -> list[str]:
    """Return the client ids of the clients that the brokers remember, except the service."""
    assert BROKERS
    held = [holder.client_id for found in BROKERS for holders in found.subscriptions.values() for holder, _ in holders]
    names = [name for found in BROKERS for name in found.sessions] + held
    return [name for name in names if name and not name.startswith("service-")]


async def test_only_a_device_that_floods_is_slowed_down(
    embedded: MqttSettings, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a flood only the device's allowance is read; another device's message passes."""
    monkeypatch.setattr(links, "MESSAGES_AT_ONCE", 20.0)
    monkeypatch.setattr(links, "MESSAGES_PER_SECOND", 0.001)
    service = subscribe(embedded, BIDS, as_service=True)
    with RawDevice(embedded) as flooding:
        flooding.send(*(raw.publish(BIDS, b"flood") for _ in range(500)))
        await until(lambda: len(service.messages) >= 20, "the beginning of the flood")
        for calm in ("calm", "still calm"):
            assert 0 == publish(embedded, BIDS, calm).returncode
        await until(lambda: b"still calm" in service.payloads(BIDS), "the calm devices' messages")
    assert 20 == service.payloads(BIDS).count(b"flood")


async def test_delayed_messages_arrive_in_order(
    embedded: MqttSettings, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a device sent beyond its allowance is read later, in order."""
    monkeypatch.setattr(links, "MESSAGES_AT_ONCE", 20.0)
    service = subscribe(embedded, BIDS, as_service=True)
    with RawDevice(embedded) as eager:
        eager.send(*(raw.publish(BIDS, b"%d" % number) for number in range(100)))
        await until(lambda: len(service.messages) >= 100, "all messages")
    assert [b"%d" % number for number in range(100)] == service.payloads(BIDS)


async def test_acknowledgements_cost_next_to_nothing(
    embedded: MqttSettings, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that reads a busy sale, and acknowledges each event, can still bid."""
    monkeypatch.setattr(links, "MESSAGES_AT_ONCE", 20.0)
    monkeypatch.setattr(links, "MESSAGES_PER_SECOND", 0.001)
    service = subscribe(embedded, BIDS, as_service=True)
    with RawDevice(embedded) as device:
        device.send(*(raw.packet(4, 0, b"\0\1") for _ in range(500)), raw.publish(BIDS, b"a bid"))
        await until(lambda: bool(service.messages), "the bid")


async def test_wildcards_are_dear(
    embedded: MqttSettings, monkeypatch: pytest.MonkeyPatch, subscribe: Subscribe
) -> None:
    """A device that subscribes to wildcards again and again is slowed down, as each is matched with every retained message."""
    monkeypatch.setattr(links, "MESSAGES_PER_SECOND", 0.001)
    service = subscribe(embedded, BIDS, as_service=True)
    with RawDevice(embedded) as storming:
        storming.send(*(raw.subscribe("+/x", number=number + 1) for number in range(10)), raw.publish(BIDS, b"unread"))
        assert b"\0\12\0" == storming.receive(50)[-3:]
        publish(embedded, BIDS, "calm")
        await until(lambda: bool(service.messages), "the calm device's message")
    assert [b"calm"] == service.payloads(BIDS)


async def test_senders_wait_while_too_many_deliveries_wait(
    embedded: MqttSettings, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While many messages wait for delivery, devices are not read, and finally not the service either; then they are again."""
    account = raw.text(embedded.user or "") + raw.text(embedded.password or "")
    as_service = raw.packet(1, 0, raw.text("MQTT") + b"\x04\xc2\0\0" + raw.text(embedded.client_id) + account)
    subscriber = subscribe(embedded, BIDS, "saleroom/status", as_service=True)
    with RawDevice(embedded) as device, RawDevice(embedded, as_service) as service:
        assert CONNACK == service.receive(4)
        monkeypatch.setattr(links, "DEVICE_WAITING_MAX", -1)
        device.send(raw.publish(BIDS, b"first"), raw.publish(BIDS, b"that waits"))
        service.send(*(raw.publish("saleroom/status", b"%d" % number) for number in range(50)))
        await until(lambda: len(subscriber.payloads("saleroom/status")) >= 50, "what the service says")
        assert b"that waits" not in subscriber.payloads(BIDS)
        monkeypatch.setattr(links, "SERVICE_WAITING_MAX", -1)
        service.send(raw.publish("saleroom/status", b"first"), raw.publish("saleroom/status", b"that waits"))
        monkeypatch.setattr(links, "DEVICE_WAITING_MAX", 1000)
        await until(lambda: [b"first", b"that waits"] == subscriber.payloads(BIDS), "the device is read again")
        assert b"that waits" not in subscriber.payloads("saleroom/status")
        monkeypatch.setattr(links, "SERVICE_WAITING_MAX", 5000)
        await until(lambda: b"that waits" in subscriber.payloads("saleroom/status"), "the service is read again")


async def test_a_command_has_a_size(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A command of 4096 bytes passes and a longer one is dropped; so is a Last Will that is longer."""
    service = subscribe(embedded, BIDS, as_service=True)
    will = raw.text(BIDS) + raw.text(b"w" * 4097)
    dying = raw.packet(1, 0, raw.text("MQTT") + b"\x04\x06\0\0" + raw.text("dying") + will)
    with RawDevice(embedded, dying) as device:
        assert CONNACK == device.receive(4)
    with RawDevice(embedded) as device:
        device.send(raw.publish(BIDS, b"x" * 4097, 1), raw.publish(BIDS, b"x" * 4096, 1, 2))
        assert b"\x40\2\0\1\x40\2\0\2" == device.receive(8)
    await until(lambda: bool(service.messages), "the command")
    assert [4096] == [len(message.payload) for message in service.messages]


async def test_a_device_sends_no_large_packets_and_the_service_may(
    embedded: MqttSettings, subscribe: Subscribe
) -> None:
    """A device's packet over 64 KiB ends its connection; the service's passes."""
    device = subscribe(embedded, "saleroom/auctions/x/state")
    with RawDevice(embedded) as rude:
        rude.send(raw.packet(8, 2, b"\0\1" + (raw.text("x" * 1000) + b"\0") * 66))
        assert rude.is_ended()
    large = "y" * 100_000
    assert 0 == publish(embedded, "saleroom/auctions/x/state", large, as_service=True).returncode
    await until(lambda: bool(device.messages), "the state")
    assert [large.encode()] == [message.payload for message in device.messages]


async def test_messages_that_are_never_released_end_the_connection(embedded: MqttSettings) -> None:
    """A device that begins messages of QoS 2 and does not release them is cut off before they fill the memory."""
    with RawDevice(embedded) as device:
        most = links.UNRELEASED_MAX
        device.send(*(raw.publish(BIDS, b"x", 2, number + 1) for number in range(most)))
        assert b"\x50\2" == device.receive(4 * most)[-4:-2]
        device.send(raw.publish(BIDS, b"x", 2, most + 1))
        assert device.is_ended()


async def test_a_message_of_qos_2_arrives_once(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A bid sent at QoS 2 by a proper client reaches the service."""
    service = subscribe(embedded, BIDS, as_service=True)
    assert 0 == publish(embedded, BIDS, "a bid", "-q", "2").returncode
    await until(lambda: bool(service.messages), "the bid")
    assert [(BIDS, b"a bid", False)] == service.messages


async def test_a_device_that_reads_too_slowly_for_too_long_is_cut_off(
    embedded: MqttSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that reads a little now and then, and never catches up with what it asked for, is cut off."""
    monkeypatch.setattr(links, "BEHIND_SECONDS_MAX", 0.5)
    with RawDevice(embedded) as slow, capture_logs() as logs:
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)  # or the system would read ahead for it
        slow.send(raw.subscribe("saleroom/#"))
        assert raw.packet(9, 0, b"\0\1\0") == slow.receive(5)

        def is_cut() -> bool:
            return any("reasons" in entry for entry in logs)

        async def read_slowly() -> None:
            with suppress(ConnectionResetError):
                while await asyncio.to_thread(slow.receive, 20_000):
                    await asyncio.sleep(0 if is_cut() else 0.05)

        reading = asyncio.create_task(read_slowly())
        async with connect(embedded) as service, asyncio.timeout(SECONDS_MAX):
            while not is_cut():
                await acknowledged(service.send("saleroom/auctions/x/state", b"x" * 500_000))
                await asyncio.sleep(0.02)
        await reading
    assert {"does not read what it asked for": 1} == logs[-1]["reasons"]


async def test_a_connection_without_connect_is_cut_off(embedded: MqttSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection without a CONNECT is ended, so that idle ones cannot take all the places."""
    monkeypatch.setattr(links, "CONNECT_SECONDS_MAX", 0.3)
    for beginning in (b"", b"\x10", raw.connect()[:-1]):
        with RawDevice(embedded, beginning) as idle:
            assert idle.is_ended()


async def test_a_client_that_falls_silent_is_given_up(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A client is cut off after one and a half times its keep-alive, and its Last Will is published; pings prevent it."""
    service = subscribe(embedded, BIDS, as_service=True)
    mortal = raw.text("MQTT") + b"\x04\x06\0\2" + raw.text("mortal") + raw.text(BIDS) + raw.text("gone")
    has_stayed, wills = False, 0
    while not has_stayed and wills < 50:  # a busy machine may hold the pings of one client up
        with RawDevice(embedded, raw.packet(1, 0, mortal)) as client:
            assert CONNACK == client.receive(4)
            has_stayed = await client.stays()
            assert not has_stayed or len(service.messages) <= wills
            assert client.is_ended()
        wills += 1
    await until(lambda: len(service.messages) >= wills, "the will")
    assert (True, [b"gone"] * wills) == (has_stayed, service.payloads(BIDS))


async def test_there_are_so_many_connections(embedded: MqttSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection beyond the limit is cut off at once; when another has ended there is a place again."""
    monkeypatch.setattr("saleroom.broker.embedded.CONNECTIONS_MAX", 2)
    with RawDevice(embedded, raw.connect("one")) as one, RawDevice(embedded, raw.connect("two")) as two:
        assert [CONNACK, CONNACK] == [one.receive(4), two.receive(4)]
        with RawDevice(embedded, raw.connect("third")) as third:
            assert third.is_ended()
        one.send(raw.packet(14, 0, b""))
        assert one.is_ended()
        with RawDevice(embedded, raw.connect("third")) as third:
            assert CONNACK == third.receive(4)


async def test_a_device_holds_so_many_subscriptions(embedded: MqttSettings) -> None:
    """A filter beyond the limit, or overlong, is refused; unsubscribing makes room, and a held one can be subscribed again."""
    with RawDevice(embedded) as device:
        filters = [f"saleroom/replies/{number}" for number in range(100)]
        device.send(raw.subscribe(*filters, number=1))
        assert raw.packet(9, 0, b"\0\1" + b"\0" * 100) == device.receive(104)
        device.send(raw.subscribe("one/more", filters[7], number=2))
        assert raw.packet(9, 0, b"\0\2\x80\0") == device.receive(6)
        device.send(raw.unsubscribe(filters[3], number=3))
        assert b"\xb0\2\0\3" == device.receive(4)
        device.send(raw.subscribe("x" * 1025, "one/more", number=4))
        assert raw.packet(9, 0, b"\0\4\x80\0") == device.receive(6)
        device.send(raw.subscribe(*filters, "one/too/many", number=5))
        assert device.is_ended()


async def test_names_that_no_client_should_have(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A very long client id is accepted, an empty one is replaced, and one that is not text ends the connection."""
    service = subscribe(embedded, BIDS, as_service=True)
    for name in ("x" * 65_000, ""):
        with RawDevice(embedded, raw.connect(name)) as device:
            assert CONNACK == device.receive(4)
            device.send(raw.publish(BIDS, b"of %d" % len(name), 1))
            assert b"\x40\2\0\1" == device.receive(4)
    for bad in (b"a\0b", b"\xff"):
        with RawDevice(embedded, raw.packet(1, 0, raw.text("MQTT") + b"\4\2\0\0" + raw.text(bad))) as device:
            assert device.is_ended()
    with RawDevice(embedded, raw.connect("", clean=False)) as device:
        assert b"\x20\2\0\2" == device.receive(4)  # [MQTT-3.1.3-8]
        assert device.is_ended()
    await until(lambda: len(service.messages) >= 2, "both bids")
    assert {b"of 65000", b"of 0"} == set(service.payloads(BIDS))


@pytest.mark.parametrize("clean", [True, False])
async def test_of_two_clients_with_one_name_the_later_is_served(
    embedded: MqttSettings, subscribe: Subscribe, clean: bool
) -> None:
    """A client with another's id ends that one, starts a new session, and stays, even if it asks for the old session."""
    with RawDevice(embedded, raw.connect("same", clean=clean)) as early:
        assert CONNACK == early.receive(4)
        early.send(raw.subscribe("saleroom/#"))
        assert raw.packet(9, 0, b"\0\1\0") == early.receive(5)
        with RawDevice(embedded, raw.connect("same", clean=clean)) as late:
            assert CONNACK == late.receive(4)
            assert early.is_ended()
            late.send(raw.subscribe("saleroom/status"))
            assert raw.packet(9, 0, b"\0\1\0") == late.receive(5)
            await asyncio.sleep(1.5)  # amqtt looks once a second for sessions whose client is gone
            publish(embedded, "saleroom/auctions/x/state", "of the old filter", as_service=True)
            publish(embedded, "saleroom/status", "seen", as_service=True)
            expected = raw.publish("saleroom/status", b"seen")
            assert expected == late.receive(len(expected))


@pytest.mark.parametrize(
    "fault",
    [
        raw.packet(3, 0, raw.text("a/+")),
        raw.packet(3, 0, raw.text("") + b"x"),
        raw.packet(3, 0b110, raw.text("a") + b"\0\1x"),
        raw.packet(3, 0b010, raw.text("a")),
        raw.packet(3, 0, raw.text(b"\xff") + b"x"),
        raw.packet(3, 0, raw.text("a\0b") + b"x"),
        raw.packet(3, 0, b"\0\x09abc"),
        raw.packet(4, 0, b"\0"),
        raw.packet(8, 0, b"\0\1" + raw.text("a") + b"\0"),
        raw.packet(8, 2, b"\0\1" + raw.text("a")),
        raw.packet(8, 2, b"\0\1" + raw.text("a") + b"\3"),
        *(raw.packet(kind, 2, b"\0\1") for kind in (8, 10)),
        *(asked("a", "") for asked in (raw.subscribe, raw.unsubscribe)),
        raw.packet(12, 0, raw.publish("saleroom/auctions/x/bids", b"hidden in a ping")),
        raw.packet(2, 0, b"\0\0"),
        raw.packet(0, 0, b""),
        raw.packet(15, 0, b""),
        b"\xc0\xff\xff\xff\xff\x01",
        raw.connect(),
    ],
    ids=lambda fault: fault.hex()[:24],
)
async def test_a_packet_that_nobody_may_send_ends_the_connection_and_leaves_nothing(
    embedded: MqttSettings, subscribe: Subscribe, fault: bytes
) -> None:
    """A malformed packet ends its sender's connection, nothing in it is taken for another packet, and nobody is remembered."""
    service = subscribe(embedded, BIDS, as_service=True)
    with RawDevice(embedded) as rude:
        rude.send(raw.subscribe("saleroom/#"))
        assert raw.packet(9, 0, b"\0\1\0") == rude.receive(5)
        rude.send(fault)
        assert rude.is_ended()
    publish(embedded, BIDS, "proper")
    await until(lambda: bool(service.messages), "the proper bid")
    assert [b"proper"] == service.payloads(BIDS)
    await until(lambda: "raw" not in remembered(), "the rude client is forgotten")


async def test_nothing_is_hidden_behind_a_connect(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """Bytes after the fields of a CONNECT are not taken for a message."""
    service = subscribe(embedded, BIDS, as_service=True)
    fields = raw.text("MQTT") + b"\4\2\0\0" + raw.text("raw")
    with RawDevice(embedded, raw.packet(1, 0, fields + raw.publish(BIDS, b"hidden"))) as device:
        assert CONNACK == device.receive(4)
        device.send(raw.publish(BIDS, b"said"))
        await until(lambda: bool(service.messages), "what is said")
    assert [b"said"] == service.payloads(BIDS)


async def test_a_refused_client_is_forgotten(embedded: MqttSettings) -> None:
    """Nothing is kept of a client with a wrong password; amqtt would remember each of them for good."""
    account = raw.text(embedded.user or "") + raw.text("wrong")
    first = raw.packet(1, 0, raw.text("MQTT") + b"\4\xc2\0\0" + raw.text("raw") + account)
    with RawDevice(embedded, first) as stranger:
        assert b"\x20\2\0\5" == stranger.receive(4)
        assert stranger.is_ended()
    await until(lambda: "raw" not in remembered(), "the stranger is forgotten")


async def test_garbage_ends_only_its_own_connection(
    embedded: MqttSettings, subscribe: Subscribe, caplog: pytest.LogCaptureFixture
) -> None:
    """Thousands of random and half-right packets end their own connections only: others get every message meanwhile."""
    chance = random.Random(4)
    device = subscribe(embedded, "saleroom/status")
    for number in range(1000):
        with RawDevice(embedded, chance.choice([b"", raw.connect(f"fuzz{number}")])) as rude, suppress(ConnectionError):
            rude.send(*(raw.garbage(chance, BIDS) for _ in range(5)))
        if not number % 200:
            publish(embedded, "saleroom/status", f"{number}", as_service=True)
    await until(lambda: len(device.messages) >= 5, "every status")
    await until(lambda: not any(name.startswith("fuzz") for name in remembered()), "nobody is remembered")
    assert [b"0", b"200", b"400", b"600", b"800"] == device.payloads("saleroom/status")
    assert [] == [record for record in caplog.records if record.exc_info]


async def test_a_fault_in_amqtt_is_counted(
    embedded: MqttSettings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If amqtt fails at a packet the others are served; the fault is counted, without a traceback for each."""

    async def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(BrokerProtocolHandler, "handle_pingreq", fail)
    with RawDevice(embedded) as client, capture_logs() as logs:
        client.send(raw.packet(12, 0, b""), raw.packet(12, 0, b""), raw.subscribe("a"))
        assert raw.packet(9, 0, b"\0\1\0") == client.receive(5)
        client.send(raw.packet(14, 0, b""))
        await until(lambda: gc.collect() >= 0 and any("reasons" in entry for entry in logs), "the fault is told")
    assert {"ZeroDivisionError"} == {reason for entry in logs for reason in entry.get("reasons", ())}
    assert [] == [record for record in caplog.records if record.exc_info]


async def test_faults_of_clients_are_counted(embedded: MqttSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first fault is logged at once; more of them come together in a later line, with their number."""
    monkeypatch.setattr("saleroom.logs.TELL_SECONDS", 0.5)
    with capture_logs() as logs:
        for _ in range(3):
            with RawDevice(embedded) as rude:
                rude.send(b"\xf0\0")
                assert rude.is_ended()
        await until(lambda: 3 == sum(sum(entry.get("reasons", {}).values()) for entry in logs), "all are told")
    assert {"reasons": {"a packet that no client may send": 1}}.items() <= logs[0].items()
    assert {"a packet that no client may send"} == {reason for entry in logs for reason in entry["reasons"]}
