"""One client's connection to the embedded broker, over TCP or WebSocket: whole packets, within limits.

A client that exceeds them is slowed down or cut off, which is counted and logged; other clients do not notice.
"""

import asyncio
import ssl
import time
from abc import abstractmethod
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from typing import Literal

from amqtt.adapters import ReaderAdapter, WriterAdapter
from amqtt.session import Session
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from saleroom.broker import packets
from saleroom.broker.packets import MalformedPacket, OtherVersion, Packet
from saleroom.logs import Tally

DEVICE_PACKET_BYTES_MAX = 1 << 16
SERVICE_PACKET_BYTES_MAX = 1 << 20
CONNECT_SECONDS_MAX = 10.0
STALL_SECONDS_MAX = 10.0
BEHIND_SECONDS_MAX = 30.0
UNRELEASED_MAX = 100
MESSAGES_PER_SECOND = 100.0
MESSAGES_AT_ONCE = 200.0
DEVICE_WAITING_MAX = 1000
SERVICE_WAITING_MAX = 5000
WAITING_SECONDS = 0.01
DOES_NOT_READ = "does not read what it asked for"
IS_SERVICE = "saleroom.is_service"
"""The attribute of a session that has the service's account."""

_CONNACK_OTHER_VERSION = b"\x20\x02\x00\x01"
_LENGTH_BYTES_MAX = 4


class Allowance:
    """The rate of one device: messages a second, after a burst. A device that sent more is not read for a while."""

    def __init__(self) -> None:
        self._left = MESSAGES_AT_ONCE
        self._counted_at = time.monotonic()

    def spend(self, cost: float) -> None:
        """Count the cost of a packet, in messages."""
        self._left -= cost

    async def until_any(self) -> None:
        """Wait until the allowance is positive."""
        now = time.monotonic()
        self._left = min(MESSAGES_AT_ONCE, self._left + (now - self._counted_at) * MESSAGES_PER_SECOND)
        self._counted_at = now
        if self._left < 0:
            await asyncio.sleep(-self._left / MESSAGES_PER_SECOND)


class Link(ReaderAdapter, WriterAdapter):
    """A connection as amqtt reads and writes it, packet by packet: no byte of one is read as part of another."""

    def __init__(self, tally: Tally, waiting: Callable[[], int]) -> None:
        """`waiting` returns how many messages the broker has yet to deliver; senders wait while there are many."""
        self._tally = tally
        self._waiting = waiting
        self._allowance = Allowance()
        self._session: Session | None = None
        self._silence_seconds_max: float | None = CONNECT_SECONDS_MAX
        self._is_first = True
        self._is_over = False
        self._is_closed = False
        self._packet = b""
        self._at = 0
        self._unsent = bytearray()

    def begin(self, session: Session) -> None:
        """Keep the session of CONNECT. This class ends a silent client [MQTT-3.1.2-24]; amqtt would not."""
        self._session = session
        self._silence_seconds_max = 1.5 * session.keep_alive or None
        session.keep_alive = 0
        self._packet, self._at = b"", 0

    def cut(self, reason: str) -> None:
        """End the connection at once, and count why. `reason` holds nothing that came from a client."""
        self._end(reason)
        self.abort()

    async def read(self, n: int = -1) -> bytes:
        """Return the next `n` bytes of the present packet, fewer if it has no more; none at the end."""
        if n != 0 and self._at == len(self._packet):
            self._packet, self._at = await self._next(), 0
        end = len(self._packet) if n < 0 else self._at + n
        taken = self._packet[self._at : end]
        self._at += len(taken)
        return taken

    def feed_eof(self) -> None:
        """Read no more."""
        self._is_over = True

    def write(self, data: bytes) -> None:
        """Keep bytes until they are sent by `drain`."""
        if not self._is_closed:
            self._unsent += data

    async def drain(self) -> None:
        """Send the written bytes. Raises ConnectionResetError if the client is gone or does not read."""
        data, self._unsent = bytes(self._unsent), bytearray()
        if not data or self._is_closed:
            return
        try:
            async with asyncio.timeout(STALL_SECONDS_MAX):
                await self._send(data)
        except TimeoutError:
            self.cut(DOES_NOT_READ)
            raise ConnectionResetError("an MQTT client that does not read") from None
        except (OSError, ConnectionClosed):
            raise ConnectionResetError("an MQTT client that is gone") from None

    async def close(self) -> None:
        """Close the connection; data that was sent has a while to arrive."""
        if not self._is_closed:
            self._is_closed = self._is_over = True
            asyncio.get_running_loop().call_later(STALL_SECONDS_MAX, self.abort)
            await self._shut()

    def get_peer_info(self) -> tuple[str, int] | None:
        """Return the client's address and port, or None if it is gone."""
        peer: tuple[str, int] | None = self._transport().get_extra_info("peername")
        return peer and peer[:2]

    def get_ssl_info(self) -> ssl.SSLObject | None:
        """Return None: there is no TLS here."""
        return None

    async def _next(self) -> bytes:
        """Return the next packet, or nothing after the last one or one that is not allowed."""
        try:
            while self._waiting() > (SERVICE_WAITING_MAX if self._is_service() else DEVICE_WAITING_MAX):  # noqa: ASYNC110  # passes soon
                await asyncio.sleep(WAITING_SECONDS)
            await self._allowance.until_any()
            if not self._is_over:
                async with asyncio.timeout(self._silence_seconds_max):
                    head, body = await self._packet_from_client()
                self._weigh(Packet(head[0] >> 4, head[0] & 0xF, body))
                return head + body
        except TimeoutError:
            self._end("silent for too long")
        except OtherVersion as error:
            self._end(str(error))
            self.write(_CONNACK_OTHER_VERSION)
            await self.drain()
        except MalformedPacket as error:
            self._end(str(error))
        except (asyncio.IncompleteReadError, OSError, ConnectionClosed):
            self._is_over = True
        return b""

    def _weigh(self, packet: Packet) -> None:
        """Count a packet against the allowance of its sender. Raises MalformedPacket."""
        cost = packets.cost(packet, is_first=self._is_first)
        self._is_first = False
        if self._session is not None and packet.is_qos_2 and len(self._session.inflight_in) >= UNRELEASED_MAX:
            raise MalformedPacket("too many messages of QoS 2 that are not released")
        if not self._is_service():
            self._allowance.spend(cost)

    async def _packet_from_client(self) -> tuple[bytes, bytes]:
        """Return a packet's head and body. Raises MalformedPacket for a size that is invalid or too large."""
        head, length = bytearray(await self._receive(1)), 0
        for shift in range(0, 7 * _LENGTH_BYTES_MAX, 7):
            head += await self._receive(1)
            length |= (head[-1] & 0x7F) << shift
            if not head[-1] & 0x80:
                break
        else:
            raise MalformedPacket("a packet without a proper length")
        if length > (SERVICE_PACKET_BYTES_MAX if self._is_service() else DEVICE_PACKET_BYTES_MAX):
            raise MalformedPacket("a packet over the size limit")
        return bytes(head), await self._receive(length)

    def _is_service(self) -> bool:
        return self._session is not None and bool(self._session.attributes.get(IS_SERVICE))

    def _end(self, reason: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._tally.count(reason)

    def abort(self) -> None:
        """End the connection at once."""
        self._transport().abort()

    @abstractmethod
    async def _receive(self, n: int) -> bytes:
        """Return exactly `n` bytes. Raises OSError, IncompleteReadError or ConnectionClosed."""

    @abstractmethod
    async def _send(self, data: bytes) -> None:
        """Send, and wait if too much is under way. Raises OSError or ConnectionClosed."""

    @abstractmethod
    async def _shut(self) -> None:
        """End the connection once all is sent."""

    @abstractmethod
    def _transport(self) -> asyncio.WriteTransport:
        """Return the transport below."""


class WriteLock(asyncio.Lock):
    """The lock by which amqtt sends a client one packet at a time. A client for which it is never free is cut off.

    Otherwise the packets that wait for a slow reader would grow without bound.
    """

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link
        self._users = 0
        self._was_free_at = 0.0

    async def acquire(self) -> Literal[True]:
        """Wait for a turn."""
        now = time.monotonic()
        if not self._users:
            self._was_free_at = now
        elif now - self._was_free_at > BEHIND_SECONDS_MAX:
            self._link.cut(DOES_NOT_READ)
        self._users += 1
        try:
            return await super().acquire()
        except BaseException:  # cancelled while it waits: there is no turn to give back
            self._users -= 1
            raise

    def release(self) -> None:
        """Give the next one its turn."""
        super().release()
        self._users -= 1


class TcpLink(Link):
    """MQTT over TCP."""

    def __init__(self, reader: StreamReader, writer: StreamWriter, tally: Tally, waiting: Callable[[], int]) -> None:
        super().__init__(tally, waiting)
        self._reader = reader
        self._writer = writer

    async def _receive(self, n: int) -> bytes:
        return await self._reader.readexactly(n)

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def _shut(self) -> None:
        self._writer.close()

    def _transport(self) -> asyncio.WriteTransport:
        return self._writer.transport


class WebSocketLink(Link):
    """MQTT over WebSocket: packets may be split and joined over frames [MQTT-6.0.0-2]."""

    def __init__(self, socket: ServerConnection, tally: Tally, waiting: Callable[[], int]) -> None:
        super().__init__(tally, waiting)
        self._socket = socket
        self._received = bytearray()

    async def _receive(self, n: int) -> bytes:
        while len(self._received) < n:
            frame = await self._socket.recv()
            if isinstance(frame, str):  # [MQTT-6.0.0-1]
                raise MalformedPacket("text where WebSocket frames must be binary")
            self._received += frame
        taken = bytes(self._received[:n])
        del self._received[:n]
        return taken

    async def _send(self, data: bytes) -> None:
        await self._socket.send(data)

    async def _shut(self) -> None:
        await self._socket.close()

    def _transport(self) -> asyncio.WriteTransport:
        return self._socket.transport
