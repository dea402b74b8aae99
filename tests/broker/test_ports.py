"""The ports of the embedded broker, over TCP and WebSocket, and the errors for ports it cannot use."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from playwright.async_api import async_playwright
from structlog.testing import capture_logs
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_websocket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from saleroom import starting
from saleroom.broker import links
from saleroom.broker.embedded import BrokerAddress, EmbeddedBroker
from saleroom.mqtt.connection import connect
from saleroom.mqtt.topics import MqttSettings, Version
from saleroom.settings import load
from tests.broker import raw
from tests.broker.raw import CONNACK
from tests.fixtures_process import Start
from tests.mqtt.equipment import Subscriber, as_service, free_port, publish
from tests.needs import need
from tests.patience import SECONDS_MAX, until
from tests.process import saleroom

Subscribe = Callable[..., Subscriber]
BIDS = "saleroom/auctions/x/bids"
ALL_ADDRESSES = [("0.0.0.0", "mqtt://127.0.0.1"), ("::", "mqtt://[::1]")]  # noqa: S104  # that is the point


@pytest.fixture
def pages() -> Iterator[str]:
    """The origin of a server whose pages may connect to the broker."""
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def listening(pages: str) -> Iterator[BrokerAddress]:
    """An embedded broker with a listener for WebSocket."""
    broker = EmbeddedBroker("saleroom/", port=0, websocket_port=0, origins=[pages])
    yield broker.start()
    broker.stop()


def by_websocket(address: BrokerAddress, *protocols: str, origin: str | None = None) -> Any:
    """Open a WebSocket to the broker, with `mqtt` as the subprotocol if none is given."""
    names = [Subprotocol(name) for name in protocols or ("mqtt",)]
    url = f"ws://{address.host}:{address.websocket_port}/mqtt"
    headers = {} if origin is None else {"Origin": origin}
    return open_websocket(url, subprotocols=names, compression=None, additional_headers=headers)


async def is_ended(client: ClientConnection) -> bool:
    """Say whether the broker ends the connection without another word."""
    try:
        async with asyncio.timeout(SECONDS_MAX):
            await client.recv()
    except ConnectionClosed:
        return True
    return False


async def test_the_usual_port_is_replaced_by_a_free_one_where_it_is_taken() -> None:
    """The default port is used if it is free; if it is taken, another is used, and a warning names both."""
    port = free_port()
    first, second = (EmbeddedBroker("saleroom/", port=port, falls_back=True) for _ in range(2))
    with capture_logs() as logs:
        addresses = [first.start(), second.start()]
    assert port == addresses[0].port != addresses[1].port
    expected = {"taken": f"127.0.0.1:{port}", "listens_on": f"127.0.0.1:{addresses[1].port}", "log_level": "warning"}
    [warning] = logs
    assert expected.items() <= warning.items()
    assert "mqtt_port" in warning["event"]
    for address in addresses:
        async with connect(as_service(address)):
            pass
    first.stop()
    second.stop()


@pytest.mark.parametrize("setting", ["port", "websocket_port"])
def test_a_port_that_was_chosen_and_is_taken_is_refused(setting: str) -> None:
    """The error names address, port and the setting; the broker's other port is free again, and stopping does no harm."""
    other = free_port()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        ports = (port, other) if setting == "port" else (other, port)
        broker = EmbeddedBroker("saleroom/", "127.0.0.1", *ports)
        with pytest.raises(OSError, match=f"127.0.0.1 port {port}: .* in use; .* mqtt_{setting} "):
            broker.start()
        broker.stop()
    with socket.create_server(("127.0.0.1", other)):
        pass


def test_an_address_of_another_machine_is_refused() -> None:
    """An address that this machine does not have is named, even if the port would be replaced."""
    with pytest.raises(OSError, match=r"192\.0\.2\.1 port 1883: .*mqtt_host"):
        EmbeddedBroker("saleroom/", "192.0.2.1", falls_back=True).start()


@pytest.mark.parametrize(("host", "url"), ALL_ADDRESSES)
async def test_beyond_this_machine_it_warns_of_tokens_on_the_network(host: str, url: str) -> None:
    """A broker that other machines can reach says once that nothing is encrypted; the house still reaches it here."""
    broker = EmbeddedBroker("saleroom/", host, 0)
    with capture_logs() as logs:
        address = broker.start()
    [warning] = [entry for entry in logs if "mqtt_host" in entry]  # a house in a thread may log meanwhile
    assert (host, "warning") == (warning["mqtt_host"], warning["log_level"])
    assert "TLS" in warning["event"]
    assert address.url == f"{url}:{address.port}"
    async with connect(MqttSettings.from_url(address.url, user=address.user, password=address.password)):
        pass
    broker.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.3.2.1"])
def test_a_loopback_address_needs_no_warning(host: str) -> None:
    """A loopback address, by number or by name, needs no warning."""
    broker = EmbeddedBroker("saleroom/", host, 0, 0)
    with capture_logs() as logs:
        address = broker.start()
    broker.stop()
    shown = f"[{host}]" if ":" in host else host
    assert [] == logs
    assert f"mqtt://{shown}:{address.port}, ws://{shown}:{address.websocket_port}" == address.shown


def test_a_house_says_where_its_broker_listens(start: Start) -> None:
    """The lines at the start have the addresses for MQTT and for MQTT over WebSocket, with the ports in use."""
    port, websocket_port = free_port(), free_port()
    house = start(mqtt="embedded", mqtt_port=str(port), mqtt_websocket_port=str(websocket_port))
    assert (
        f"  mqtt      mqtt://127.0.0.1:{port}, ws://127.0.0.1:{websocket_port} (embedded)" in house.output.splitlines()
    )


def test_a_house_whose_chosen_port_is_taken_does_not_start(tmp_path: Path) -> None:
    """The start fails with one line that names the port and the setting; a house never serves on only one of its ports."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = saleroom(tmp_path, "serve", "--port", "0", mqtt="embedded", mqtt_port=str(port))
    [line] = refused.stderr.splitlines()
    assert (1, True, True) == (refused.returncode, f"127.0.0.1 port {port}" in line, "mqtt_port" in line)


async def test_a_proper_client_over_websocket(listening: BrokerAddress, subscribe: Subscribe) -> None:
    """paho over WebSocket reads what a device may read, bids, and has no more rights than over TCP."""
    settings = as_service(listening)
    service = subscribe(settings, BIDS, "saleroom/status", as_service=True)
    received: list[tuple[str, bytes]] = []
    subscribed = threading.Event()
    client = paho.Client(CallbackAPIVersion.VERSION2, "browser", transport="websockets")
    client.on_message = lambda _client, _data, message: received.append((message.topic, bytes(message.payload)))
    client.on_subscribe = lambda _client, _data, _number, _codes, _properties: subscribed.set()
    client.connect(listening.host, listening.websocket_port or 0)
    client.loop_start()
    try:
        client.subscribe("saleroom/#", 1)
        await until(subscribed.is_set, "the subscription")
        client.publish("saleroom/status", "evil", 1)
        client.publish(BIDS, "too long" * 1000, 1)
        client.publish(BIDS, "a bid", 1)
        await until(lambda: bool(service.messages), "the bid")
        publish(settings, "saleroom/auctions/x/state", "s" * 100_000, as_service=True)
        await until(lambda: bool(received), "the state")
    finally:
        client.disconnect()
        client.loop_stop()
    assert [(BIDS, b"a bid", False)] == service.messages
    assert [("saleroom/auctions/x/state", b"s" * 100_000)] == received


async def test_a_real_browser_speaks_mqtt(listening: BrokerAddress, pages: str) -> None:
    """A script in Chromium opens the WebSocket by the subprotocol `mqtt`, connects, and gets the retained messages."""
    program = need("chromium")
    publish(as_service(listening), "saleroom/status", "seen in a browser", "-r", as_service=True)
    script = """([url, bytes]) => new Promise((resolve, reject) => {
        const socket = new WebSocket(url, "mqtt"), received = [];
        socket.binaryType = "arraybuffer";
        socket.onopen = () => socket.send(new Uint8Array(bytes));
        socket.onerror = () => reject(new Error("no connection"));
        socket.onmessage = (message) => {
            received.push(...new Uint8Array(message.data));
            if (received.length >= 45) resolve([socket.protocol, ...received]);
        };
    })"""
    status = raw.publish("saleroom/status", b"seen in a browser")
    retained = bytes([status[0] | 1]) + status[1:]
    sent = list(raw.connect() + raw.subscribe("saleroom/status"))
    async with async_playwright() as playwright, asyncio.timeout(SECONDS_MAX):
        browser = await playwright.chromium.launch(executable_path=program, args=["--headless", "--no-sandbox"])
        page = await browser.new_page()
        await page.goto(f"{pages}/nothing")
        protocol, *received = await page.evaluate(script, [f"ws://127.0.0.1:{listening.websocket_port}/", sent])
        await browser.close()
    assert ("mqtt", CONNACK + raw.packet(9, 0, b"\0\1\0") + retained) == (protocol, bytes(received))


async def test_packets_are_cut_over_frames_as_the_client_likes(listening: BrokerAddress) -> None:
    """One frame may hold several packets, and a packet may come in several frames [MQTT-6.0.0-2]."""
    async with by_websocket(listening) as client:
        together = raw.connect() + raw.subscribe("saleroom/#")
        for piece in (together[:3], together[3:-4], together[-4:] + raw.packet(12, 0, b"")):
            await client.send(piece)
        answers = {await client.recv() for _ in range(3)}
    assert {CONNACK, raw.packet(9, 0, b"\0\1\0"), b"\xd0\0"} == answers


@pytest.mark.parametrize(
    ("origin", "taken"),
    [
        (None, True),
        ("https://bids.example", True),
        ("https://shop.example:8443", True),
        ("http://bids.example", False),
        ("https://bids.example.evil.example", False),
        ("https://evil.example", False),
        ("null", False),
        ("", False),
    ],
)
async def test_only_pages_of_the_house_connect_by_websocket(origin: str | None, taken: bool) -> None:
    """The house's own pages and those of cors_origins may connect, and programs, which send no Origin; other pages get 403."""
    names = {"PUBLIC_URL": "https://Bids.example:443/", "CORS_ORIGINS": "https://shop.example:8443"}
    settings = load({}, {f"SALEROOM_{name}": value for name, value in names.items()})
    broker = EmbeddedBroker("saleroom/", port=0, websocket_port=0, origins=starting.origins_of(settings))
    address = broker.start()
    try:
        if taken:
            async with by_websocket(address, origin=origin):
                return
        with pytest.raises(InvalidStatus) as refused:
            await by_websocket(address, origin=origin)
        assert 403 == refused.value.response.status_code
    finally:
        broker.stop()


def test_without_a_public_url_the_address_of_the_house_is_its_origin() -> None:
    """The pages of a house on one machine are reached by its address or as localhost."""
    expected = ("http://127.0.0.1:9000", "http://localhost:9000")
    for host in ("127.0.0.1", "0.0.0.0"):  # noqa: S104  # that is the point
        assert expected == starting.origins_of(load({"host": host}, {}))


async def test_a_websocket_that_speaks_no_mqtt_is_refused(
    listening: BrokerAddress, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the subprotocol `mqtt` there is no connection; text instead of bytes ends it; a plain GET gets instructions."""
    with raw.RawDevice(
        replace(as_service(listening), port=listening.websocket_port or 0), b"\0 no HTTP \r\n\r\n"
    ) as stranger:
        assert b"HTTP" in stranger.receive(4) or stranger.is_ended()
    with pytest.raises(InvalidStatus):
        await by_websocket(listening, "chat")
    with capture_logs() as logs:
        async with by_websocket(listening) as client:
            await client.send("text")
            assert await is_ended(client)
    assert [{"text where WebSocket frames must be binary": 1}] == [entry["reasons"] for entry in logs]
    reader, writer = await asyncio.open_connection(listening.host, listening.websocket_port)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"HTTP/1.1 426 Upgrade Required\r\n" == await reader.readline()
    writer.close()
    assert [] == [record.getMessage() for record in caplog.records if record.exc_info]


async def test_the_limits_hold_over_websocket(listening: BrokerAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over WebSocket too, a large packet, a large frame and a client that sends no CONNECT are cut off."""
    async with by_websocket(listening) as client:
        await client.send(raw.connect())
        assert CONNACK == await client.recv()
        await client.send(raw.packet(3, 0, raw.text(BIDS) + b"x" * 70_000))
        assert await is_ended(client)
    async with by_websocket(listening) as client:
        await client.send(b"\x10" * 200_000)
        assert await is_ended(client)
    monkeypatch.setattr(links, "CONNECT_SECONDS_MAX", 0.3)
    async with by_websocket(listening) as client:
        assert await is_ended(client)


async def test_a_websocket_that_does_not_read_is_cut_off(
    listening: BrokerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client over WebSocket whose buffers stay full loses its connection; the others get everything."""
    monkeypatch.setattr(links, "STALL_SECONDS_MAX", 0.5)
    reader, writer = await asyncio.open_connection(listening.host, listening.websocket_port, limit=1024)
    key = (
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mqtt\r\n"
    )
    writer.write(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" + key + b"\r\n")
    await reader.readuntil(b"\r\n\r\n")
    for packet in (raw.connect(), raw.subscribe("saleroom/#")):
        writer.write(bytes([0x82, 0x80 | len(packet)]) + b"\0\0\0\0" + packet)
    with capture_logs() as logs:
        async with connect(replace(as_service(listening), version=Version.V311)) as service:
            for _ in range(40):
                await service.publish("saleroom/auctions/x/state", b"x" * 500_000, 1)
            await until(lambda: any("reasons" in entry for entry in logs), "it is cut off")
    assert [{"does not read what it asked for": 1}] == [entry["reasons"] for entry in logs]
    writer.close()


async def test_stopping_ends_connections_of_which_nothing_is_known() -> None:
    """When the broker stops, even a client that has sent no CONNECT sees the end of its connection."""
    broker = EmbeddedBroker("saleroom/", port=0)
    with raw.RawDevice(as_service(broker.start()), b"") as idle:
        await until(lambda: bool(broker._links), "the connection is accepted")
        broker.stop()
        assert idle.is_ended()


async def test_stopping_ends_websockets() -> None:
    """When the broker stops, its WebSocket clients are told so, and the port is free again."""
    broker = EmbeddedBroker("saleroom/", port=0, websocket_port=free_port())
    address = broker.start()
    async with by_websocket(address) as client:
        await client.send(raw.connect())
        assert CONNACK == await client.recv()
        stopping = asyncio.create_task(asyncio.to_thread(broker.stop))
        assert await is_ended(client)
        await stopping
    with socket.create_server(("127.0.0.1", address.websocket_port or 0)):
        pass
