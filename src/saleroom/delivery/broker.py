"""The embedded MQTT broker: amqtt, MQTT 3.1.1, on the loopback interface only.

It runs in a thread with an event loop of its own, so that one broker serves every worker process.
A device needs no account: it reads what is under the prefix, and publishes to `auctions/+/bids` only.
Nobody but the service reads those commands, because they carry tokens.

amqtt leaves open what is closed here: see `_Broker`, `_Reader` and `_Writer`.
"""

import asyncio
import hmac
import logging
import re
import secrets
import socket
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple, cast

import structlog
from amqtt.adapters import StreamReaderAdapter, StreamWriterAdapter
from amqtt.broker import Broker, BrokerContext, RetainedApplicationMessage
from amqtt.contexts import Action, BaseContext, BrokerConfig, ListenerConfig, ListenerType
from amqtt.plugins.base import BaseAuthPlugin, BaseTopicPlugin
from amqtt.session import Session

HOST = "127.0.0.1"
PORT = 1883
CONNECTIONS_MAX = 500
PACKET_BYTES_MAX = 1 << 20
STALL_SECONDS_MAX = 10.0
STOP_SECONDS_MAX = 5.0

_log = structlog.get_logger(__name__)
_IS_SERVICE = "saleroom.is_service"


class BrokerAddress(NamedTuple):
    """Where the embedded broker listens, and the account that only the service knows.

    The service's client id must be as secret (such as `user`): whoever knew it could take the connection over.
    """

    host: str
    port: int
    user: str
    password: str


class Rights(BaseAuthPlugin, BaseTopicPlugin):
    """Who may do what: the service everything, a device what the module's head says."""

    @dataclass
    class Config:
        """The service's account and the prefix of all topics."""

        user: str
        password: str
        prefix: str

    def __init__(self, context: BaseContext) -> None:
        super().__init__(context)
        self._config: Rights.Config = self.config
        self._bids = re.compile(re.escape(self._config.prefix) + r"auctions/[A-Za-z0-9_-]{1,64}/bids")

    async def authenticate(self, *, session: Session) -> bool:
        """Tell the service from a device; refuse only the service's name with a wrong password.

        amqtt publishes a Last Will without asking for rights, so a device's is dropped here where it has none.
        """
        named = _same(session.username, self._config.user)
        is_service = _same(session.password, self._config.password) and named
        session.attributes[_IS_SERVICE] = is_service
        session.is_anonymous = not is_service  # amqtt then keeps nothing for it while it is away
        if not self.allows(session, session.will_topic or "", Action.PUBLISH):
            session.will_flag = False
        return is_service or not named

    async def topic_filtering(
        self, *, session: Session | None = None, topic: str | None = None, action: Action | None = None
    ) -> bool:
        """The same as `allows`, in amqtt's form."""
        return session is not None and topic is not None and action is not None and self.allows(session, topic, action)

    def allows(self, session: Session, topic: str, action: Action) -> bool:
        """Say whether this client may publish to, subscribe to or receive from a topic.

        Any filter may be subscribed to (`#` too); what comes of it is decided message by message.
        """
        if session.attributes.get(_IS_SERVICE):
            return True
        is_bid = self._bids.fullmatch(topic) is not None
        match action:
            case Action.PUBLISH:
                return is_bid
            case Action.RECEIVE:
                return topic.startswith(self._config.prefix) and not is_bid
            case Action.SUBSCRIBE:
                return True

    async def on_broker_retained_message(
        self, *, client_id: str | None, retained_message: RetainedApplicationMessage
    ) -> None:
        """Forget what a device asked to retain: a bid is a command, and would be given again to each subscriber."""
        source = retained_message.source_session
        if client_id is None and retained_message.data and source and not source.attributes.get(_IS_SERVICE):
            cast("BrokerContext", self.context).retained_messages.pop(retained_message.topic, None)


class _Broker(Broker):
    """amqtt's broker without three faults of 0.12, each kept out by a test."""

    @property
    def _rights(self) -> Rights:
        return next(plugin for plugin in self.plugins_manager.plugins if isinstance(plugin, Rights))

    async def _topic_filtering(self, session: Session, topic: str, action: Action) -> bool:
        """Ask the plugin without giving way to another task.

        amqtt asks while it walks its table of subscriptions, in a task of its own: a client that subscribes
        at that moment changes the table, the walk ends in an error, and the rest do not get the message.
        """
        return self._rights.allows(session, topic, action)

    async def _delete_session(self, client_id: str) -> None:
        """End the connection that has this client id already [MQTT-3.1.4-2]; amqtt leaves it open beside the new one."""
        _, handler = self.sessions.get(client_id, (None, None))
        if handler is not None:
            await handler.handle_connection_closed()
            await handler.stop()
        await super()._delete_session(client_id)

    async def _publish_retained_messages_for_subscription(
        self, subscription: tuple[str, int], session: Session
    ) -> None:
        """Send retained messages to those who subscribed; amqtt sends a newcomer those of everybody's filters."""
        holders = self.subscriptions.get(subscription[0], ())
        if any(holder.client_id == session.client_id for holder, _ in holders):
            await super()._publish_retained_messages_for_subscription(subscription, session)


class _Reader(StreamReaderAdapter):
    """Reads packets up to a size; amqtt would take 256 MB into memory from anybody."""

    _is_cut = False

    async def read(self, n: int = -1) -> bytes:
        if self._is_cut or n > PACKET_BYTES_MAX:
            self._is_cut = True
            raise ConnectionResetError("an MQTT packet over the size limit")
        return await super().read(n)


class _Writer(StreamWriterAdapter):
    """Cuts off a client that does not read; amqtt would keep everything for it, and wait for it when it stops."""

    async def drain(self) -> None:
        try:
            async with asyncio.timeout(STALL_SECONDS_MAX):
                await super().drain()
        except TimeoutError:
            self._writer.transport.abort()
            raise ConnectionResetError("an MQTT client that does not read") from None

    async def close(self) -> None:
        if not self.is_closed:
            await self.drain()
        await super().close()


class EmbeddedBroker:
    """A broker in a daemon thread: `start` it once, `stop` it once. What it retains is gone when it stops."""

    def __init__(self, prefix: str, port: int = PORT) -> None:
        """`prefix` is that of all topics; `port` is taken if it is free, otherwise a free one."""
        self._prefix = prefix
        self._port = port
        self._started: Future[BrokerAddress] = Future()
        self._stop: Callable[[], object] | None = None
        self._thread = threading.Thread(target=self._run, name="mqtt-broker", daemon=True)

    def start(self) -> BrokerAddress:
        """Listen, and return where. Raises OSError where the machine gives no port at all."""
        self._thread.start()
        return self._started.result()

    def stop(self) -> None:
        """Close every connection and wait for the thread, at most `STOP_SECONDS_MAX`."""
        if self._stop is not None:
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
        listener = _listen(self._port)
        address = BrokerAddress(
            HOST, listener.getsockname()[1], f"service-{secrets.token_hex(8)}", secrets.token_urlsafe()
        )
        rights = {"user": address.user, "password": address.password, "prefix": self._prefix}
        broker = _Broker(
            BrokerConfig(
                listeners={"default": ListenerConfig(type=ListenerType.EXTERNAL)},
                plugins={f"{Rights.__module__}.{Rights.__name__}": rights},
            )
        )
        connections: set[StreamWriter] = set()

        async def connected(reader: StreamReader, writer: StreamWriter) -> None:
            if len(connections) >= CONNECTIONS_MAX:
                writer.transport.abort()
                return
            connections.add(writer)
            try:
                await broker.external_connected(_Reader(reader), _Writer(writer), "default")
            except Exception as error:  # noqa: BLE001  # amqtt lets any fault of a client's packet through; it ends that client
                _log.warning("an MQTT client was cut off", reason=repr(error))
            finally:
                connections.discard(writer)
                writer.close()

        await broker.start()
        server = await asyncio.start_server(connected, sock=listener)
        self._started.set_result(address)
        await stop.wait()
        server.close()
        await broker.shutdown()


def _quiet() -> None:
    """Keep amqtt's warnings, but not its line and its traceback for each message that a client did not acknowledge."""
    logging.getLogger("amqtt").setLevel(logging.WARNING)
    logging.getLogger("amqtt.mqtt.protocol.handler").setLevel(logging.ERROR)
    logging.getLogger("amqtt.broker").addFilter(_without_traceback)


def _without_traceback(record: logging.LogRecord) -> bool:
    return not record.exc_info


def _listen(port: int) -> socket.socket:
    """Take the port on the loopback interface, or a free one where it is taken."""
    try:
        return socket.create_server((HOST, port))
    except OSError:
        return socket.create_server((HOST, 0))


def _same(given: str | None, expected: str) -> bool:
    return hmac.compare_digest((given or "").encode(), expected.encode())
