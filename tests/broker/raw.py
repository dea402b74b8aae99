"""MQTT 3.1.1 byte by byte, for packets that no proper client would send."""

import asyncio
import random
import socket
from contextlib import suppress
from types import TracebackType
from typing import Self

from saleroom.mqtt.topics import MqttSettings
from tests.patience import SECONDS_MAX

CONNACK = b"\x20\x02\x00\x00"


def packet(kind: int, flags: int, body: bytes) -> bytes:
    """Return a packet with its length."""
    length, head = len(body), bytearray([kind << 4 | flags])
    while True:
        length, byte = length >> 7, length & 0x7F
        head.append(byte | (0x80 if length else 0))
        if not length:
            return bytes(head) + body


def text(words: str | bytes) -> bytes:
    """Return a text with its length before it."""
    data = words.encode() if isinstance(words, str) else words
    return len(data).to_bytes(2, "big") + data


def connect(client_id: str = "raw", keep_alive: int = 0, *, clean: bool = True) -> bytes:
    """Return a CONNECT without an account."""
    return packet(1, 0, text("MQTT") + bytes([4, 2 * clean]) + keep_alive.to_bytes(2, "big") + text(client_id))


def subscribe(*filters: str, number: int = 1) -> bytes:
    """Return a SUBSCRIBE at QoS 0, whose messages need no acknowledgement."""
    return packet(8, 2, number.to_bytes(2, "big") + b"".join(text(words) + b"\0" for words in filters))


def unsubscribe(*filters: str, number: int = 1) -> bytes:
    """Return an UNSUBSCRIBE."""
    return packet(10, 2, number.to_bytes(2, "big") + b"".join(text(words) for words in filters))


def publish(topic: str, payload: bytes, qos: int = 0, number: int = 1) -> bytes:
    """Return a PUBLISH."""
    return packet(3, qos << 1, text(topic) + (number.to_bytes(2, "big") if qos else b"") + payload)


class RawDevice:
    """A connection of a device that sends what it is told."""

    def __init__(self, broker: MqttSettings, first: bytes | None = None) -> None:
        """Send `first` as its CONNECT: a proper one if None, nothing if empty."""
        self.socket = socket.create_connection((broker.host, broker.port), timeout=SECONDS_MAX)
        if first is None:
            self.send(connect())
            assert CONNACK == self.receive(4)
        else:
            self.send(first)

    def send(self, *data: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(b"".join(data))

    def receive(self, count: int) -> bytes:
        """Return `count` bytes, fewer only if the connection ends first."""
        data = b""
        while len(data) < count and (more := self.socket.recv(count - len(data))):
            data += more
        return data

    async def stays(self) -> bool:
        """Say whether the broker answers seven pings, each half a second after the one before."""
        with suppress(ConnectionError):
            for _ in range(7):
                await asyncio.sleep(0.5)
                self.send(packet(12, 0, b""))
                if self.receive(2) != b"\xd0\0":
                    return False
            return True
        return False

    def is_ended(self) -> bool:
        """Say whether the broker ends the connection without another word."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.socket.close()


def garbage(chance: random.Random, topic: str) -> bytes:
    """Return random bytes, or a packet of which some bytes are not what they should be."""
    proper = [subscribe("saleroom/#"), publish(topic, b"x", 2), unsubscribe("a"), packet(6, 2, b"\0\1")]
    data = bytearray(chance.choice(proper))
    for _ in range(chance.randrange(4)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return chance.choice([bytes(data), chance.randbytes(chance.randrange(1, 200))])
