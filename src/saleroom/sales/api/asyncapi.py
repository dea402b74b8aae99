"""The messages of sales for the AsyncAPI document: over MQTT, and in the streams of events."""

from __future__ import annotations

from typing import Any

from saleroom.bidding.api import asyncapi as bidding
from saleroom.feed.streams import AFTER, STARTED
from saleroom.http import schemas
from saleroom.http.forms import object_schema
from saleroom.http.schemas import reference
from saleroom.mqtt.asyncapi import HTTP, TOPICS, AreaMessages, Channel, message, operation, reply
from saleroom.mqtt.outbox import EVENT_SECONDS
from saleroom.sales.api import ENDPOINTS, messages
from saleroom.sales.api.people_vocabulary import PEOPLE
from saleroom.sales.api.publications import TOPICS as SALES
from saleroom.sales.api.vocabulary import VOCABULARY
from saleroom.sales.domain.events import EVENTS

_ABOUT = """\
**Sales** of many lots have events of their own, numbered in the same way. The events of a lot are those of its
auction, whose gid is the member `lot`. Between a sale and its lots there is no order.
"""
_OF_GID = {"gid": {"description": "The sale.", "examples": [messages.SALE_GID]}}
_KINDS = tuple(EVENTS)
_STREAMED = (STARTED, *_KINDS)


def area_messages() -> AreaMessages:
    """Return what sales send: their events and states."""
    events = {
        name: message(messages.summary(kind), messages.event_schema(kind), [messages.event_example(kind)])
        for name, kind in EVENTS.items()
    }
    state = message("The sale as anyone may see it.", reference("SaleView"), [messages.state_example()])
    return AreaMessages(
        about=_ABOUT,
        tag={"name": "sales", "description": VOCABULARY.tags["sales"]},
        topics=_topics(),
        on_topics=_publications(),
        streams=_streams(),
        on_streams=_requests(),
        messages=events | {"saleState": state},
        schemas=schemas.components(ENDPOINTS, bidding.VOCABULARY | VOCABULARY | PEOPLE),
    )


def _topics() -> dict[str, Channel]:
    shown = "The sale as `GET /sales/{gid}` shows it. Retained; an empty message clears it a day after it is over."
    state, events = TOPICS.state_topic("{gid}", SALES), TOPICS.events_topic("{gid}", SALES)
    return {
        "saleState": Channel(address=state, about=shown, messages=("saleState",), parameters=_OF_GID),
        "saleEvents": Channel(address=events, about="Each event of the sale.", messages=_KINDS, parameters=_OF_GID),
    }


def _publications() -> dict[str, Any]:
    """Return the operations by which the house publishes."""
    state, event = (
        "The house publishes each new state of a sale.",
        "The house publishes each event of a sale, in order.",
    )
    kept = {"retain": False, "messageExpiryInterval": EVENT_SECONDS}
    return {
        "sendSaleState": operation("send", "saleState", ("saleState",), state, {"retain": True}),
        "sendSaleEvent": operation("send", "saleEvents", _KINDS, event, kept),
    }


def _streams() -> dict[str, Channel]:
    ends = f"{bidding.STREAM}After the sale's last event the stream ends. A later request that has missed nothing gets 204.\n"
    names = ("follow", *_STREAMED)
    return {"saleStream": Channel(address="/sales/{gid}/events", about=ends, messages=names, parameters=_OF_GID)}


def _requests() -> dict[str, Any]:
    """Return the operation by which clients follow a stream: a request whose reply is the events."""
    asked = {"bindings": {"http": {"method": "GET", "query": object_schema(AFTER), **HTTP}}}
    about = "A request for the stream of a sale; the reply is the events, as they happen."
    follow = operation("receive", "saleStream", ("follow",), about) | asked
    return {"followSale": follow | {"reply": reply("saleStream", _STREAMED)}}
