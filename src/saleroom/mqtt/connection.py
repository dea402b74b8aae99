"""The service as an MQTT client: one connection to the broker, in MQTT 5 or 3.1.1.

aiomqtt runs paho in the event loop. This adds what it lacks: refusals by the broker (in the acknowledgement of MQTT 5),
answers that overtake waiting events, the broker's limits, and messages that are handed over at once.
"""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import aiomqtt
from paho.mqtt.client import MQTT_ERR_SUCCESS, Client, ConnectFlags, MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from saleroom.mqtt.topics import (
    KEEPALIVE_SECONDS,
    OFFLINE,
    ONLINE,
    QOS_AT_LEAST_ONCE,
    DeviceMessage,
    MqttSettings,
    Version,
)
from saleroom.mqtt_client import MqttClient
from saleroom.storage.leases import LeaseLapsed

IN_FLIGHT_MAX = 100
CONNECT_SECONDS_MAX = 10.0
ACKNOWLEDGE_SECONDS_MAX = 30.0
FAREWELL_SECONDS_MAX = 2.0
RECEIVED_BYTES_MAX = 64 * 1024
"""Announced to a broker of MQTT 5, which then sends no larger packet."""

_UNHEARD = logging.getLogger("saleroom.unheard")
_UNHEARD.setLevel(logging.CRITICAL)
"""For paho's log lines about lost connections; the relay logs them itself, once."""
PRIVATE_PARTS = ("_client", "_connected", "_disconnected")
PRIVATE_METHODS = ("_on_connect", "_on_message", "_on_publish")
"""The private parts of aiomqtt's Client that `Connection` uses, and the private methods that it overrides."""
_PROTOCOLS = {Version.V5: aiomqtt.ProtocolVersion.V5, Version.V311: aiomqtt.ProtocolVersion.V311}
_UNSUPPORTED = 132
_HEAD_BYTES_MAX = 64
"""More than the header and the properties that every message of ours has."""


class VersionRefusal(aiomqtt.MqttError):
    """The broker refuses this version of MQTT, by an answer or by closing the connection."""


class PublishRefusal(aiomqtt.MqttError):
    """The broker refused a message and gave the reason (MQTT 5). The connection lives on."""


class SubscriptionRefusal(aiomqtt.MqttError):
    """The broker does not let the house subscribe. The connection lives on."""


@dataclass(frozen=True)
class _Message:
    topic: str
    payload: bytes
    retain: bool
    properties: Properties | None
    acknowledged: asyncio.Future[None]


class Connection(MqttClient):
    """One connection. `version` is its version of MQTT."""

    def __init__(self, settings: MqttSettings, version: Version) -> None:
        """Raises aiomqtt.MqttError if the authority file can no longer be used."""
        self.version = version
        self._lasts: Callable[[], bool] = lambda: True
        self._unwritten: Callable[[], bool] | None = None
        """The term of messages other than answers that paho has not written to the socket yet; None without any."""
        self._arrived: Callable[[DeviceMessage], None] | None = None
        self._answers: deque[_Message] = deque()
        self._others: deque[_Message] = deque()
        self._in_flight: dict[int, _Message] = {}
        self._in_flight_max = IN_FLIGHT_MAX
        self._bytes_max: int | None = None
        try:
            tls_context = settings.tls_context()
        except ValueError as error:
            raise aiomqtt.MqttError(str(error)) from error
        is_5 = version is Version.V5
        super().__init__(
            settings.host,
            settings.port,
            protocol=_PROTOCOLS[version],
            username=settings.user,
            password=settings.password,
            identifier=settings.client_id,
            will=aiomqtt.Will(
                settings.status_topic,
                OFFLINE,
                QOS_AT_LEAST_ONCE,
                retain=True,
                properties=_properties(PacketTypes.WILLMESSAGE, ContentType="application/json") if is_5 else None,
            ),
            clean_session=None if is_5 else True,  # a session of MQTT 5 is new by default, and ends with the connection
            properties=_properties(PacketTypes.CONNECT, MaximumPacketSize=RECEIVED_BYTES_MAX) if is_5 else None,
            keepalive=KEEPALIVE_SECONDS,
            timeout=CONNECT_SECONDS_MAX,
            max_inflight_messages=0,  # unlimited in paho, as they are counted here
            tls_context=tls_context,
            logger=_UNHEARD,
            socket_options=[
                (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ],  # an answer must not wait for the event before it
        )

    async def listen(self, topic_filter: str, arrived: Callable[[DeviceMessage], None]) -> None:
        """Subscribe at QoS 1. Raises SubscriptionRefusal if the broker does not allow it."""
        self._arrived = arrived
        for code in await self.subscribe(topic_filter, QOS_AT_LEAST_ONCE):
            if isinstance(code, ReasonCode) and code.is_failure:
                raise SubscriptionRefusal(str(code))

    def begin_term(self, lasts: Callable[[], bool]) -> None:
        """Publish from now on only while `lasts()`; answers leave in any case. See `storage.leases.Lease`."""
        self._lasts = lasts

    def send(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        expires: int | None = None,
        correlation: bytes | None = None,
        is_answer: bool = False,
    ) -> asyncio.Future[None]:
        """Publish at least once; the future is done when the broker has acknowledged.

        Messages leave in the order of the calls, but answers leave first. `expires` (seconds)
        and `correlation` are for MQTT 5 and otherwise left out. The future raises PublishRefusal, LeaseLapsed if the term has
        ended before a message left, or aiomqtt.MqttError when the connection is lost; `acknowledged` adds a deadline.
        """
        properties = None
        if self.version is Version.V5:
            properties = _common(expires) if correlation is None else _publish_properties(expires, correlation)
        message = _Message(topic, payload, retain, properties, asyncio.get_running_loop().create_future())
        if self._bytes_max is not None and _size(message, correlation) > self._bytes_max:
            message.acknowledged.set_exception(PublishRefusal("Packet too large"))
        elif self._disconnected.done():
            message.acknowledged.set_exception(aiomqtt.MqttError("the connection to the broker was lost"))
        else:
            (self._answers if is_answer else self._others).append(message)
            self._fill()
        return message.acknowledged

    def _fill(self) -> None:
        """Hand waiting messages to paho, as many as may be in flight."""
        while len(self._in_flight) < self._in_flight_max and (queue := self._answers or self._others):
            message = queue.popleft()
            if message.acknowledged.done():
                continue
            if queue is self._others:
                if not self._lasts():
                    message.acknowledged.set_exception(LeaseLapsed())
                    continue
                self._unwritten = self._unwritten or self._lasts
            info = self._client.publish(
                message.topic, message.payload, QOS_AT_LEAST_ONCE, message.retain, message.properties
            )
            if info.rc == MQTT_ERR_SUCCESS:
                self._in_flight[info.mid] = message
            elif not message.acknowledged.done():
                message.acknowledged.set_exception(aiomqtt.MqttCodeError(info.rc, "Could not publish message"))

    def write(self, client: Client) -> None:
        """Write what waits. Raises LeaseLapsed once the term is over, as part of a message may have left."""
        if self._unwritten is not None and not self._unwritten():
            raise LeaseLapsed("the lease ran out before a message had left")
        super().write(client)
        if not client.want_write():
            self._unwritten = None

    def hung_up(self) -> aiomqtt.MqttError:
        """Return what a broker means that hangs up before it has answered: many do so that do not know a version."""
        return VersionRefusal("the broker closed the connection before it answered")

    def _on_connect(
        self,
        client: Client,
        userdata: Any,
        flags: ConnectFlags,
        reason_code: ReasonCode,
        properties: Properties | None = None,
    ) -> None:
        """Keep the broker's limits; paho ignores them."""
        self._in_flight_max = min(IN_FLIGHT_MAX, getattr(properties, "ReceiveMaximum", IN_FLIGHT_MAX))
        self._bytes_max = getattr(properties, "MaximumPacketSize", None)
        if reason_code.value == _UNSUPPORTED and not self._connected.done():
            self._connected.set_exception(VersionRefusal(f"the broker refuses MQTT {self.version}"))
        super()._on_connect(client, userdata, flags, reason_code, properties)

    def _on_publish(
        self, client: Client, userdata: Any, mid: int, reason_code: ReasonCode, properties: Properties
    ) -> None:
        """Take an acknowledgement, which may be a refusal; aiomqtt ignores the reason code."""
        message = self._in_flight.pop(mid, None)
        if message is None:
            super()._on_publish(client, userdata, mid, reason_code, properties)
        elif not message.acknowledged.done():
            if reason_code.is_failure:
                message.acknowledged.set_exception(PublishRefusal(str(reason_code)))
            else:
                message.acknowledged.set_result(None)
        self._fill()

    def _on_message(self, client: Client, userdata: Any, message: MQTTMessage) -> None:
        """Hand a message over at once; aiomqtt's queue would need a task for each message."""
        if self._arrived is None:
            return
        try:
            topic = message.topic
        except UnicodeDecodeError:
            topic = ""  # not that of any auction
        properties = message.properties
        self._arrived(
            DeviceMessage(
                topic,
                bytes(message.payload),
                message.retain,
                getattr(properties, "ResponseTopic", None),
                getattr(properties, "CorrelationData", None),
            )
        )

    def lost(self, disconnected: asyncio.Future[None]) -> None:
        """Fail all futures that wait for an acknowledgement."""
        reason = None if disconnected.cancelled() else disconnected.exception()
        for message in (*self._in_flight.values(), *self._answers, *self._others):
            if not message.acknowledged.done():
                error = aiomqtt.MqttError("the connection to the broker was lost")
                error.__cause__ = reason
                message.acknowledged.set_exception(error)
        for queue in (self._in_flight, self._answers, self._others):
            queue.clear()

    async def __aenter__(self) -> Self:
        """Connect. Raises VersionRefusal, or aiomqtt.MqttError for any other reason."""
        await super().__aenter__()
        self._disconnected.add_done_callback(self.lost)
        return self

    async def closed(self) -> None:
        """Wait until the connection is lost, then raise aiomqtt.MqttError."""
        await asyncio.wait([self._disconnected])
        raise aiomqtt.MqttError("the connection to the broker was lost") from self._disconnected.exception()


async def acknowledged(*messages: asyncio.Future[None]) -> None:
    """Return when the broker has acknowledged all of them. If it does not, messages that still wait are not sent.

    Raises PublishRefusal, or aiomqtt.MqttError without an acknowledgement.
    """
    try:
        async with asyncio.timeout(ACKNOWLEDGE_SECONDS_MAX):
            await asyncio.gather(*messages)
    except TimeoutError:
        raise aiomqtt.MqttError("the broker does not acknowledge what is published") from None
    finally:
        for message in messages:
            message.cancel()


@asynccontextmanager
async def connect(settings: MqttSettings, first: Version = Version.V5) -> AsyncIterator[Connection]:
    """Connect; under `auto` in the version `first`, and at once in the other one if the broker refuses it.

    All processes share one client id: the broker cuts the older connection off, so that two never publish at once.
    Raises aiomqtt.MqttError if the broker cannot be reached, refuses, or does not answer.
    """
    if settings.version is not Version.AUTO:
        first = settings.version
    connection = Connection(settings, first)
    try:
        await connection.__aenter__()
    except VersionRefusal as error:
        if settings.version is not Version.AUTO:
            raise aiomqtt.MqttError(f"{error}; mqtt_version is {first}, try auto") from error
        connection = Connection(settings, Version.V311 if first is Version.V5 else Version.V5)
        await connection.__aenter__()
    try:
        yield connection
    finally:
        with suppress(aiomqtt.MqttError):  # `closed` reports a lost connection
            await connection.__aexit__(None, None, None)


@asynccontextmanager
async def online(connection: Connection, settings: MqttSettings) -> AsyncIterator[None]:
    """Retain `ONLINE` as the status, and `OFFLINE` on the way out; the Last Will does so for a dead process."""
    await acknowledged(connection.send(settings.status_topic, ONLINE, retain=True))
    try:
        yield
    finally:
        with suppress(aiomqtt.MqttError, TimeoutError):  # the broker then publishes the Last Will
            async with asyncio.timeout(FAREWELL_SECONDS_MAX):
                await connection.send(settings.status_topic, OFFLINE, retain=True, is_answer=True)


def _size(message: _Message, correlation: bytes | None) -> int:
    """Return a little more than the bytes of the packet."""
    return _HEAD_BYTES_MAX + len(message.topic.encode()) + len(message.payload) + len(correlation or b"")


class _PackedProperties(Properties):
    """Properties that are encoded once; paho encodes them for each message, which takes as long as the rest."""

    def __init__(self, properties: Properties) -> None:
        object.__setattr__(self, "packed", properties.pack())  # type: ignore[no-untyped-call]  # paho has no types here

    def pack(self) -> bytes:
        """Return the bytes."""
        packed: bytes = object.__getattribute__(self, "packed")
        return packed


@cache
def _common(expires: int | None) -> Properties:
    return _PackedProperties(_publish_properties(expires, None))


def _publish_properties(expires: int | None, correlation: bytes | None) -> Properties:
    named: dict[str, Any] = {"ContentType": "application/json"}
    if expires is not None:
        named["MessageExpiryInterval"] = expires
    if correlation is not None:
        named["CorrelationData"] = correlation
    return _properties(PacketTypes.PUBLISH, **named)


def _properties(packet_type: int, **named: Any) -> Properties:
    properties = Properties(packet_type)  # type: ignore[no-untyped-call]  # paho has no types here
    for name, value in named.items():
        setattr(properties, name, value)
    return properties
