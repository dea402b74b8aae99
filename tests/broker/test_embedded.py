"""The embedded broker: which messages it takes from which clients, and what it refuses."""

import asyncio
import gc
import itertools
import math
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import aiomqtt
import pytest
from amqtt.mqtt.protocol import handler as amqtt_handler
from structlog.testing import capture_logs

from saleroom.broker import embedded as broker_module
from saleroom.broker import links
from saleroom.broker.embedded import EmbeddedBroker
from saleroom.mqtt.connection import connect, online
from saleroom.mqtt.topics import ONLINE, MqttSettings
from tests.broker.raw import CONNACK
from tests.mqtt.equipment import Subscriber, as_service, free_port, publish
from tests.patience import SECONDS_MAX, until

Subscribe = Callable[..., Subscriber]
AMQTT_ACKNOWLEDGE_SECONDS = 5
CONNECT = b"\x10\x10\x00\x04MQTT\x04\x02\x00\x00\x00\x04mute"


async def test_a_device_may_only_publish_bids(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A device's message reaches the service on `auctions/{gid}/bids` only; on other topics it is dropped."""
    service = subscribe(embedded, as_service=True)
    refused = ["status", "auctions/x/state", "auctions/x/events", "auctions/x/y/bids", "auctions//bids", "replies/1"]
    for topic in [*(f"saleroom/{name}" for name in refused), "elsewhere", "auctions/x/bids"]:
        assert 0 == publish(embedded, topic, "evil", "-r").returncode
    assert 0 == publish(embedded, "saleroom/auctions/x/bids", "a bid").returncode
    assert 0 == publish(embedded, "saleroom/status", "a word of the service", as_service=True).returncode
    await until(lambda: len(service.messages) >= 2, "the bid and the status")
    expected = [("saleroom/auctions/x/bids", b"a bid", False), ("saleroom/status", b"a word of the service", False)]
    assert expected == service.messages


async def test_a_device_reads_all_but_other_peoples_bids(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A bid command carries a token, so only the service gets it; every device gets the service's messages."""
    device = subscribe(embedded, "#", "saleroom/auctions/+/bids")
    publish(embedded, "saleroom/auctions/x/bids", "a token")
    publish(embedded, "elsewhere", "not ours", as_service=True)
    publish(embedded, "saleroom/auctions/x/events", "an event", as_service=True)
    await until(lambda: len(device.messages) >= 1, "the event")
    assert [("saleroom/auctions/x/events", b"an event", False)] == device.messages


async def test_only_the_exact_topic_of_an_answer_gets_it(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A subscriber to the exact topic of an answer gets it; no wildcard shows it, and no device can send one."""
    asking = subscribe(embedded, "saleroom/replies/7f3a/1")
    others = [subscribe(embedded, *filters) for filters in (["#"], ["saleroom/replies/+/1", "saleroom/replies/7f3a/#"])]
    publish(embedded, "saleroom/replies/7f3a/1", "forged")
    publish(embedded, "saleroom/replies/7f3a/1", "an answer", "-r", as_service=True)
    publish(embedded, "saleroom/status", "the end", as_service=True)
    late = subscribe(embedded, "saleroom/#")
    publish(embedded, "saleroom/replies/7f3a/2", "not asked for", as_service=True)
    publish(embedded, "saleroom/status", "the end", as_service=True)
    watching = subscribe(embedded, "saleroom/replies/7f3a/+", "saleroom/status", as_service=True)
    publish(embedded, "saleroom/replies/7f3a/1", "another answer", as_service=True)
    publish(embedded, "saleroom/status", "the end", as_service=True)
    await until(lambda: all(each.messages for each in (others[0], late, watching)), "the status")
    await until(lambda: len(asking.messages) >= 2, "both answers")
    assert [b"an answer", b"another answer"] == [message.payload for message in asking.messages]
    assert {b"the end"} == {message.payload for each in (*others, late, watching) for message in each.messages}


async def test_a_bid_is_never_retained(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A bid that a device asks to retain is passed on once, and not given to later subscribers."""
    early = subscribe(embedded, as_service=True)
    publish(embedded, "saleroom/auctions/x/bids", "once", "-r")
    await until(lambda: len(early.messages) >= 1, "the bid")
    publish(embedded, "saleroom/auctions/x/state", "kept", "-r", as_service=True)
    late = subscribe(embedded, as_service=True)
    await until(lambda: len(late.messages) >= 1, "the state")
    assert [("saleroom/auctions/x/state", b"kept", True)] == late.messages


async def test_a_device_has_no_last_will_where_it_may_not_publish(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """The Last Will of a dead device is published where the device may publish, and not retained; elsewhere it is dropped."""
    service = subscribe(embedded, as_service=True)
    for topic in (b"saleroom/status", b"saleroom/auctions/x/state", b"saleroom/auctions/x/bids"):
        fields = (b"dying", topic, b"a will")
        body = b"\x00\x04MQTT\x04\x2e\x00\x00" + b"".join(len(text).to_bytes(2, "big") + text for text in fields)
        with socket.create_connection((embedded.host, embedded.port), timeout=SECONDS_MAX) as device:
            device.sendall(bytes((0x10, len(body))) + body)
            assert b"\x20\x02\x00\x00" == device.recv(4)
    await until(lambda: len(service.messages) >= 1, "the will on the bids")
    late = subscribe(embedded, as_service=True)
    publish(embedded, "saleroom/status", "after", as_service=True)
    await until(lambda: len(service.messages) >= 2 and bool(late.messages), "the status")
    assert [("saleroom/auctions/x/bids", b"a will", False), ("saleroom/status", b"after", False)] == service.messages
    assert [("saleroom/status", b"after", False)] == late.messages


async def test_the_services_name_with_a_wrong_password_is_refused(embedded: MqttSettings) -> None:
    """The password is checked for the service's name only; the name alone is not enough."""
    answer = publish(replace(embedded, password="wrong"), "saleroom/status", "evil", as_service=True)
    assert [5, True] == [answer.returncode, "not authorised" in answer.stderr]
    stranger = replace(embedded, user="ada", password="secret")
    assert 0 == publish(stranger, "saleroom/auctions/x/bids", "a bid", as_service=True).returncode


@pytest.mark.parametrize("client_id", ["#", "+", "$SYS/x", "a/b", "saleroom", "\N{SNOWMAN}", "x" * 500])
async def test_odd_client_ids_do_no_harm(embedded: MqttSettings, subscribe: Subscribe, client_id: str) -> None:
    """A client with any name can do what every device can, and the rest go on as before."""
    service = subscribe(embedded, "#", "$SYS/#", as_service=True)
    assert 0 == publish(embedded, "saleroom/auctions/x/bids", "a bid", "-i", client_id).returncode
    publish(embedded, "$SYS/x", "evil", "-i", client_id)
    publish(embedded, "saleroom/status", "evil", "-i", client_id)
    publish(embedded, "saleroom/auctions/x/bids", "another", "-i", client_id)
    await until(lambda: len(service.messages) >= 2, "both bids")
    assert [b"a bid", b"another"] == [message.payload for message in service.messages]


async def test_a_newcomer_gets_only_what_it_subscribed_to(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A client is not sent the retained messages of other clients' filters (amqtt 0.12 sends them)."""
    publish(embedded, "saleroom/auctions/x/state", "kept", "-r", as_service=True)
    subscribe(embedded, "saleroom/#")
    newcomer = subscribe(embedded, "saleroom/auctions/y/state")
    publish(embedded, "saleroom/auctions/y/state", "new", as_service=True)
    await until(lambda: len(newcomer.messages) >= 1, "the new state")
    assert [b"new"] == [message.payload for message in newcomer.messages]


async def test_subscribing_while_messages_pass_loses_none(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """Clients come on new filters while messages pass; the steady subscribers miss none (amqtt 0.12 loses some)."""
    topic = embedded.events_topic("x")
    steady = [subscribe(embedded, "saleroom/#"), subscribe(embedded, "saleroom/auctions/#")]
    async with connect(embedded) as service, aiomqtt.Client(embedded.host, embedded.port) as guest:
        all_sent = asyncio.Event()

        async def come() -> None:
            numbers = itertools.count()
            while not all_sent.is_set():  # aiomqtt might lose a cancellation while it waits
                await guest.subscribe(f"saleroom/auctions/{next(numbers)}/#", 1)

        visits = asyncio.create_task(come())
        service.pending_calls_threshold = 10**6
        await asyncio.gather(*(service.publish(topic, b"%d" % n, 1, timeout=math.inf) for n in range(500)))
        all_sent.set()
        await visits
        await until(lambda: all(len(subscriber.payloads(topic)) >= 500 for subscriber in steady), "all messages")
    for subscriber in steady:
        assert [b"%d" % n for n in range(500)] == subscriber.payloads(topic)


async def test_a_packet_over_the_limit_ends_the_connection(embedded: MqttSettings, subscribe: Subscribe) -> None:
    """A client that announces a huge packet is cut off before it is read, and the others are served."""
    with socket.create_connection((embedded.host, embedded.port), timeout=SECONDS_MAX) as rude:
        rude.sendall(CONNECT)
        assert b"\x20\x02\x00\x00" == rude.recv(4)
        rude.sendall(b"\x30\xff\xff\xff\x7f\x00\x18saleroom/auctions/x/bids" + b"z" * 1000)
        assert b"" == rude.recv(1)
    device = subscribe(embedded)
    publish(embedded, "saleroom/status", "fine", as_service=True)
    await until(lambda: len(device.messages) >= 1, "the status")


@pytest.mark.parametrize(
    "junk", [b"", b"\x10\x00", b"GET / HTTP/1.1\r\n\r\n", b"\x10\xff\xff\xff\xff\x7f", CONNECT * 2]
)
async def test_junk_does_no_harm(embedded: MqttSettings, junk: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Bytes that are not MQTT end their own connection at most; no traceback is logged and the others are served."""
    with socket.create_connection((embedded.host, embedded.port)) as stranger:
        stranger.sendall(junk)
    assert 0 == publish(embedded, "saleroom/auctions/x/bids", "a bid").returncode
    assert [] == [record for record in caplog.records if record.exc_info]


async def test_mqtt_5_is_refused_by_its_number(embedded: MqttSettings, caplog: pytest.LogCaptureFixture) -> None:
    """A client that speaks MQTT 5 is told that this version is not spoken here, so that it can try 3.1.1."""
    with socket.create_connection((embedded.host, embedded.port), timeout=SECONDS_MAX) as modern:
        modern.sendall(b"\x10\x11\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x04mute")
        assert b"\x20\x02\x00\x01" == modern.recv(4)
    assert [] == [record for record in caplog.records if record.exc_info]


async def test_a_subscriber_that_does_not_read_is_cut_off(
    embedded: MqttSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client whose buffers stay full loses its connection instead of filling the broker's memory."""
    monkeypatch.setattr(links, "STALL_SECONDS_MAX", 0.5)
    with socket.create_connection((embedded.host, embedded.port), timeout=SECONDS_MAX) as lazy:
        lazy.sendall(CONNECT + b"\x82\x0f\x00\x01\x00\x0asaleroom/#\x00")
        with capture_logs() as logs:
            async with connect(embedded) as service:
                for _ in range(40):
                    await service.publish("saleroom/auctions/x/state", b"x" * 500_000, 1)
                await until(lambda: any("reasons" in entry for entry in logs), "it is cut off")
        read = 0
        try:
            while data := await asyncio.to_thread(lazy.recv, 1 << 20):
                read += len(data)
        except ConnectionResetError:
            pass
        assert read < 40 * 500_000


async def test_stopping_waits_for_no_client_and_frees_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """With clients connected, one of them frozen, the broker stops by itself, before its limit, and the port is free again."""
    port = free_port()
    broker = EmbeddedBroker("saleroom/", port=port)
    address = broker.start()
    frozen = Subscriber(as_service(address))
    frozen.freeze()
    monkeypatch.setattr(broker_module, "STOP_SECONDS_MAX", SECONDS_MAX)
    broker.stop()
    assert not broker._thread.is_alive()
    again = EmbeddedBroker("saleroom/", port=port)
    assert port == again.start().port
    again.stop()
    frozen.close()


async def test_stopping_closes_connections_that_do_not_read() -> None:
    """A broker that stops leaves no connection open, not even one that has yet to take what was sent."""
    broker = EmbeddedBroker("saleroom/", port=free_port())
    settings = as_service(broker.start())
    with socket.create_connection((settings.host, settings.port), timeout=SECONDS_MAX) as lazy:
        lazy.sendall(CONNECT + b"\x82\x0f\x00\x01\x00\x0asaleroom/#\x00")
        assert CONNACK == await asyncio.to_thread(lazy.recv, len(CONNACK))
        async with connect(settings) as service:
            for _ in range(40):
                await service.publish("saleroom/auctions/x/state", b"x" * 500_000, 1)
            held = set(broker._links)  # a link that nobody holds may be closed by chance
            await until(lambda: any(link._transport().get_write_buffer_size() for link in held), "it is full")
        await asyncio.to_thread(broker.stop)
        with suppress(ConnectionResetError):
            while await asyncio.to_thread(lazy.recv, 1 << 20):
                pass


async def test_stopping_closes_connections_that_were_just_accepted(recwarn: pytest.WarningsRecorder) -> None:
    """Many connections that come right before the end are closed with the others: no socket is left open."""
    for _ in range(20):
        broker = EmbeddedBroker("saleroom/", port=0)
        address = broker.start()
        clients = [socket.create_connection((address.host, address.port)) for _ in range(90)]
        broker.stop()
        for client in clients:
            client.close()
    gc.collect()
    assert [] == [str(warning.message) for warning in recwarn if warning.category is ResourceWarning]


async def test_a_prefix_of_ones_own(subscribe: Subscribe) -> None:
    """The rights follow the prefix, even one with characters that are special in a pattern."""
    broker = EmbeddedBroker("a.b/(c)/", port=free_port())
    settings = as_service(broker.start(), "a.b/(c)/")
    service = subscribe(settings, as_service=True)
    publish(settings, "aXb/(c)/auctions/x/bids", "evil")
    publish(settings, "a.b/(c)/auctions/x/bids", "a bid")
    async with connect(settings) as connection, online(connection, settings):
        await until(lambda: len(service.messages) >= 2, "the bid and the status")
    assert [b"a bid", ONLINE] == [message.payload for message in service.messages][:2]
    broker.stop()


async def test_a_client_that_acknowledges_nothing_does_not_fill_the_log(
    embedded: MqttSettings, subscribe: Subscribe, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages that a frozen client does not acknowledge in amqtt's time leave no line each, no traceback."""
    late: list[TimeoutError] = []

    async def wait_for(awaited: Awaitable[Any], timeout: float | None) -> Any:  # as in asyncio
        try:
            return await asyncio.wait_for(awaited, 0.05 if timeout == AMQTT_ACKNOWLEDGE_SECONDS else timeout)
        except TimeoutError as error:
            late.append(error)
            raise

    monkeypatch.setattr(amqtt_handler, "asyncio", SimpleNamespace(**vars(asyncio) | {"wait_for": wait_for}))
    subscribe(embedded).freeze()
    for number in range(1, 5):
        publish(embedded, "saleroom/status", "unheard", as_service=True)
        await until(lambda: len(late) >= number, "amqtt waits no longer")  # noqa: B023  # called within its round
    assert [] == [record.getMessage() for record in caplog.records]
