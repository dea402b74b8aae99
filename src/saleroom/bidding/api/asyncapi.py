"""The AsyncAPI 3.0 document: the messages of MQTT and of the streams of events, from the side of the house."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from saleroom import __version__
from saleroom.accounts.api.vocabulary import VOCABULARY as ACCOUNTS
from saleroom.bidding.api import ENDPOINTS, messages, vocabulary
from saleroom.bidding.api.devices import COMMAND, PAYLOAD_BYTES_MAX
from saleroom.bidding.api.messages import GID
from saleroom.feed.streams import AFTER, STARTED
from saleroom.http import problems, schemas
from saleroom.http.forms import object_schema
from saleroom.http.schemas import CONTACT, Schema, error_name, reference
from saleroom.kernel.errors import Busy, Refusal, TooManyRequests
from saleroom.mqtt.inbox import REPLY_SECONDS
from saleroom.mqtt.outbox import EVENT_SECONDS
from saleroom.mqtt.topics import KEEPALIVE_SECONDS, OFFLINE, ONLINE, QOS_AT_LEAST_ONCE, MqttSettings

JSON = "application/json"
_MQTT = {"bindingVersion": "0.2.0"}
_HTTP = {"bindingVersion": "0.3.0"}
_TOPICS = MqttSettings("", 0, prefix="{prefix}/")
_EVENTS = tuple(kind.TYPE for kind in messages.public_kinds())
_STREAMED = (STARTED, *_EVENTS)

_ABOUT = """\
The messages that the house publishes, and the bids that devices send it. A reader needs no account in the house.

**One log.** An event is logged in the transaction that decides it and published after its commit, with the same bytes on
MQTT and in the streams. Events of one auction come in the order of `sequence`, which counts from 1 without gaps. An
event may come more than once; its `id` is then the same.

**Money** is a string with exactly three decimals. **Instants** are RFC 3339 in UTC with microseconds. New members and new
types of event may be added; ignore what you do not know.

The requests and answers of HTTP are described at `/openapi.json`.
"""
_KEPT = f"A broker of MQTT 5 keeps it for {REPLY_SECONDS} seconds for a device that is away."
_STREAM = """\
Server-sent events (`text/event-stream`). Each has the event as one line of `data`, its id as `id`, and no `event`, so that
`onmessage` has them all. Only `stream.started` has its type as `event`: it comes first if the request has no id. A comment
such as `: time 2026-11-21T12:00:00.123456Z` comes at the start and every 15 seconds.
A reader that is too slow is cut off, and can resume with `Last-Event-ID`.
"""


class Brokers(Struct, frozen=True, kw_only=True):
    """The addresses of a house and of its MQTT broker. `broker` is None for a house without one.

    `embedded` says that the broker is the house's own; `websocket_port` is its port for MQTT over WebSocket.
    """

    house: str
    broker: MqttSettings | None
    embedded: bool = False
    websocket_port: int | None = None


def document(prefix: str, where: Brokers) -> bytes:
    """Return the document as JSON for a house whose MQTT topics begin with `prefix`, which ends with a slash."""
    servers = _servers(prefix, where)
    brokers = [name for name in servers if name != "house"]
    topics, streams = (_topics(prefix, brokers), _publications() | _commands()) if brokers else ({}, {})
    channels = topics | _streams()
    wanted = {name for channel in channels.values() for name in channel["messages"]}
    found = {name: message for name, message in _messages().items() if name in wanted}
    account = {"type": "userPassword", "description": "An account on the broker; not one in the house."}
    whole = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "saleroom",
            "version": __version__,
            "description": _ABOUT
            if brokers
            else f"{_ABOUT}\nThis house has no MQTT broker: its setting `mqtt` is `off`.\n",
            "contact": CONTACT,
            "license": {"name": "Apache License 2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
            "tags": [{"name": "auctions", "description": "What is sold, and what is bid for it."}],
        },
        "defaultContentType": JSON,
        "servers": servers,
        "channels": channels,
        "operations": streams | _requests(),
        "components": {
            "messages": _with_bare_references(found),
            "schemas": _with_bare_references(_needed(found)),
            **({"securitySchemes": {"account": account}} if "broker" in servers else {}),
        },
    }
    return msgspec.json.encode(whole)


def _servers(prefix: str, where: Brokers) -> dict[str, Any]:
    """Return the servers by name: the broker, if any, on each of its ports, and the house."""
    will = {"topic": f"{prefix}status", "qos": QOS_AT_LEAST_ONCE, "message": OFFLINE.decode(), "retain": True}
    bindings = {"mqtt": {"cleanSession": True, "keepAlive": KEEPALIVE_SECONDS, "lastWill": will, **_MQTT}}
    servers: dict[str, Any] = {}
    broker = where.broker
    if broker is not None and where.embedded:
        about = "The broker in the house itself; devices need no account."
        servers["embedded"] = {
            **_server("mqtt", _authority(broker.host, broker.port), about),
            "protocolVersion": "3.1.1",
            "bindings": bindings,
        }
        if where.websocket_port is not None:
            about = "The same over WebSocket, for pages: any path, subprotocol `mqtt`."
            servers["embeddedWebSocket"] = _server("ws", _authority(broker.host, where.websocket_port), about)
    elif broker is not None:
        about = "The broker that the house was told of; MQTT 5 or 3.1.1."
        servers["broker"] = {
            **_server("secure-mqtt" if broker.tls else "mqtt", _authority(broker.host, broker.port), about),
            "security": [{"$ref": "#/components/securitySchemes/account"}],
            "bindings": bindings,
        }
    house = urlsplit(where.house)
    path = {"pathname": house.path} if house.path.strip("/") else {}
    return servers | {"house": {**_server(house.scheme, house.netloc.rpartition("@")[2], "The house."), **path}}


def _server(protocol: str, host: str, about: str) -> dict[str, Any]:
    return {"host": host, "protocol": protocol, "description": about}


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _topics(prefix: str, brokers: Iterable[str]) -> dict[str, Any]:
    begins = {"prefix": {"default": prefix.removesuffix("/"), "description": "The setting `mqtt_prefix`."}}
    gid = {"gid": {"description": "The auction.", "examples": [GID]}}
    one = {"id": {"description": "The `id` of the command.", "examples": [messages.COMMAND_ID]}}
    topics: dict[str, tuple[str | None, Mapping[str, Any], Iterable[str], str]] = {
        "state": (
            _TOPICS.state_topic("{gid}"),
            begins | gid,
            ("state",),
            "The auction as `GET /auctions/{gid}` shows it. Retained; an empty message clears it a day after it is over.",
        ),
        "events": (_TOPICS.events_topic("{gid}"), begins | gid, _EVENTS, "Each event of the auction."),
        "status": (
            _TOPICS.status_topic,
            begins,
            ("status",),
            "Whether the house is connected. Retained; the Last Will says `offline` if the connection is lost.",
        ),
        "bids": ("{prefix}/auctions/{gid}/bids", begins | gid, ("command",), "Where devices bid."),
        "replies": (
            "{prefix}/replies/{id}",
            begins | one,
            _REPLIES,
            f"The answer to the command with this `id`. {_KEPT}",
        ),
        "responses": (
            None,
            {},
            _REPLIES,
            f"The answer to a command with a response topic, on MQTT 5. {_KEPT}",
        ),
    }
    servers = [{"$ref": f"#/servers/{name}"} for name in brokers]
    return {
        name: _channel(address, about, parameters, of, servers)
        for name, (address, parameters, of, about) in topics.items()
    }


def _streams() -> dict[str, Any]:
    servers = [{"$ref": "#/servers/house"}]
    gid = {"gid": {"description": "The auction.", "examples": [GID]}}
    names = ("follow", *_STREAMED)
    ends = f"{_STREAM}When the auction is over, the stream ends. A later request that has missed nothing gets 204.\n"
    return {
        "auctionStream": _channel("/auctions/{gid}/events", ends, gid, names, servers),
        "houseStream": _channel("/events", _STREAM, {}, names, servers),
    }


def _channel(
    address: str | None, about: str, parameters: Mapping[str, Any], of: Iterable[str], servers: list[dict[str, str]]
) -> dict[str, Any]:
    channel = {
        **({} if address is None else {"address": address}),
        "description": about,
        "servers": servers,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in of},
    }
    return channel | ({"parameters": parameters} if parameters else {})


def _publications() -> dict[str, Any]:
    """Return the operations by which the house publishes."""
    return {
        "sendState": _operation(
            "send", "state", ("state",), "The house publishes each new state of an auction.", {"retain": True}
        ),
        "sendEvent": _operation(
            "send",
            "events",
            _EVENTS,
            "The house publishes each event of an auction, in order.",
            {"retain": False, "messageExpiryInterval": EVENT_SECONDS},
        ),
        "sendStatus": _operation(
            "send", "status", ("status",), "The house says that it is connected.", {"retain": True}
        ),
    }


def _commands() -> dict[str, Any]:
    """Return the operations by which the house receives bids: one for each kind of reply topic."""
    named = {
        "address": {
            "location": "$message.header#/responseTopic",
            "description": "A topic below `{prefix}/replies/`, without wildcards; the reply has the same correlation data.",
        },
        **_reply("responses", _REPLIES),
    }
    taken = {"retain": False}
    plain, directed = (
        "A bid; the reply is at `replies/{id}`.",
        "A bid on MQTT 5 with a response topic; the reply is there.",
    )
    return {
        "receiveBid": _operation("receive", "bids", ("command",), plain, taken)
        | {"reply": _reply("replies", _REPLIES)},
        "receiveBidWithResponseTopic": _operation("receive", "bids", ("command",), directed, taken) | {"reply": named},
    }


def _requests() -> dict[str, Any]:
    """Return the operations by which clients follow streams: requests whose reply is the events."""
    asked = {"bindings": {"http": {"method": "GET", "query": object_schema(AFTER), **_HTTP}}}
    about = "A request for a stream; the reply is the events, as they happen."
    return {
        name: _operation("receive", channel, ("follow",), about) | asked | {"reply": _reply(channel, _STREAMED)}
        for name, channel in (("followAuction", "auctionStream"), ("followHouse", "houseStream"))
    }


def _operation(
    action: str, channel: str, of: Iterable[str], about: str, mqtt: dict[str, Any] | None = None
) -> dict[str, Any]:
    operation: dict[str, Any] = {"action": action, "description": about, **_reply(channel, of)}
    if mqtt is not None:
        operation["bindings"] = {"mqtt": {"qos": QOS_AT_LEAST_ONCE, **mqtt, **_MQTT}}
    return operation


def _reply(channel: str, of: Iterable[str]) -> dict[str, Any]:
    return {
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in of],
    }


VOCABULARY = schemas.VOCABULARY | ACCOUNTS | vocabulary.VOCABULARY
_REPLIES = ("accepted", "refused")
_PLACE = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "placeBid")


def _messages() -> dict[str, Any]:
    """Return every message by its name."""
    events = {
        kind.TYPE: _message(messages.SUMMARIES[kind.TYPE], messages.event_schema(kind), [messages.event_example(kind)])
        for kind in messages.public_kinds()
    }
    statuses = [msgspec.json.decode(each) for each in (ONLINE, OFFLINE)]
    said = {"enum": [each["status"] for each in statuses], "description": "Whether the house is connected."}
    status = {"type": "object", "properties": {"status": said}, "required": ["status"]}
    answers = schemas.components(ENDPOINTS, VOCABULARY)
    accepted = messages.reply_schema(answers["BidAnswer"], "BidReply", _PLACE.status)
    refused = [
        messages.reply_schema(answers[error_name(one)], error_name(one), problems.status_of(one)) for one in _refusals()
    ]
    return {
        **events,
        STARTED: _message(
            "The beginning of a stream that was requested without an id. It is no event of the log.",
            messages.started_schema(),
            [messages.started_example()],
        ),
        "state": _message("The auction as anyone may see it.", reference("AuctionView"), [messages.state_example()]),
        "status": _message("Whether the house is connected.", status, statuses),
        "command": _command(),
        "accepted": _message(
            "The bid was accepted; the body of the HTTP answer.", accepted, [messages.accepted_example()]
        ),
        "refused": _message(
            "The command was refused; the body of the HTTP answer.",
            {"oneOf": refused},
            [messages.refused_example(one) for one in _refusals()],
        ),
        "follow": _request(),
    }


def _message(about: str, payload: Schema, examples: Iterable[Any]) -> dict[str, Any]:
    return {
        "summary": about,
        "contentType": JSON,
        "payload": payload,
        "bindings": {"mqtt": {"contentType": JSON, **_MQTT}},
        "examples": [{"payload": example} for example in examples],
    }


def _command() -> dict[str, Any]:
    """Return the message of a bid from a device."""
    headers = {
        "type": "object",
        "properties": {
            "responseTopic": {"type": "string", "description": "MQTT 5: the topic of the reply."},
            "correlationData": {"type": "string", "description": "MQTT 5: comes back with the reply."},
        },
    }
    about = f"A bid. At most {PAYLOAD_BYTES_MAX} bytes; a retained one is never a bid."
    shown = {"token": "Ij9pUEcdhAXWkQ==", "id": messages.COMMAND_ID, "maximum": "120"}
    payload = {**object_schema(COMMAND.fields, strict=COMMAND.strict), "minProperties": 3}
    return {
        **_message(about, payload, [shown]),
        "headers": headers,
        "correlationId": {"location": "$message.header#/correlationData"},
    }


def _request() -> dict[str, Any]:
    """Return the message that requests a stream: a request without a body."""
    about = "The `id` of the last known event; the stream goes on after it. It takes precedence over `after`."
    last = {**AFTER[0].schema, "description": about}
    return {
        "summary": "A request for the events after a known one.",
        "headers": {"type": "object", "properties": {"Last-Event-ID": last}},
        "examples": [{"headers": {"Last-Event-ID": f"{GID}/4"}}],
    }


def _refusals() -> list[type[Refusal]]:
    """Return every refusal of a command: those of the same bid over HTTP, and those of MQTT."""
    doors = (TooManyRequests, Busy, problems.Unavailable, problems.InternalError)
    return list(dict.fromkeys((*_PLACE.refusals, *doors)))


def _needed(found: Mapping[str, Any]) -> dict[str, Schema]:
    """Return the schemas that the messages refer to, and those that these refer to."""
    known, needed = schemas.components(ENDPOINTS, VOCABULARY), {}
    wanted = _referred(found)
    while wanted:
        name = wanted.pop()
        if name not in needed:
            needed[name] = known[name]
            wanted |= _referred(known[name])
    return dict(sorted(needed.items()))


def _with_bare_references(value: Any) -> Any:
    """Return `value` without the members beside a reference, which draft 07 of JSON Schema ignores."""
    if isinstance(value, Mapping):
        if "$ref" in value:
            return {"$ref": value["$ref"]}
        return {name: _with_bare_references(one) for name, one in value.items()}
    return [_with_bare_references(one) for one in value] if isinstance(value, list | tuple) else value


def _referred(value: Any) -> set[str]:
    """Return the names of all schemas that `value` refers to, however deep."""
    if isinstance(value, Mapping):
        own = {str(value["$ref"]).rpartition("/")[2]} if "$ref" in value else set()
        return own.union(*map(_referred, value.values()))
    return set().union(*map(_referred, value)) if isinstance(value, list | tuple) else set()
