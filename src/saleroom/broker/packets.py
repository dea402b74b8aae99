"""MQTT 3.1.1 packets as a client may send them, checked as a whole before amqtt parses them.

amqtt parses a stream of bytes: if a packet is longer or shorter than its length says, amqtt would read packets that were
never sent. Numbers in brackets are those of the standard's statements.
"""

from typing import NamedTuple

CONNECT, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, UNSUBSCRIBE, PINGREQ, DISCONNECT = (
    1, 3, 4, 5, 6, 7, 8, 10, 12, 14,
)  # fmt: skip
FILTERS_MAX = 100
"""Filters in one SUBSCRIBE, and filters that one client may have."""
FILTER_CHARACTERS_MAX = 1024

ACKNOWLEDGEMENT_COST = 0.02
WILDCARD_COST = 20.0
_FLAGS = dict.fromkeys((CONNECT, PUBACK, PUBREC, PUBCOMP, PINGREQ, DISCONNECT), 0)
_FLAGS |= dict.fromkeys((PUBREL, SUBSCRIBE, UNSUBSCRIBE), 2)
"""The kinds that a client may send, PUBLISH aside, and the flags of their first byte [MQTT-2.2.2-2]."""
_FIRST = b"\0\4MQTT\4"
_CLIENT_ID_AT = len(_FIRST) + 3  # behind flags and keep-alive


class MalformedPacket(Exception):
    """A packet that no client of MQTT 3.1.1 sends; its text is the reason, and quotes nothing of the packet."""


class OtherVersion(MalformedPacket):
    """A CONNECT of MQTT 5, MQTT 3.1 or an unknown version."""


class Packet(NamedTuple):
    """A packet without its length: `kind` and `flags` are the halves of its first byte."""

    kind: int
    flags: int
    body: bytes

    @property
    def is_qos_2(self) -> bool:
        """Whether it is a message that must be kept until its sender releases it."""
        return self.kind == PUBLISH and self.flags & 0b110 == 0b100


def cost(packet: Packet, *, is_first: bool) -> float:
    """Return the cost of a packet for its sender, in messages. Raises MalformedPacket."""
    kind, flags, body = packet
    if is_first != (kind == CONNECT):  # [MQTT-3.1.0-1], [MQTT-3.1.0-2]
        raise MalformedPacket("a CONNECT that is not the first packet, or a first packet that is no CONNECT")
    if kind == PUBLISH:
        return _check_publish(flags, body)
    if _FLAGS.get(kind) != flags:
        raise MalformedPacket("a packet that no client may send")
    if kind == CONNECT and not body.startswith(_FIRST):
        raise OtherVersion("another version than MQTT 3.1.1")
    if kind == CONNECT:
        _text(body, _CLIENT_ID_AT)
    if kind in (PUBACK, PUBREC, PUBREL, PUBCOMP):
        if len(body) != 2:
            raise MalformedPacket("an acknowledgement of a wrong length")
        return ACKNOWLEDGEMENT_COST
    if kind in (SUBSCRIBE, UNSUBSCRIBE):
        return _check_filters(body, options=kind == SUBSCRIBE)
    if kind in (PINGREQ, DISCONNECT) and body:
        raise MalformedPacket("a packet that must be empty and is not")
    return 1.0


def _check_publish(flags: int, body: bytes) -> float:
    topic, after = _text(body, 0)
    if not topic or "+" in topic or "#" in topic:  # [MQTT-3.3.2-2], [MQTT-4.7.3-1]
        raise MalformedPacket("a message without a proper topic")
    qos = flags >> 1 & 3
    if qos == 3 or (qos and len(body) < after + 2):  # [MQTT-3.3.1-4]
        raise MalformedPacket("a message with a bad QoS, or without its number")
    return 1.0


def _check_filters(body: bytes, *, options: bool) -> float:
    """Walk through the filters behind the packet's number; each of a SUBSCRIBE has a byte with its QoS."""
    at, count, cost = 2, 0, 1.0
    while at < len(body) and count < FILTERS_MAX:
        text, at = _text(body, at)
        if not text:  # [MQTT-4.7.3-1]
            raise MalformedPacket("a filter without a character")
        if options:
            at += 1
            if at > len(body) or body[at - 1] > 2:  # [MQTT-3-8.3-4]
                raise MalformedPacket("a filter with a bad QoS")
            cost += WILDCARD_COST if "+" in text or "#" in text else 0
        count += 1
    if not count or at != len(body):  # [MQTT-3.8.3-3], [MQTT-3.10.3-2]
        raise MalformedPacket("no filter, too many at once, or an invalid one")
    return cost


def _text(body: bytes, at: int) -> tuple[str, int]:
    """Return the length-prefixed text at a position, and the position after it."""
    start = at + 2
    end = start + int.from_bytes(body[at:start], "big")
    try:
        text = body[start:end].decode()
    except UnicodeDecodeError:
        raise MalformedPacket("a text that is not UTF-8") from None  # [MQTT-1.5.3-1]
    if start > len(body) or end > len(body) or "\0" in text:  # [MQTT-1.5.3-2]
        raise MalformedPacket("a text that is cut short, or holds a NUL")
    return text, end
