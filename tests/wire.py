"""MQTT 3.1.1 by hand: a device made of a socket, and its packets as docs/devices.md shows them, byte by byte."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass

from tests.patience import SECONDS_MAX

NAMES = {1: "CONNECT", 2: "CONNACK", 3: "PUBLISH", 4: "PUBACK", 8: "SUBSCRIBE", 9: "SUBACK"}


@dataclass(frozen=True)
class Packet:
    """One packet, and its sender."""

    sender: str
    data: bytes

    @property
    def name(self) -> str:
        """The kind of packet."""
        return NAMES[self.data[0] >> 4]


def text(value: str) -> bytes:
    """Return a string as MQTT has it: two bytes of length, then UTF-8."""
    raw = value.encode()
    return len(raw).to_bytes(2) + raw


def packet(head: int, body: bytes) -> bytes:
    """Return a packet: its first byte, its remaining length, its body."""
    length, left = b"", len(body)
    while left or not length:
        left, digit = divmod(left, 128)
        length += bytes([digit | (128 if left else 0)])
    return bytes([head]) + length + body


class RawClient:
    """Speaks to a broker over a socket, and keeps every packet of both sides."""

    def __init__(self, port: int) -> None:
        self.packets: list[Packet] = []
        self._socket = socket.create_connection(("127.0.0.1", port), SECONDS_MAX)

    def send(self, data: bytes) -> None:
        """Send a packet."""
        self.packets.append(Packet("device", data))
        self._socket.sendall(data)

    def take(self) -> Packet:
        """Return the broker's next packet."""
        head, size = self._read(1), b""
        while not size or size[-1] & 128:
            size += self._read(1)
        length = sum((digit & 127) << (7 * place) for place, digit in enumerate(size))
        self.packets.append(Packet("broker", head + size + self._read(length)))
        return self.packets[-1]

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            assert more, "the broker hung up"
            data += more
        return data


CHUNK = 16
"""Bytes on one line of a dump."""


def dump(packets: list[Packet]) -> str:
    """Return packets as the document shows them: bytes on the left, their meaning on the right."""
    return "\n\n".join("\n".join(_lines(packet)) for packet in packets) + "\n"


def _lines(packet: Packet) -> Iterator[str]:
    yield f"{packet.name}, from the {packet.sender}"
    for data, note in _fields(packet.data):
        chunks = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
        for chunk in chunks:
            yield f"{chunk.hex(' '):<{3 * CHUNK}} {note or chunk.decode()}".rstrip()


def _fields(data: bytes) -> Iterator[tuple[bytes, str]]:
    """Take a packet apart. An empty note stands for text, which needs no explanation."""
    kind, flags, rest = data[0] >> 4, data[0] & 15, data[1:]
    digits = next(place for place, digit in enumerate(rest) if digit < 128) + 1
    says = {3: f"PUBLISH, QoS {flags >> 1 & 3}, retain {flags & 1}, duplicate {flags >> 3}"}.get(kind, NAMES[kind])
    yield data[:1], says
    yield rest[:digits], f"{len(rest) - digits} bytes follow"
    yield from _BODIES[kind](rest[digits:])


def _connect(body: bytes) -> Iterator[tuple[bytes, str]]:
    yield body[:6], 'the name of the protocol, "MQTT"'
    yield body[6:7], "level 4, which is MQTT 3.1.1"
    assert body[7:8] == b"\x02"
    yield body[7:8], "clean session; no will, no user, no password"
    yield body[8:10], f"keep-alive, {int.from_bytes(body[8:10])} seconds"
    yield from _text(body[10:], "the client id")


def _connack(body: bytes) -> Iterator[tuple[bytes, str]]:
    assert body == b"\0\0"
    yield body[:1], "no session was kept"
    yield body[1:], "accepted"


def _subscribe(body: bytes) -> Iterator[tuple[bytes, str]]:
    yield _identifier(body)
    yield from _text(body[2:-1], "the filter")
    yield body[-1:], f"QoS {body[-1]} at most"


def _suback(body: bytes) -> Iterator[tuple[bytes, str]]:
    yield _identifier(body)
    assert body[2:] == b"\x01"
    yield body[2:], "granted, QoS 1; 80 would be a refusal"


def _publish(body: bytes) -> Iterator[tuple[bytes, str]]:
    end = 2 + int.from_bytes(body[:2])
    yield from _text(body[:end], "the topic")
    yield _identifier(body[end:])
    yield body[end + 2 :], ""


def _puback(body: bytes) -> Iterator[tuple[bytes, str]]:
    assert len(body) == 2
    yield _identifier(body)


def _identifier(body: bytes) -> tuple[bytes, str]:
    return body[:2], f"packet identifier {int.from_bytes(body[:2])}"


def _text(data: bytes, what: str) -> Iterator[tuple[bytes, str]]:
    assert len(data) == 2 + int.from_bytes(data[:2])
    yield data[:2], f"{what}, {len(data) - 2} bytes"
    yield data[2:], ""


_BODIES = {1: _connect, 2: _connack, 3: _publish, 4: _puback, 8: _subscribe, 9: _suback}
