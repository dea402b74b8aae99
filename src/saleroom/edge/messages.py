"""The messages of a house, as an edge keeps and sends them."""

from __future__ import annotations

from saleroom.edge.addresses import Address, Kind
from saleroom.edge.house import not_a_stream
from saleroom.kernel.errors import Fault
from saleroom.kernel.identifiers import EventId, parse_event_id
from saleroom.tools.event_stream import Message

OVER = "over"
"""The name of the last message of a page's stream."""
TIME = "time"
"""The name of the message with the time of the house's clock."""


def parsed_id(message: Message) -> EventId:
    """Return the event of a message with an id. Raises NoAnswer for what is none."""
    found = parse_event_id(message.id or "")
    if isinstance(found, Fault):
        raise not_a_stream()
    return found


def event_of(message: Message, address: Address) -> EventId | None:
    """Return the event whose id a message of the stream at `address` brings; None if it brings none. Raises NoAnswer."""
    if not message.has_id:
        return None
    event = parsed_id(message)
    if address.gid not in ("", event.gid):
        raise not_a_stream()
    return event


def payload_of(message: Message, kind: Kind) -> bytes:
    """Return a message as it is kept: of the log the event alone, otherwise its text. Raises NoAnswer."""
    if kind is Kind.LOG:
        if "\n" in message.data or message.name or not message.has_id:
            raise not_a_stream()
        return message.data.encode()
    lines = [f"event: {message.name}\n"] if message.name else []
    lines += [f"id: {message.id}\n"] if message.has_id else []
    lines += [f"data: {line}\n" for line in message.data.split("\n")]
    return "".join((*lines, "\n")).encode()


def is_news(message: Message) -> bool:
    """Return whether a message is for readers; the others tell the edge the time, or where a stream begins."""
    return bool(message.data) and message.name in ("", OVER, "block")
