"""The bench's clients of streams and of MQTT, against real servers. No figure of theirs is asserted here."""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench import BenchError, data, devices, outage
from bench.devices import Bid, HttpDevice, MqttDevice
from bench.servers import Uvicorn
from bench.streams import Publisher, frame
from bench.subscribers import Subscribers
from saleroom.storage.database import Database
from tests.mqtt.equipment import Mosquitto, Sales, Subscriber, publish
from tests.patience import until

GID = "k3X9mQ2vTa1_"
BID = Bid("Ij9pUEcdhAXWkQ==", "12.500", "run-1")


def test_subscribers_have_what_the_fan_out_sends(tmp_path: Path) -> None:
    """Each live subscriber has each event at its own time; one that the server drops is counted as cut off."""
    with Uvicorn(tmp_path, "bench.fanout:app", UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN="1") as fanout:
        publisher = closing(Publisher(fanout.url, "/", lambda amount: (frame(GID, amount), {})))
        with publisher as publishing, Subscribers(fanout.url, "/", 3, stalled=2) as subscribers:
            for amount in (12_500, 12_501):
                times = publishing.tell(subscribers, amount)
                assert (3, times) == (len(times), sorted(times))
            assert (3, 0) == (len(subscribers), subscribers.cut)
            fanout.kill()
            subscribers.read_for(0.5)
            assert (0, 3) == (len(subscribers), subscribers.cut)


def test_a_subscriber_that_is_refused_is_no_subscriber(tmp_path: Path) -> None:
    """If the server answers anything but 200 the bench says so."""
    with Uvicorn(tmp_path, "bench.echo:app") as echo, pytest.raises(BenchError, match="a subscriber is refused"):
        Subscribers(echo.url, "/", 1)


async def test_a_device_bids_over_http(tmp_path: Path) -> None:
    """A device's bid over HTTP is a request that the echo reads, again and again on one connection."""
    with Uvicorn(tmp_path, "bench.echo:app") as echo:
        address = urlsplit(echo.url)
        _, device = await asyncio.get_running_loop().create_connection(
            lambda: HttpDevice(address.netloc, GID), address.hostname or "", address.port or 80
        )
        assert [201, 201] == [await device.bid(BID), await device.bid(BID)]
        times, statuses = await devices.converse([device], devices.rising(["a", "b"], 1000, "run"), 0.2)
        assert len(times) == statuses[201] == statuses.total() > 0
        device.close()


async def test_an_answer_in_pieces_is_one() -> None:
    """Each answer over HTTP counts once it is complete, and with its own status."""
    pieces = [
        b"HTTP/1.1 409 Conflict\r\nContent-",
        b"Length: 2\r\n\r\n{",
        b"}",
        b"HTTP/1.1 201 Created\r\n",
        b"content-length: 0\r\n\r\n",
    ]

    ended = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            if piece.startswith(b"HTTP"):
                await reader.readuntil(b'"}')
            writer.write(piece)
            await asyncio.sleep(0.01)
        writer.close()
        await writer.wait_closed()
        ended.set()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        _, device = await asyncio.get_running_loop().create_connection(lambda: HttpDevice("bench", GID), host, port)
        assert [409, 201] == [await device.bid(BID), await device.bid(BID)]
        await ended.wait()
        device.close()


async def test_a_device_bids_over_mqtt(mosquitto: Mosquitto, subscribe: Callable[..., Subscriber]) -> None:
    """A device's bid reaches a subscriber by a real broker, and it takes only the answer to its id."""
    heard = subscribe(mosquitto.settings, "#")
    _, device = await asyncio.get_running_loop().create_connection(
        lambda: MqttDevice("saleroom/", GID, "device-0"), mosquitto.settings.host, mosquitto.settings.port
    )
    await device.begin()
    for number, status in enumerate((201, 409), 1):
        asked = asyncio.create_task(device.bid(BID))
        topic = f"saleroom/auctions/{GID}/bids"
        await until(lambda count=number, topic=topic: count == len(heard.payloads(topic)), "the bid is there")  # type: ignore[misc]  # it cannot see the defaults
        command = json.loads(heard.payloads(topic)[-1])
        assert {"token": BID.token, "id": "device-0/run-1", "amount": "12.500"} == command
        for name, said in (("other/run-1", 500), (command["id"], status)):
            long = "x" * 500  # a length of two bytes
            publish(mosquitto.settings, f"saleroom/replies/{name}", json.dumps({"status": said, "message": long}))
        assert status == await asked
    device.close()


async def test_owed_events_are_known_by_their_ids(database: Database, database_url: str, tmp_path: Path) -> None:
    """The bench knows the owed events, and those that have come so far, each once."""
    sales = Sales(database)
    gid = await sales.sell()
    await sales.bid(gid)
    file = tmp_path / "arrived.txt"
    payloads = await sales.payloads(gid)
    file.write_bytes(b"\n".join([payloads[0], *payloads, payloads[0][:9]]))
    owed = await asyncio.to_thread(data.on, database_url, outage._owed)
    assert {f"{gid}/1", f"{gid}/2"} == owed == outage._until_there(file, owed)


def test_bids_rise_and_come_from_another_bidder_each_time() -> None:
    """Of two successive bids the second is a thousandth higher, of the next person, and has a new id."""
    bids = devices.rising(["a", "b"], 9_999, "run")
    assert [Bid("a", "10.000", "run-1"), Bid("b", "10.001", "run-2"), Bid("a", "10.002", "run-3")] == [
        next(bids) for _ in range(3)
    ]
