"""The embedded MQTT broker: amqtt, MQTT 3.1.1, over TCP and optionally WebSocket.

It runs in a thread with a separate event loop, so that one broker serves every worker process.
`rights.py` has the rights of clients, `links.py` and `packets.py` limit the packets and the cost of each client, and
`amqtt_fixes.py` works around faults of amqtt.
"""

import asyncio
import errno
import ipaddress
import logging
import os
import secrets
import socket
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any, NamedTuple
from weakref import WeakSet

import structlog
from amqtt.contexts import BrokerConfig, ListenerConfig, ListenerType
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from saleroom.broker.amqtt_fixes import FixedBroker
from saleroom.broker.links import DEVICE_PACKET_BYTES_MAX, Link, TcpLink, WebSocketLink
from saleroom.broker.rights import Rights
from saleroom.kernel.server_urls import authority
from saleroom.logs import Tally

HOST = "127.0.0.1"
PORT = 1883
CONNECTIONS_MAX = 500
STOP_SECONDS_MAX = 5.0
CLOSE_SECONDS_MAX = 2.0
KEEPALIVE = {socket.TCP_KEEPIDLE: 60, socket.TCP_KEEPINTVL: 15, socket.TCP_KEEPCNT: 4}
"""Seconds, seconds, times: how the system notices that a silent client is gone."""

_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # these mean "all addresses" when listening
_log = structlog.get_logger(__name__)


class BrokerAddress(NamedTuple):
    """The address at which the embedded broker listens, and the account that only the service knows.

    The service's client id must be as secret (such as `user`): with it a client could take over the connection.
    """

    host: str
    port: int
    user: str
    password: str
    websocket_port: int | None = None

    @property
    def url(self) -> str:
        """The URL by which this machine reaches it, even if it listens on all addresses."""
        return f"mqtt://{reached_at(self.host, self.port)}"

    @property
    def shown(self) -> str:
        """The address at which it listens, for people."""
        places = [f"mqtt://{authority(self.host, self.port)}"]
        if self.websocket_port is not None:
            places.append(f"ws://{authority(self.host, self.websocket_port)}")
        return ", ".join(places)


def reached_at(host: str, port: int) -> str:
    """Return the address by which this machine reaches a listener at `host`, which may be all addresses."""
    return authority(_REACHED_AT.get(host, host), port)


class EmbeddedBroker:
    """A broker in a daemon thread: `start` it once, `stop` it once. Its retained messages are gone when it stops."""

    def __init__(
        self,
        prefix: str,
        host: str = HOST,
        port: int = PORT,
        websocket_port: int | None = None,
        *,
        falls_back: bool = False,
        origins: Sequence[str] = (),
    ) -> None:
        """`prefix` is that of all topics; port 0 is a free one. `falls_back`: if `port` is in use, take a free one.

        Only pages of `origins` may connect by WebSocket. A program sends no Origin, or like paho-mqtt the broker's own address,
        and is let in.
        """
        self._prefix = prefix
        self._host = host
        self._port = port
        self._websocket_port = websocket_port
        self._falls_back = falls_back
        self._origins = frozenset(origins)
        self._started: Future[BrokerAddress] = Future()
        self._stop: Callable[[], object] | None = None
        self._links: set[Link] = set()
        self._transports: WeakSet[asyncio.WriteTransport] = WeakSet()
        """All TCP connections that may be open, also those that only have to send the rest of their data."""
        self._thread = threading.Thread(target=self._run, name="mqtt-broker", daemon=True)

    def start(self) -> BrokerAddress:
        """Listen, and return the address. Raises OSError, which names the address and the remedy."""
        self._thread.start()
        return self._started.result()

    def stop(self) -> None:
        """Close every connection and wait for the thread, at most `STOP_SECONDS_MAX`."""
        if self._stop is not None and self._started.exception() is None:
            self._stop()
        self._thread.join(STOP_SECONDS_MAX)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve(self) -> None:
        _quiet()
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._stop = lambda: loop.call_soon_threadsafe(stop.set)
        tally = Tally("MQTT clients were cut off, or not heard")
        loop.set_exception_handler(lambda _, context: _count_fault(tally, context))
        listener, websocket_listener = self._listeners()
        address = BrokerAddress(
            self._host,
            listener.getsockname()[1],
            f"service-{secrets.token_hex(8)}",
            secrets.token_urlsafe(),
            None if websocket_listener is None else websocket_listener.getsockname()[1],
        )
        rights = {"user": address.user, "password": address.password, "prefix": self._prefix}
        broker = FixedBroker(
            BrokerConfig(
                listeners={"default": ListenerConfig(type=ListenerType.EXTERNAL)},
                plugins={f"{Rights.__module__}.{Rights.__name__}": rights},
            ),
            tally,
        )
        await broker.start()
        server = await self._serve_tcp(broker, tally, listener)
        websockets = (
            None if websocket_listener is None else await self._serve_websocket(broker, tally, websocket_listener)
        )
        if not _is_local(self._host):
            _log.warning(
                "the embedded MQTT broker listens beyond this machine without encryption: anyone who can listen to the "
                "network can read the tokens of bids; use a broker with TLS instead, as docs/mqtt.md says",
                mqtt_host=self._host,
            )
        self._started.set_result(address)
        await stop.wait()
        await _accept_no_more(server, websockets)
        server.close()
        if websockets is not None:
            websockets.close()
            await websockets.wait_closed()
        await broker.shutdown()
        for transport in self._transports:
            transport.abort()
        await asyncio.sleep(0)  # lets the loop close their sockets

    def _listeners(self) -> tuple[socket.socket, socket.socket | None]:
        """Take the ports. Raises OSError."""
        try:
            listener = _listen(self._host, self._port, "mqtt_port")
        except OSError as error:
            if not self._falls_back or getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
                raise
            listener = _listen(self._host, 0, "mqtt_port")
            _log.warning(
                "the usual MQTT port is taken, so the embedded broker listens on another; mqtt_port chooses one, "
                "and mqtt a broker that is there already",
                taken=authority(self._host, self._port),
                listens_on=authority(self._host, listener.getsockname()[1]),
            )
        if self._websocket_port is None:
            return listener, None
        try:
            return listener, _listen(self._host, self._websocket_port, "mqtt_websocket_port")
        except OSError:
            listener.close()
            raise

    async def _serve_tcp(self, broker: FixedBroker, tally: Tally, listener: socket.socket) -> asyncio.Server:
        def connected(reader: StreamReader, writer: StreamWriter) -> Coroutine[Any, Any, None]:
            self._transports.add(writer.transport)  # before its task begins, which the end may prevent
            return self._welcome(broker, tally, TcpLink(reader, writer, tally, lambda: broker.waiting))

        return await asyncio.start_server(connected, sock=listener)

    async def _serve_websocket(self, broker: FixedBroker, tally: Tally, listener: socket.socket) -> Server:
        async def connected(connection: ServerConnection) -> None:
            await self._welcome(broker, tally, WebSocketLink(connection, tally, lambda: broker.waiting))

        def check(connection: ServerConnection, request: Request) -> Response | None:
            origins = request.headers.get_all("Origin")
            own = {f"http://{host}" for host in request.headers.get_all("Host")}
            if all(origin in self._origins | own for origin in origins) and len(origins) < 2:
                return None
            tally.count("a page of another origin")
            return connection.respond(HTTPStatus.FORBIDDEN, "Pages of this origin may not connect.\n")

        logger = logging.getLogger("saleroom.websocket")
        logger.setLevel(logging.CRITICAL)  # a traceback for each client that is not WebSocket
        return await serve(
            connected,
            sock=listener,
            process_request=check,
            subprotocols=[Subprotocol("mqtt")],  # [MQTT-6.0.0-3]
            compression=None,
            max_size=2 * DEVICE_PACKET_BYTES_MAX,
            max_queue=4,
            close_timeout=CLOSE_SECONDS_MAX,
            server_header=None,
            logger=logger,
        )

    async def _welcome(self, broker: FixedBroker, tally: Tally, link: Link) -> None:
        """Serve one client to its end."""
        if len(self._links) >= CONNECTIONS_MAX:
            link.cut("over the limit of connections")
            return
        self._links.add(link)
        try:
            await broker.external_connected(link, link, "default")
        except Exception as error:  # noqa: BLE001  # amqtt passes on any fault of a client's packet; it ends that client
            _count_fault(tally, {"exception": error, "message": "a client was cut off"})
        finally:
            self._links.discard(link)
            await link.close()


def _count_fault(tally: Tally, context: dict[str, Any]) -> None:
    """Count a fault that ends one client or one message: amqtt raises if a client misbehaves or is gone."""
    error = context.get("exception")
    tally.count(type(error).__name__ if error else "a fault without a name")
    _log.debug("a fault in the embedded MQTT broker", what=context["message"], exc_info=error)


def _quiet() -> None:
    """Silence amqtt: it logs a line or a traceback for every mistake of a client. The tally has what matters."""
    logging.getLogger("amqtt").setLevel(logging.CRITICAL)


def _listen(host: str, port: int, setting: str) -> socket.socket:
    """Take a port. Raises OSError with a message that names the address and the remedy."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else str(error)  # below 0: an unknown host name
        remedy = f"choose another with the setting {setting} (0 takes a free one) or mqtt_host"
        raise OSError(f"cannot listen for MQTT on {host} port {port}: {reason}; {remedy}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        listener.setsockopt(socket.IPPROTO_TCP, option, value)
    return listener


async def _accept_no_more(*servers: asyncio.Server | Server | None) -> None:
    """Let asyncio finish the connections that it has accepted. It would leave their sockets open if it closed first."""
    for server in servers:
        for listener in () if server is None else server.sockets:
            asyncio.get_running_loop().remove_reader(listener)
    await asyncio.sleep(0)  # they get their transports
    await asyncio.sleep(0)  # the transports are known


def _is_local(host: str) -> bool:
    """Say whether only this machine reaches a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
