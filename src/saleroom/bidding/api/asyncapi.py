"""The messages of auctions for the AsyncAPI document: over MQTT, and in the streams of events."""

from __future__ import annotations

from typing import Any

from saleroom.accounts.api.vocabulary import VOCABULARY as ACCOUNTS
from saleroom.bidding.api import ENDPOINTS, messages, vocabulary
from saleroom.bidding.api.devices import COMMAND, PAYLOAD_BYTES_MAX
from saleroom.bidding.api.happenings import GID
from saleroom.feed.streams import AFTER, STARTED
from saleroom.http import problems, schemas
from saleroom.http.forms import object_schema
from saleroom.http.schemas import error_name, reference
from saleroom.kernel.errors import Busy, Refusal, TooManyRequests
from saleroom.mqtt.asyncapi import HTTP, TOPICS, AreaMessages, Channel, message, operation, reply
from saleroom.mqtt.inbox import REPLY_SECONDS
from saleroom.mqtt.outbox import EVENT_SECONDS

_EVENTS = tuple(kind.TYPE for kind in messages.public_kinds())
_STREAMED = (STARTED, *_EVENTS)

_ABOUT = """\
The messages that the house publishes, and the bids that devices send it. A reader needs no account in the house.

**One log.** An event is logged in the transaction that decides it and published after its commit, with the same bytes on
MQTT and in the streams. Events of one auction come in the order of `sequence`, which counts from 1 without gaps. An
event may come more than once; its `id` is then the same.

**Money** is a string with exactly three decimals. **Instants** are RFC 3339 in UTC with microseconds. New members and new
types of event may be added; ignore what you do not know.
"""
_OF_GID = {"description": "The auction.", "examples": [GID]}
VOCABULARY = schemas.VOCABULARY | ACCOUNTS | vocabulary.VOCABULARY
_REPLIES = ("accepted", "refused")
_PLACE = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "placeBid")
_KEPT = f"A broker of MQTT 5 keeps it for {REPLY_SECONDS} seconds for a device that is away."
STREAM = """\
Server-sent events (`text/event-stream`). Each has the event as one line of `data`, its id as `id`, and no `event`, so that
`onmessage` has them all. Only `stream.started` has its type as `event`: it comes first if the request has no id. A comment
such as `: time 2026-11-21T12:00:00.123456Z` comes at the start and every 15 seconds.
A reader that is too slow is cut off, and can resume with `Last-Event-ID`.
"""


def area_messages() -> AreaMessages:
    """Return what bidding sends and takes in: its events and states, and the bids of devices."""
    return AreaMessages(
        about=_ABOUT,
        tag={"name": "auctions", "description": "What is sold, and what is bid for it."},
        topics=_topics(),
        on_topics=_publications() | _commands(),
        streams=_streams(),
        on_streams=_requests(),
        messages=_messages(),
        schemas=schemas.components(ENDPOINTS, VOCABULARY),
    )


def _topics() -> dict[str, Channel]:
    gid = {"gid": _OF_GID}
    one = {"id": {"description": "The `id` of the command.", "examples": [messages.COMMAND_ID]}}
    shown = (
        "The auction as `GET /auctions/{gid}` shows it. Retained; an empty message clears it a day after it is over."
    )
    said = f"The answer to the command with this `id`. {_KEPT}"
    directed = f"The answer to a command with a response topic, on MQTT 5. {_KEPT}"
    return {
        "state": Channel(address=TOPICS.state_topic("{gid}"), about=shown, messages=("state",), parameters=gid),
        "events": Channel(
            address=TOPICS.events_topic("{gid}"), about="Each event of the auction.", messages=_EVENTS, parameters=gid
        ),
        "bids": Channel(
            address="{prefix}/auctions/{gid}/bids", about="Where devices bid.", messages=("command",), parameters=gid
        ),
        "replies": Channel(address="{prefix}/replies/{id}", about=said, messages=_REPLIES, parameters=one),
        "responses": Channel(address=None, about=directed, messages=_REPLIES),
    }


def _streams() -> dict[str, Channel]:
    names = ("follow", *_STREAMED)
    ends = f"{STREAM}When the auction is over, the stream ends. A later request that has missed nothing gets 204.\n"
    return {
        "auctionStream": Channel(
            address="/auctions/{gid}/events", about=ends, messages=names, parameters={"gid": _OF_GID}
        ),
        "houseStream": Channel(address="/events", about=STREAM, messages=names),
    }


def _publications() -> dict[str, Any]:
    """Return the operations by which the house publishes."""
    return {
        "sendState": operation(
            "send", "state", ("state",), "The house publishes each new state of an auction.", {"retain": True}
        ),
        "sendEvent": operation(
            "send",
            "events",
            _EVENTS,
            "The house publishes each event of an auction, in order.",
            {"retain": False, "messageExpiryInterval": EVENT_SECONDS},
        ),
    }


def _commands() -> dict[str, Any]:
    """Return the operations by which the house receives bids: one for each kind of reply topic."""
    named = {
        "address": {
            "location": "$message.header#/responseTopic",
            "description": "A topic below `{prefix}/replies/`, without wildcards; the reply has the same correlation data.",
        },
        **reply("responses", _REPLIES),
    }
    taken = {"retain": False}
    plain, directed = (
        "A bid; the reply is at `replies/{id}`.",
        "A bid on MQTT 5 with a response topic; the reply is there.",
    )
    return {
        "receiveBid": operation("receive", "bids", ("command",), plain, taken) | {"reply": reply("replies", _REPLIES)},
        "receiveBidWithResponseTopic": operation("receive", "bids", ("command",), directed, taken) | {"reply": named},
    }


def _requests() -> dict[str, Any]:
    """Return the operations by which clients follow streams: requests whose reply is the events."""
    asked = {"bindings": {"http": {"method": "GET", "query": object_schema(AFTER), **HTTP}}}
    about = "A request for a stream; the reply is the events, as they happen."
    return {
        name: operation("receive", channel, ("follow",), about) | asked | {"reply": reply(channel, _STREAMED)}
        for name, channel in (("followAuction", "auctionStream"), ("followHouse", "houseStream"))
    }


def _messages() -> dict[str, Any]:
    """Return every message by its name."""
    events = {
        kind.TYPE: message(messages.SUMMARIES[kind.TYPE], messages.event_schema(kind), [messages.event_example(kind)])
        for kind in messages.public_kinds()
    }
    answers = schemas.components(ENDPOINTS, VOCABULARY)
    accepted = messages.reply_schema(answers["BidAnswer"], "BidReply", _PLACE.status)
    refused = [
        messages.reply_schema(answers[error_name(one)], error_name(one), problems.status_of(one)) for one in _refusals()
    ]
    return {
        **events,
        STARTED: message(
            "The beginning of a stream that was requested without an id. It is no event of the log.",
            messages.started_schema(),
            [messages.started_example()],
        ),
        "state": message("The auction as anyone may see it.", reference("AuctionView"), [messages.state_example()]),
        "command": _command(),
        "accepted": message(
            "The bid was accepted; the body of the HTTP answer.", accepted, [messages.accepted_example()]
        ),
        "refused": message(
            "The command was refused; the body of the HTTP answer.",
            {"oneOf": refused},
            [messages.refused_example(one) for one in _refusals()],
        ),
        "follow": _request(),
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
        **message(about, payload, [shown]),
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
