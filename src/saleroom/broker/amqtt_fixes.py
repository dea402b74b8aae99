"""amqtt's broker without the faults of 0.12 that matter here; each fix has a test.

The docstring of each override names the fault. `pyproject.toml` bounds the versions of amqtt.
"""

import asyncio
from typing import Any, cast

from amqtt.adapters import ReaderAdapter, WriterAdapter
from amqtt.broker import Broker, Server
from amqtt.contexts import Action, BrokerConfig, ListenerConfig
from amqtt.mqtt.protocol.broker_handler import BrokerProtocolHandler
from amqtt.session import Session

from saleroom.broker.links import IS_SERVICE, Link, WriteLock
from saleroom.broker.packets import FILTER_CHARACTERS_MAX, FILTERS_MAX
from saleroom.broker.rights import Rights
from saleroom.logs import Tally

PRIVATE_PARTS = {
    Broker: (
        "_authenticate",
        "_broadcast_queue",
        "_cleanup_session",
        "_client_message_loop",
        "_del_subscription",
        "_delete_session",
        "_get_handler",
        "_handle_client_session",
        "_handle_message_delivery",
        "_initialize_client_session",
        "_matches",
        "_publish_retained_messages_for_subscription",
        "_topic_filtering",
    ),
    BrokerProtocolHandler: ("_reader_task", "_write_lock"),
}
"""The private parts of amqtt that this module overrides or uses."""
_REFUSED = 0x80
_FILTERS = "saleroom.filters"
_CARRIED = (
    "client_id", "keep_alive", "username", "password", "will_flag", "will_message", "will_qos", "will_retain",
    "will_topic", "remote_address", "remote_port",
)  # fmt: skip


class FixedBroker(Broker):
    """amqtt's broker with the fixes. Pass connections to `external_connected`, each as a `Link`."""

    def __init__(self, config: BrokerConfig, tally: Tally) -> None:
        super().__init__(config)
        self._tally = tally

    @property
    def waiting(self) -> int:
        """How many messages wait for delivery."""
        return self._broadcast_queue.qsize()

    @property
    def _rights(self) -> Rights:
        return next(plugin for plugin in self.plugins_manager.plugins if isinstance(plugin, Rights))

    async def _topic_filtering(self, session: Session, topic: str, action: Action) -> bool:
        """Ask the plugin without giving way to another task.

        amqtt asks in a new task while it walks its table of subscriptions. A client that subscribes at that moment
        changes the table; then the walk ends in an error, and the rest do not get the message.
        """
        return self._rights.allows(session, topic, action)

    def _matches(self, topic: str, a_filter: str) -> bool:
        """Match as the standard says, but let no wildcard show an answer to a command."""
        return topic == a_filter if self._rights.needs_its_name(topic) else super()._matches(topic, a_filter)

    async def _initialize_client_session(
        self, reader: ReaderAdapter, writer: WriterAdapter, remote_address: str, remote_port: int
    ) -> tuple[BrokerProtocolHandler, Session]:
        """Give every client a new session; amqtt would give the old session to two connections, and end both."""
        handler, session = await super()._initialize_client_session(reader, writer, remote_address, remote_port)
        if self.sessions.get(session.client_id or "", (None,))[0] is session:
            given, session = session, Session()
            for name in _CARRIED:
                setattr(session, name, getattr(given, name))
        return handler, session

    async def _authenticate(self, session: Session, listener: ListenerConfig) -> bool:
        """Also end clients that connected with the same client id in the meantime."""
        is_let_in = await super()._authenticate(session, listener)
        while session.client_id in self.sessions:
            await self._delete_session(session.client_id)
        return is_let_in

    async def _handle_client_session(
        self,
        reader: ReaderAdapter,
        writer: WriterAdapter,
        client_session: Session,
        handler: BrokerProtocolHandler,
        server: Server,
        listener_name: str,
    ) -> None:
        """Clean up after a client, however it ended; amqtt keeps sessions of clients that it refuses."""
        link = cast("Link", reader)
        link.begin(client_session)
        handler._write_lock = WriteLock(link)  # noqa: SLF001  # the only place to notice a client that never catches up
        try:
            await super()._handle_client_session(reader, writer, client_session, handler, server, listener_name)
        finally:
            client_id = client_session.client_id or ""
            if self.sessions.get(client_id, (None, None))[1] is handler:
                await self._cleanup_session(client_id)

    async def _client_message_loop(self, client_session: Session, handler: BrokerProtocolHandler) -> None:
        """Notice a client that left before the loop began; amqtt would wait for its end forever."""
        reading = handler._reader_task  # noqa: SLF001  # the only sign of it
        if reading is None or reading.done():
            await handler.handle_connection_closed()
        await super()._client_message_loop(client_session, handler)

    async def _delete_session(self, client_id: str) -> None:
        """End the connection that has this client id already [MQTT-3.1.4-2]; amqtt leaves it open beside the new one."""
        _, handler = self.sessions.get(client_id, (None, None))
        if handler is not None:
            await handler.handle_connection_closed()
            await handler.stop()
        await super()._delete_session(client_id)

    async def _handle_message_delivery(
        self, client_session: Session, handler: BrokerProtocolHandler, wait_deliver: asyncio.Future[Any]
    ) -> bool:
        """Drop messages that a device may not publish, and retain none: each new subscriber would get the bid again."""
        message = wait_deliver.result()
        if message is not None and not client_session.attributes.get(IS_SERVICE):
            if not self._rights.takes(client_session, message.topic, message.data):
                self._tally.count("published where it may not, or too much")
                return True
            message.publish_packet.retain_flag = False
        return await super()._handle_message_delivery(client_session, handler, wait_deliver)

    async def add_subscription(self, subscription: tuple[str, int], session: Session) -> int:
        """Accept a filter unless it is too long or the device has too many: every message is matched against each."""
        held: set[str] = session.attributes.setdefault(_FILTERS, set())
        room = subscription[0] in held or len(held) < FILTERS_MAX or session.attributes.get(IS_SERVICE)
        if not room or len(subscription[0]) > FILTER_CHARACTERS_MAX:
            self._tally.count("asked for too many subscriptions")
            return _REFUSED
        code = await super().add_subscription(subscription, session)
        if code != _REFUSED:
            held.add(subscription[0])
        return code

    def _del_subscription(self, a_filter: str, session: Session) -> int:
        session.attributes.get(_FILTERS, set()).discard(a_filter)
        return super()._del_subscription(a_filter, session)

    async def _publish_retained_messages_for_subscription(
        self, subscription: tuple[str, int], session: Session
    ) -> None:
        """Send retained messages for the new filter; amqtt sends those of all clients' filters.

        A wildcard is matched against all of them, so other tasks run first.
        """
        topic_filter, qos = subscription
        if topic_filter not in session.attributes.get(_FILTERS, ()):
            return
        if "+" in topic_filter or "#" in topic_filter:
            await asyncio.sleep(0)
            kept = [message for topic, message in self.retained_messages.items() if self._matches(topic, topic_filter)]
        else:
            kept = [self.retained_messages[topic_filter]] if topic_filter in self.retained_messages else []
        handler = self._get_handler(session)
        if handler is not None:
            sends = [handler.mqtt_publish(sent.topic, sent.data, min(qos, sent.qos or 0), True) for sent in kept]
            await asyncio.gather(*sends, return_exceptions=True)  # a message without acknowledgement is given up
