"""Devices that bid, over MQTT 3.1.1 and over HTTP: each sends its next bid after the answer to the last one.

Both are minimal and alike, so that only the way differs, not the client.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from msgspec import Struct

from bench import BenchError

ANSWER_SECONDS_MAX = 300.0
_KEEPALIVE_SECONDS = 600
_CONNECT, _CONNACK, _PUBLISH, _PUBACK, _SUBSCRIBE, _SUBACK = 0x10, 0x20, 0x30, 0x40, 0x82, 0x90
_LENGTH = re.compile(rb"content-length: ([0-9]+)\r\n", re.IGNORECASE)


class Bid(Struct, frozen=True):
    """A bid, with the id that identifies it; over HTTP it may be empty."""

    token: str
    amount: str
    id: str


class Device(Protocol):
    """A bidding device, with one bid at a time."""

    async def bid(self, bid: Bid) -> int:
        """Send `bid`, and return the status of the answer."""

    def close(self) -> None:
        """Hang up."""


class _Connection(asyncio.Protocol):
    """A connection that waits for one answer at a time."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BenchError("a device was cut off"))

    def close(self) -> None:
        """Hang up."""
        self._transport.close()

    async def _ask(self, data: bytes) -> int:
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return await asyncio.wait_for(self._answer, ANSWER_SECONDS_MAX)

    def _answered(self, status: int) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(status)


class HttpDevice(_Connection):
    """Bids by `POST /auctions/{gid}/bids` on one connection, or reads `GET /auctions/{gid}`, each of `gids` in turn."""

    def __init__(self, host: str, *gids: str) -> None:
        super().__init__()
        self._gids = itertools.cycle(gids)
        self._read = f"HTTP/1.1\r\nHost: {host}\r\n\r\n"
        self._fields = f"HTTP/1.1\r\nHost: {host}\r\nX-Requested-With: bench\r\nContent-Type: application/json\r\n"

    async def bid(self, bid: Bid) -> int:
        """Send `bid`, and return the status of the answer."""
        body = f'{{"amount":"{bid.amount}"}}'
        line = f"POST /auctions/{next(self._gids)}/bids {self._fields}Authorization: Bearer {bid.token}\r\n"
        key = f"Idempotency-Key: {bid.id}\r\n" if bid.id else ""
        return await self._ask(f"{line}{key}Content-Length: {len(body)}\r\n\r\n{body}".encode())

    async def read(self, path: str) -> int:
        """Ask for `path`, whose `{gid}` is the next auction's, and return the status of the answer."""
        return await self._ask(f"GET {path.format(gid=next(self._gids))} {self._read}".encode())

    def data_received(self, data: bytes) -> None:
        """Read an answer."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        found = _LENGTH.search(self._received, 0, end + 2) if end >= 0 else None
        if found is not None and len(self._received) >= end + 4 + int(found[1]):
            status = int(self._received[9:12])
            self._received.clear()
            self._answered(status)


class MqttDevice(_Connection):
    """Bids on `auctions/{gid}/bids` at QoS 1. Its ids begin with its name, so that answers come on `replies/{name}/#`."""

    def __init__(self, prefix: str, gid: str, name: str) -> None:
        super().__init__()
        self._prefix, self._name = prefix, name
        self._topic = _text(f"{prefix}auctions/{gid}/bids")
        self._numbers = itertools.cycle(range(1, 2**16))

    async def begin(self) -> None:
        """Connect to the broker, and subscribe. Raises BenchError if the broker refuses."""
        connect = _text("MQTT") + bytes((4, 2)) + _KEEPALIVE_SECONDS.to_bytes(2, "big") + _text(self._name)
        subscribe = bytes((0, 1)) + _text(f"{self._prefix}replies/{self._name}/#") + b"\x01"
        for packet in (_packet(_CONNECT, connect), _packet(_SUBSCRIBE, subscribe)):
            if code := await self._ask(packet):
                raise BenchError(f"the broker refuses a device: {code}")

    async def bid(self, bid: Bid) -> int:
        """Send `bid`, and return the status of the answer."""
        payload = f'{{"token":"{bid.token}","id":"{self._name}/{bid.id}","amount":"{bid.amount}"}}'
        number = next(self._numbers).to_bytes(2, "big")
        return await self._ask(_packet(_PUBLISH | 2, self._topic + number + payload.encode()))

    def data_received(self, data: bytes) -> None:
        """Read packets."""
        self._received += data
        while (packet := self._next()) is not None:
            kind, body = packet
            if kind & 0xF0 == _PUBLISH:
                topic = int.from_bytes(body[:2], "big")
                at = topic + 2 + (2 if kind & 6 else 0)
                if kind & 6:
                    self._transport.write(_packet(_PUBACK, body[at - 2 : at]))
                self._answered(int(json.loads(body[at:])["status"]))
            elif kind == _CONNACK:
                self._answered(body[1])
            elif kind == _SUBACK & 0xF0:
                self._answered(body[2] & 0x80)

    def _next(self) -> tuple[int, bytes] | None:
        """Remove a complete packet from the received bytes, and return its first byte and its content."""
        length = 0
        for place, byte in enumerate(self._received[1:5]):
            length |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                end = 2 + place + length
                if len(self._received) < end:
                    return None
                kind, body = self._received[0], bytes(self._received[2 + place : end])
                del self._received[:end]
                return kind, body
        return None


def _text(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(2, "big") + encoded


def _packet(kind: int, body: bytes) -> bytes:
    length, left = bytearray(), len(body)
    while True:
        left, digit = left >> 7, left & 0x7F
        length.append(digit | (0x80 if left else 0))
        if not left:
            return bytes((kind, *length)) + body


def rising(tokens: Sequence[str], first: int, run: str) -> Iterator[Bid]:
    """Yield bids that rise by a thousandth from `first` on, each by the next of `tokens`; `run` begins their ids."""
    for number, token in enumerate(itertools.cycle(tokens), 1):
        amount = first + number
        yield Bid(token, f"{amount // 1000}.{amount % 1000:03}", f"{run}-{number}")


async def converse(devices: Sequence[Device], bids: Iterator[Bid], seconds: float) -> tuple[list[float], Counter[int]]:
    """Let each device bid for `seconds`; return the time of each answer (s), and the answers by status."""
    until = time.monotonic() + seconds
    times: list[float] = []
    statuses: Counter[int] = Counter()

    async def talk(device: Device) -> None:
        while time.monotonic() < until:
            bid = next(bids)
            began = time.perf_counter()
            status = await device.bid(bid)
            times.append(time.perf_counter() - began)
            statuses[status] += 1

    await asyncio.gather(*map(talk, devices))
    return times, statuses
