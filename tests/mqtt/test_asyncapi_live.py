"""The AsyncAPI document against a running house: each message is in its channel and of its form."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import msgspec

from tests.bidding.api.test_asyncapi import faults
from tests.fixtures_process import Start, Visit
from tests.mqtt.equipment import Mosquitto, Subscriber, publish
from tests.mqtt.test_asyncapi import CHANNELS
from tests.process import wait_until

PREFIX = "club/sale"


def channels_of(topic: str) -> list[str]:
    """Return the channels whose address matches a topic or a path."""
    found = []
    for name, channel in CHANNELS.items():
        pattern = re.escape(channel.get("address", "")).replace(r"\{prefix\}", PREFIX)
        if re.fullmatch(pattern.replace(r"\{gid\}", "[^/]+").replace(r"\{id\}", ".+"), topic):
            found.append(name)
    return found


def kinds_of(channel: str, payload: Any) -> list[str]:
    """Return those messages of a channel whose schema a payload fits."""
    return [name for name in CHANNELS[channel]["messages"] if name != "follow" and not faults(name, payload)]


def test_every_message_fits_the_document(
    mosquitto: Mosquitto, subscribe: Callable[..., Subscriber], start: Start, visit: Visit
) -> None:
    """In a sale with bids over both ways, every message on the broker and in the stream fits one message of one channel."""
    heard = subscribe(mosquitto.settings, f"{PREFIX}/#")
    house = start(mqtt=mosquitto.settings.url, mqtt_prefix=f"{PREFIX}/")
    anyone = visit(house)
    wait_until(lambda: anyone.get("/readyz")["mqtt"] == "connected")
    ada, ben = anyone.enter("ada"), anyone.enter("ben")
    gid = anyone.sell(ada, startingPrice="100", reservePrice="150")
    anyone.post(f"/auctions/{gid}/bids", ben, {"maximum": "120"})
    commands = [
        {"token": ben, "id": "paddle/taken", "maximum": "200"},
        {"token": ben, "id": "paddle/leads", "amount": "300"},
        {"token": ada, "id": "paddle/own", "amount": "300"},
        {"token": "nobody's", "id": "paddle/who", "amount": "300"},
        {"token": ben, "id": "paddle/faults", "amount": "1.2345", "more": 1},
    ]
    for command in commands:
        publish(mosquitto.settings, f"{PREFIX}/auctions/{gid}/bids", msgspec.json.encode(command).decode())
    wait_until(lambda: sum("/replies/" in message.topic for message in heard.messages) >= len(commands))
    anyone.post(f"/auctions/{gid}/close", ada)
    stream = httpx.get(f"{house.url}/auctions/{gid}/events?after=0").text
    with httpx.stream("GET", f"{house.url}/events") as begun:
        first = next(line for line in begun.iter_lines() if line.startswith("data: ")).removeprefix("data: ")
    assert 0 == house.terminate(), house.told()
    wait_until(lambda: b'{"status":"offline"}' in heard.payloads(f"{PREFIX}/status"))

    seen = set()
    for message in heard.messages:
        [channel] = channels_of(message.topic)
        payload = msgspec.json.decode(message.payload)
        kinds = kinds_of(channel, payload)
        assert (0 if payload.get("id") == "paddle/faults" else 1) == len(kinds), message
        seen |= {(channel, kind) for kind in kinds}
    events = {"auction.created", "bid.placed", "reserve.met", "auction.closed"}
    expected = {("events", kind) for kind in events} | {("replies", "accepted"), ("replies", "refused")}
    assert expected | {("state", "state"), ("status", "status"), ("bids", "command")} <= seen
    sent = [msgspec.json.decode(data) for data in re.findall(r"^data: (.*)$", stream, re.MULTILINE)]
    assert events == {kind for event in sent for kind in kinds_of("auctionStream", event)}
    assert ["stream.started"] == kinds_of("houseStream", msgspec.json.decode(first))
    assert ["auctionStream"] == channels_of(f"/auctions/{gid}/events")


def test_the_servers_are_those_that_the_house_uses(database_url: str, database_kind: str, start: Start) -> None:
    """Each process names the actual ports of the embedded broker and of the house."""
    processes = 2 if database_kind == "postgresql" else 1
    settings = {"mqtt": "embedded", "mqtt_port": "0", "mqtt_websocket_port": "0"}
    settings |= {"workers": str(processes), "database": database_url}
    house = start(**settings)
    ports = re.findall(r"(?:mqtt|ws)://127\.0\.0\.1:([0-9]+)", house.output)
    expected = {
        "embedded": ("mqtt", f"127.0.0.1:{ports[0]}"),
        "embeddedWebSocket": ("ws", f"127.0.0.1:{ports[1]}"),
        "house": ("http", house.url.removeprefix("http://")),
    }
    for _ in range(6 * processes):
        servers = httpx.get(f"{house.url}/asyncapi.json").json()["servers"]
        assert expected == {name: (one["protocol"], one["host"]) for name, one in servers.items()}
