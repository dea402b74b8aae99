"""The AsyncAPI document is valid and served, and names the servers, topics and streams of its house."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft7Validator

from saleroom.areas import AREAS
from saleroom.mqtt import asyncapi
from saleroom.mqtt.topics import MqttSettings
from tests.fixtures_house import House

HOUSE = "http://127.0.0.1:9000"
DECLARED = tuple(declare for area in AREAS for declare in area.messages)


def document(prefix: str = "saleroom/", **where: Any) -> Any:
    """Return the document of a house at `HOUSE`, with an external broker unless `where` says otherwise."""
    places = {"house": HOUSE, "broker": MqttSettings("broker.example", 1883), **where}
    return msgspec.json.decode(asyncapi.document(prefix, asyncapi.Brokers(**places), DECLARED))


DOCUMENT: dict[str, Any] = document()
CHANNELS: dict[str, Any] = DOCUMENT["channels"]


def references(value: Any) -> Iterator[str]:
    """Yield every reference in `value`, however deep."""
    if isinstance(value, Mapping):
        yield from [value["$ref"]] if "$ref" in value else []
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from references(one)


def found(reference: str) -> Any:
    """Return the target of a reference. Raises KeyError if there is none."""
    value: Any = DOCUMENT
    for step in reference.removeprefix("#/").split("/"):
        value = value[step]
    return value


def on(server: str) -> list[dict[str, Any]]:
    """Return the channels on a server."""
    return [channel for channel in CHANNELS.values() if {"$ref": f"#/servers/{server}"} in channel["servers"]]


def test_the_document_is_valid() -> None:
    """The published schema of AsyncAPI 3.0.0 accepts the document, and refuses one with a fault."""
    schema = msgspec.json.decode((Path(__file__).parent / "asyncapi" / "3.0.0.json").read_bytes())
    validator = Draft7Validator(schema)
    assert [] == [f"{error.json_path}: {error.message}" for error in validator.iter_errors(DOCUMENT)]
    for broken in ({"action": "sent"}, {"bindings": {"mqtt": {"qos": 3}}}):
        operations = DOCUMENT["operations"] | {"sendState": DOCUMENT["operations"]["sendState"] | broken}
        assert not validator.is_valid(DOCUMENT | {"operations": operations}), broken


def test_every_reference_leads_somewhere() -> None:
    """Every reference leads somewhere, and every operation's message is one of its channel."""
    for reference in references(DOCUMENT):
        assert found(reference), reference
    for operation in DOCUMENT["operations"].values():
        for each in (operation, operation.get("reply", operation)):
            where = each["channel"]["$ref"]
            assert [] == [one["$ref"] for one in each["messages"] if not one["$ref"].startswith(f"{where}/messages/")]


def test_the_document_is_served(sqlite_house: House) -> None:
    """GET /asyncapi.json is the document of this house, which has no broker."""
    assert document(broker=None) == sqlite_house.stranger.json("GET", "/asyncapi.json")


def test_the_prefix_is_the_houses_own() -> None:
    """A configured prefix of the topics is in the document, also in the Last Will."""
    doc = document("club/sale/")
    assert "club/sale" == doc["channels"]["state"]["parameters"]["prefix"]["default"]
    assert "club/sale/status" == doc["servers"]["broker"]["bindings"]["mqtt"]["lastWill"]["topic"]


@pytest.mark.parametrize(
    ("where", "servers"),
    [
        (
            {"broker": MqttSettings("127.0.0.1", 40123), "embedded": True, "websocket_port": 40124},
            {"embedded": ("mqtt", "127.0.0.1:40123"), "embeddedWebSocket": ("ws", "127.0.0.1:40124")},
        ),
        ({"broker": MqttSettings("::1", 1883), "embedded": True}, {"embedded": ("mqtt", "[::1]:1883")}),
        (
            {"broker": MqttSettings("broker.example", 8883, user="ada", password="secret", tls=True)},
            {"broker": ("secure-mqtt", "broker.example:8883")},
        ),
        ({"broker": None}, {}),
        ({"house": "https://bids.example/sale"}, {"broker": ("mqtt", "broker.example:1883")}),
    ],
    ids=["embedded", "IPv6", "over TLS", "off", "public"],
)
def test_servers_are_where_the_broker_is(where: dict[str, Any], servers: dict[str, tuple[str, str]]) -> None:
    """The document names the configured broker on each of its ports, and no other; its account stays secret."""
    doc = document(**where)
    house = {"https://bids.example/sale": ("https", "bids.example")}.get(where.get("house", ""), ("http", HOUSE[7:]))
    found = {name: (server["protocol"], server["host"]) for name, server in doc["servers"].items()}
    assert {**servers, "house": house} == found
    assert "secret" not in str(doc) and "ada@" not in str(doc)
    used = {one["$ref"].rpartition("/")[2] for channel in doc["channels"].values() for one in channel["servers"]}
    assert found.keys() == used


def test_a_house_without_a_broker_has_its_streams_alone() -> None:
    """With MQTT off the document has no topics, commands or replies, and says why."""
    doc = document(broker=None)
    assert {"auctionStream", "houseStream", "saleStream"} == doc["channels"].keys()
    assert {"followAuction", "followHouse", "followSale"} == doc["operations"].keys()
    assert {"command", "accepted", "refused", "state", "saleState", "status"}.isdisjoint(doc["components"]["messages"])
    assert "`off`" in doc["info"]["description"]


def test_parameters_are_those_of_the_address() -> None:
    """Each channel explains the parameters in its address, and no others."""
    for name, channel in CHANNELS.items():
        assert set(re.findall(r"\{(\w+)\}", channel.get("address", ""))) == channel.get("parameters", {}).keys(), name
