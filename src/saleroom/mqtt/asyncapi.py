"""The AsyncAPI 3.0 document of a house: its servers, and the messages that its areas declare, from the side of the house."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from saleroom import __version__
from saleroom.http.schemas import CONTACT, Schema
from saleroom.kernel.server_urls import authority
from saleroom.mqtt.topics import KEEPALIVE_SECONDS, OFFLINE, ONLINE, QOS_AT_LEAST_ONCE, MqttSettings

JSON = "application/json"
TOPICS = MqttSettings("", 0, prefix="{prefix}/")
"""The topics as the document names them."""
HTTP = {"bindingVersion": "0.3.0"}
_MQTT = {"bindingVersion": "0.2.0"}
_ABOUT = "The requests and answers of HTTP are described at `/openapi.json`.\n"
_NO_BROKER = "This house has no MQTT broker: its setting `mqtt` is `off`.\n"


class Brokers(Struct, frozen=True, kw_only=True):
    """The addresses of a house and of its MQTT broker. `broker` is None for a house without one.

    `embedded` says that the broker is the house's own; `websocket_port` is its port for MQTT over WebSocket.
    """

    house: str
    broker: MqttSettings | None
    embedded: bool = False
    websocket_port: int | None = None


class Channel(Struct, frozen=True, kw_only=True):
    """A topic, or a stream over HTTP: its address, the names of its messages, and the parameters in the address."""

    address: str | None
    about: str
    messages: tuple[str, ...]
    parameters: Mapping[str, Any] = {}


class AreaMessages(Struct, frozen=True, kw_only=True):
    """What one area sends and takes in besides the requests and answers of HTTP.

    `topics` and `streams` are channels by name, `on_topics` and `on_streams` the operations on them. `schemas` are those
    that `messages` may refer to. `about` introduces the document, `tag` its subject.
    """

    about: str
    tag: Mapping[str, str]
    topics: Mapping[str, Channel]
    on_topics: Mapping[str, Any]
    streams: Mapping[str, Channel]
    on_streams: Mapping[str, Any]
    messages: Mapping[str, Any]
    schemas: Mapping[str, Schema]


Declare = Callable[[], AreaMessages]


def document(prefix: str, where: Brokers, areas: Sequence[Declare]) -> bytes:
    """Return the document as JSON for a house whose MQTT topics begin with `prefix`, which ends with a slash."""
    declared = [area() for area in areas]
    servers = _servers(prefix, where)
    brokers = [name for name in servers if name != "house"]
    channels: dict[str, Any] = {}
    operations: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    known: dict[str, Schema] = {}
    for area in declared:
        messages |= area.messages
        known = {**area.schemas, **known}
        operations |= area.on_streams
        channels |= {name: _channel(one, prefix, ["house"]) for name, one in area.streams.items()}
    if brokers:
        messages["status"] = _status()
        about = "The house says that it is connected."
        operations["sendStatus"] = operation("send", "status", ("status",), about, {"retain": True})
        channels["status"] = _channel(_STATUS, prefix, brokers)
        for area in declared:
            operations |= area.on_topics
            channels |= {name: _channel(one, prefix, brokers) for name, one in area.topics.items()}
    wanted = {name for channel in channels.values() for name in channel["messages"]}
    found = {name: one for name, one in messages.items() if name in wanted}
    account = {"type": "userPassword", "description": "An account on the broker; not one in the house."}
    whole = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "saleroom",
            "version": __version__,
            "description": "\n".join([*(area.about for area in declared), _ABOUT, *([] if brokers else [_NO_BROKER])]),
            "contact": CONTACT,
            "license": {"name": "Apache License 2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
            "tags": [area.tag for area in declared],
        },
        "defaultContentType": JSON,
        "servers": servers,
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": _with_bare_references(found),
            "schemas": _with_bare_references(_needed(found, known)),
            **({"securitySchemes": {"account": account}} if "broker" in servers else {}),
        },
    }
    return msgspec.json.encode(whole)


def operation(
    action: str, channel: str, of: Iterable[str], about: str, mqtt: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return an operation of the house on a channel, with its MQTT binding if it has one."""
    made: dict[str, Any] = {"action": action, "description": about, **reply(channel, of)}
    if mqtt is not None:
        made["bindings"] = {"mqtt": {"qos": QOS_AT_LEAST_ONCE, **mqtt, **_MQTT}}
    return made


def reply(channel: str, of: Iterable[str]) -> dict[str, Any]:
    """Return the channel and the messages of a reply."""
    return {
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in of],
    }


def message(about: str, payload: Schema, examples: Iterable[Any]) -> dict[str, Any]:
    """Return a message in JSON."""
    return {
        "summary": about,
        "contentType": JSON,
        "payload": payload,
        "bindings": {"mqtt": {"contentType": JSON, **_MQTT}},
        "examples": [{"payload": example} for example in examples],
    }


_STATUS = Channel(
    address=TOPICS.status_topic,
    about="Whether the house is connected. Retained; the Last Will says `offline` if the connection is lost.",
    messages=("status",),
)


def _status() -> dict[str, Any]:
    statuses = [msgspec.json.decode(each) for each in (ONLINE, OFFLINE)]
    said = {"enum": [each["status"] for each in statuses], "description": "Whether the house is connected."}
    status = {"type": "object", "properties": {"status": said}, "required": ["status"]}
    return message("Whether the house is connected.", status, statuses)


def _channel(of: Channel, prefix: str, servers: Iterable[str]) -> dict[str, Any]:
    parameters = dict(of.parameters)
    if of.address is not None and of.address.startswith(TOPICS.prefix):
        parameters["prefix"] = {"default": prefix.removesuffix("/"), "description": "The setting `mqtt_prefix`."}
    return {
        **({} if of.address is None else {"address": of.address}),
        "description": of.about,
        "servers": [{"$ref": f"#/servers/{name}"} for name in servers],
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in of.messages},
        **({"parameters": parameters} if parameters else {}),
    }


def _servers(prefix: str, where: Brokers) -> dict[str, Any]:
    """Return the servers by name: the broker, if any, on each of its ports, and the house."""
    will = {"topic": f"{prefix}status", "qos": QOS_AT_LEAST_ONCE, "message": OFFLINE.decode(), "retain": True}
    bindings = {"mqtt": {"cleanSession": True, "keepAlive": KEEPALIVE_SECONDS, "lastWill": will, **_MQTT}}
    servers: dict[str, Any] = {}
    broker = where.broker
    if broker is not None and where.embedded:
        about = "The broker in the house itself; devices need no account."
        servers["embedded"] = {
            **_server("mqtt", authority(broker.host, broker.port), about),
            "protocolVersion": "3.1.1",
            "bindings": bindings,
        }
        if where.websocket_port is not None:
            about = "The same over WebSocket, for pages: any path, subprotocol `mqtt`."
            servers["embeddedWebSocket"] = _server("ws", authority(broker.host, where.websocket_port), about)
    elif broker is not None:
        about = "The broker that the house was told of; MQTT 5 or 3.1.1."
        servers["broker"] = {
            **_server("secure-mqtt" if broker.tls else "mqtt", authority(broker.host, broker.port), about),
            "security": [{"$ref": "#/components/securitySchemes/account"}],
            "bindings": bindings,
        }
    house = urlsplit(where.house)
    path = {"pathname": house.path} if house.path.strip("/") else {}
    return servers | {"house": {**_server(house.scheme, house.netloc.rpartition("@")[2], "The house."), **path}}


def _server(protocol: str, host: str, about: str) -> dict[str, Any]:
    return {"host": host, "protocol": protocol, "description": about}


def _needed(found: Mapping[str, Any], known: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the schemas that the messages refer to, and those that these refer to."""
    needed: dict[str, Schema] = {}
    wanted = _referred(found)
    while wanted:
        name = wanted.pop()
        if name not in needed:
            needed[name] = known[name]
            wanted |= _referred(known[name])
    return dict(sorted(needed.items()))


def _with_bare_references(value: Any) -> Any:
    """Return `value` without the members beside a reference, which draft 07 of JSON Schema ignores."""
    if isinstance(value, dict):
        if "$ref" in value:
            return {"$ref": value["$ref"]}
        return {name: _with_bare_references(one) for name, one in value.items()}
    return [_with_bare_references(one) for one in value] if isinstance(value, list | tuple) else value


def _referred(value: Any) -> set[str]:
    """Return the names of all schemas that `value` refers to, however deep."""
    names: set[str] = set()
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if "$ref" in part:
                names.add(str(part["$ref"]).rpartition("/")[2])
            parts += part.values()
        elif isinstance(part, list | tuple):
            parts += part
    return names
