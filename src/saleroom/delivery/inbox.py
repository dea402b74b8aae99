"""What devices ask, over one connection: handed over in order of arrival, answered as soon as it is decided."""

import asyncio
from collections import Counter

import aiomqtt
import structlog

from saleroom.delivery.connection import Connection, PublishRefused, acknowledged
from saleroom.delivery.mqtt import Arrived, Ask, MqttSettings

HELD_MAX = 4096
"""Commands and answers under way. Whoever answers says `busy` long before; beyond it the broker does not keep up."""
REPLY_SECONDS = 300
"""How long a broker of MQTT 5 keeps an answer for a device that is away."""
TELL_SECONDS = 1.0

_log = structlog.get_logger(__name__)


class Tally:
    """Counts what happens by its reason, and logs it: the first at once, and then one line a second for all of them."""

    def __init__(self, line: str) -> None:
        self.counts: Counter[str] = Counter()
        self._line = line
        self._untold: Counter[str] = Counter()
        self._told = False

    def count(self, reason: str) -> None:
        """Take note of one. Call it in the event loop."""
        self.counts[reason] += 1
        self._untold[reason] += 1
        if not self._told:
            self._tell()

    def _tell(self) -> None:
        self._told = bool(self._untold)
        if self._told:
            _log.warning(self._line, reasons=dict(self._untold))
            self._untold.clear()
            asyncio.get_running_loop().call_later(TELL_SECONDS, self._tell)


class Inbox:
    """Listens for as long as a connection lasts. `ask` None: the house takes no commands over MQTT."""

    def __init__(self, connection: Connection, settings: MqttSettings, ask: Ask | None) -> None:
        self._connection = connection
        self._filter = settings.commands_filter
        self._ask = ask
        self._held: set[asyncio.Task[None]] = set()
        self._cleared: Counter[str] = Counter()
        self._is_open = False

    async def open(self) -> None:
        """Listen. Raises SubscriptionRefused, or aiomqtt.MqttError when the connection is lost."""
        if self._ask is not None:
            await self._connection.listen(self._filter, self._take)
            self._is_open = True

    async def close(self) -> None:
        """Listen no more, and return when all that has come is answered."""
        if self._is_open:
            self._is_open = False
            await self._connection.unsubscribe(self._filter)
        if self._held:
            await asyncio.wait(self._held)

    async def abandon(self) -> None:
        """Wait for nothing more: the connection is over."""
        for task in self._held:
            task.cancel()
        await asyncio.gather(*self._held, return_exceptions=True)

    def _take(self, arrived: Arrived) -> None:
        if not arrived.payload and self._cleared[arrived.topic]:
            self._cleared[arrived.topic] -= 1
            return
        if len(self._held) >= HELD_MAX:
            _undone.count("too_many")
            return
        # Tasks begin in the order in which they are made.
        task = asyncio.create_task(self._answer(arrived))
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    async def _answer(self, arrived: Arrived) -> None:
        assert self._ask is not None
        try:
            if arrived.retained:
                await self._clear(arrived.topic)
            reply = await self._ask(arrived)
            if reply is not None:
                await acknowledged(
                    self._connection.send(
                        reply.topic,
                        reply.payload,
                        expires=REPLY_SECONDS,
                        correlation=reply.correlation,
                        is_answer=True,
                    )
                )
        except PublishRefused as error:
            _undone.count(f"answer refused by the broker: {error}")
        except aiomqtt.MqttError:
            _undone.count("connection lost before the answer")

    async def _clear(self, topic: str) -> None:
        """Take a stored command away: it would come again with each connection, and it holds a token.

        The house hears of it itself, as a message without payload.
        """
        self._cleared[topic] += 1
        await acknowledged(self._connection.send(topic, b"", retain=True))


_undone = Tally("MQTT commands without an answer")
