"""Commands from devices over one connection: taken in order of arrival, answered as soon as they are decided."""

import asyncio
from collections import Counter

import aiomqtt
import structlog

from saleroom.logs import Tally
from saleroom.mqtt.connection import Connection, PublishRefusal, acknowledged
from saleroom.mqtt.topics import Ask, DeviceMessage, MqttSettings

HELD_MAX = 4096
"""Commands and answers under way. The handler answers `busy` long before; beyond this the broker cannot keep up."""
REPLY_SECONDS = 300
"""How long a broker of MQTT 5 keeps an answer for a device that is away."""

_log = structlog.get_logger(__name__)


class Inbox:
    """Listens on one connection after the other. `ask` None: the house takes no commands over MQTT."""

    def __init__(self, settings: MqttSettings, ask: Ask | None) -> None:
        self._filter = settings.commands_filter
        self._ask = ask
        self._connection: Connection | None = None
        self._held: set[asyncio.Task[None]] = set()
        self._cleared: Counter[str] = Counter()
        self._may_clear = True
        self._unanswered = Tally("MQTT commands without an answer")

    async def open(self, connection: Connection) -> None:
        """Listen. Raises SubscriptionRefusal, or aiomqtt.MqttError when the connection is lost."""
        if self._ask is not None:
            ask = self._ask
            self._cleared.clear()
            await connection.listen(self._filter, lambda arrived: self._take(connection, ask, arrived))
            self._connection = connection

    async def close(self) -> None:
        """Stop listening, and return when all commands are answered. Raises aiomqtt.MqttError when it is lost."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.unsubscribe(self._filter)
        if self._held:
            await asyncio.wait(self._held)

    async def abandon(self) -> None:
        """Cancel all answers: the connection is over."""
        self._connection = None
        for task in self._held:
            task.cancel()
        await asyncio.gather(*self._held, return_exceptions=True)

    def _take(self, connection: Connection, ask: Ask, arrived: DeviceMessage) -> None:
        if not arrived.payload and self._cleared[arrived.topic]:
            self._cleared[arrived.topic] -= 1
            return
        if len(self._held) >= HELD_MAX:
            self._unanswered.count("too many at once")
            return
        # Tasks begin in the order in which they are made.
        task = asyncio.create_task(self._answer(connection, ask, arrived))
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    async def _answer(self, connection: Connection, ask: Ask, arrived: DeviceMessage) -> None:
        reply = await ask(arrived)
        try:
            if arrived.retained:
                await self._clear(connection, arrived.topic)
            if reply is not None:
                await acknowledged(
                    connection.send(
                        reply.topic,
                        reply.payload,
                        expires=REPLY_SECONDS,
                        correlation=reply.correlation,
                        is_answer=True,
                    )
                )
        except PublishRefusal as error:
            self._unanswered.count(f"the broker refuses the answer: {error}")
        except aiomqtt.MqttError:
            self._unanswered.count("the connection was lost before the answer")

    async def _clear(self, connection: Connection, topic: str) -> None:
        """Remove a retained command: it would arrive again with each connection, and it holds a token.

        The house receives the removal as a message without payload. A broker that refuses is not asked again: some, such
        as Mosquitto 2.0.11, close the connection of a client that publishes without permission.
        """
        if not self._may_clear:
            return
        self._cleared[topic] += 1
        try:
            await acknowledged(connection.send(topic, b"", retain=True))
        except PublishRefusal as error:
            self._may_clear = False
            _log.warning("MQTT broker does not let the house take away stored commands", topic=topic, reason=str(error))
