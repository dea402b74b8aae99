"""A sale watched over MQTT: retained states and events, from any broker (docs/mqtt.md)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import aiomqtt
import msgspec
from aiomqtt import ProtocolVersion

from saleroom.kernel.identifiers import GID
from saleroom.mqtt_client import MqttClient
from saleroom.tools.connection_errors import BROKEN_OFF, UNHEARD, leave_unheard, why_mqtt
from saleroom.tools.errors import ToolError
from saleroom.tools.watch import messages
from saleroom.tools.watch.channel import Pauses, WatchOptions, tls_context
from saleroom.tools.watch.sale import Sale

PORTS = {"mqtt": 1883, "mqtts": 8883}
CONNECT_SECONDS_MAX = 10.0
KEEPALIVE_SECONDS = 20
FIRST_SECONDS_MAX = 5.0
"""How long a broker may take to send the retained messages."""
CHECK_SECONDS = 0.2
WAITING_MAX = 100_000
"""Messages that may wait here. More are dropped, which shows as a gap in the numbers of the events."""
_VERSIONS = {ProtocolVersion.V5: "5", ProtocolVersion.V311: "3.1.1"}
_BAD_ACCOUNT = ("bad user name or password", "not authorized")


class _WatchClient(MqttClient):
    def hung_up(self) -> aiomqtt.MqttError:
        """Return the error of a broker that hangs up before it has answered, in words for a terminal."""
        return aiomqtt.MqttError(BROKEN_OFF)


class MqttWatch:
    """Fills a sale over MQTT."""

    def __init__(self, options: WatchOptions, sale: Sale) -> None:
        self._options = options
        self._sale = sale
        self._pauses = Pauses()
        self._versions: Sequence[ProtocolVersion] = list(_VERSIONS)
        self._heard = False
        """Whether a message about the sale has ever come."""
        self._live = False
        """The same for the present connection."""
        self._attended: set[str] = set()
        """The lots of a sale whose events this connection brings."""

    async def run(self) -> None:
        """Watch until the one lot is over, or without end if all lots are watched. Raises ToolError."""
        leave_unheard(asyncio.get_running_loop())
        while True:
            try:
                await self._follow()
                return
            except aiomqtt.MqttError as error:
                reason = why_mqtt(error)
                if not self._heard:
                    raise ToolError(f"{self._options.url} cannot be watched: {reason}") from None
            seconds = self._pauses.next()
            self._sale.lost(reason, seconds)
            await asyncio.sleep(seconds)

    async def _follow(self) -> None:
        """Follow one connection until the one lot is over. Raises ToolError, or MqttError if it ends."""
        async with AsyncExitStack() as stack:
            client = await self._connect(stack)
            self._live = False
            self._attended.clear()
            await self._subscribe(client)
            duties = [asyncio.create_task(self._read(client)), asyncio.create_task(self._check())]
            try:
                done, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
                for duty in done:
                    duty.result()
            finally:
                for duty in duties:
                    duty.cancel()
                await asyncio.gather(*duties, return_exceptions=True)

    async def _connect(self, stack: AsyncExitStack) -> aiomqtt.Client:
        """Connect by MQTT 5, otherwise by 3.1.1, and next time by the version that worked. Raises MqttError."""
        error = aiomqtt.MqttError("no version tried")
        for version in self._versions:
            try:
                client = await stack.enter_async_context(self._client(version))
            except aiomqtt.MqttError as failed:
                error = failed
                if why_mqtt(failed) in _BAD_ACCOUNT:
                    break
            else:
                self._versions = [version]
                return client
        self._versions = list(_VERSIONS)
        raise error

    def _client(self, version: ProtocolVersion) -> aiomqtt.Client:
        parts = urlsplit(self._options.url)
        return _WatchClient(
            parts.hostname or "",
            parts.port or PORTS[parts.scheme],
            logger=UNHEARD,
            username=self._options.user,
            password=self._options.password,
            protocol=version,
            keepalive=KEEPALIVE_SECONDS,
            timeout=CONNECT_SECONDS_MAX,
            max_queued_incoming_messages=WAITING_MAX,
            tls_context=tls_context(self._options.ca_file) if parts.scheme == "mqtts" else None,
        )

    async def _subscribe(self, client: aiomqtt.Client) -> None:
        # Events first: an event between the two subscriptions then has a number above the state's.
        own = (self._topic("events"), self._topic("state"))
        for topic in (f"{self._options.prefix}status", *own):
            await self._subscribe_to(client, topic)

    async def _subscribe_to(self, client: aiomqtt.Client, topic: str) -> None:
        [granted] = await client.subscribe(topic, 1)
        if (granted if isinstance(granted, int) else granted.value) >= 128:
            raise ToolError(f"the broker at {self._options.url} does not let you subscribe to {topic}")

    async def _attend(self, client: aiomqtt.Client) -> None:
        """Follow the lot on the block, if it is another one; earlier ones are followed on, as a hammer may be undone."""
        lot = self._sale.block
        if lot is not None and lot not in self._attended and GID.fullmatch(lot):
            self._attended.add(lot)
            for what in ("events", "state"):
                await self._subscribe_to(client, self._topic(what, lot))

    def _topic(self, what: str, gid: str | None = None) -> str:
        """Return the topic of a lot, or without a gid of what is watched."""
        if gid is None and self._options.evening is not None:
            return f"{self._options.prefix}sales/{self._options.evening}/{what}"
        return f"{self._options.prefix}auctions/{gid or self._options.gid or '+'}/{what}"

    async def _read(self, client: aiomqtt.Client) -> None:
        """Take messages until the one lot is over. Raises MqttError if the connection ends."""
        task = asyncio.current_task()
        assert task is not None, "_follow starts it as a task"
        async for message in client.messages:
            self._pauses.reset()
            payload = message.payload
            assert isinstance(payload, bytes), "a received payload is bytes"
            try:
                match message.topic.value.removeprefix(self._options.prefix).split("/"):
                    case ["status"]:
                        self._status(payload)
                    case ["auctions", gid, "state"]:
                        self._state(gid, payload)
                    case ["auctions" | "sales", gid, "events"]:
                        await self._event(client, gid, payload)
                    case ["sales", gid, "state"] if payload:
                        self._state_of_sale(gid, payload)
                await self._attend(client)
            except (msgspec.DecodeError, UnicodeDecodeError):
                self._sale.notice(f"a message on {message.topic} does not come from a house")
            # On Python 3.11 the library's calls can swallow the cancellation of this task.
            if self._over or task.cancelling():
                return

    def _hear(self) -> None:
        """Note that a house uses the broker."""
        if not self._live:
            self._heard = self._live = True
            self._sale.connected(f"live from {self._options.url} by MQTT {_VERSIONS[self._versions[0]]}")

    def _status(self, payload: bytes) -> None:
        if self._options.gid is None and self._options.evening is None:
            self._hear()
        if b"offline" in payload:
            self._sale.notice("the house is offline, or another process of it takes over")

    def _state(self, gid: str, payload: bytes) -> None:
        if not payload:
            self._sale.drop(gid)
            return
        lot = messages.read_lot(payload)
        if lot.gid != gid:
            raise msgspec.DecodeError
        self._hear()
        self._sale.sequences.state(gid, lot.version, time.monotonic())
        if gid in self._sale.lots or gid == self._options.gid or not lot.over:
            self._sale.state(lot)

    def _state_of_sale(self, gid: str, payload: bytes) -> None:
        sale = messages.read_sale(payload)
        if sale.gid != gid:
            raise msgspec.DecodeError
        self._hear()
        self._sale.sequences.state(gid, sale.version, time.monotonic())
        self._sale.of_evening(sale)

    async def _event(self, client: aiomqtt.Client, gid: str, payload: bytes) -> None:
        event = messages.read_event(payload)
        if event.gid != gid:
            raise msgspec.DecodeError
        self._hear()
        complete = self._sale.event(payload.decode().replace("\n", " ").replace("\r", " "), event)
        if not complete:
            # A new subscription brings the retained state, which includes the changes of the missing events.
            topic = self._topic("state", None if event.of_sale else gid)
            await client.subscribe(topic, 1)
            if topic != self._topic("state"):
                await client.unsubscribe(topic)

    async def _check(self) -> None:
        """Report the events that have not come in time, until the one lot is over. Raises ToolError if nothing comes at all."""
        until = time.monotonic() + FIRST_SECONDS_MAX
        while not self._over:
            await asyncio.sleep(CHECK_SECONDS)
            now = time.monotonic()
            for gap in self._sale.sequences.overdue(now):
                self._sale.missing(gap)
            if not self._heard and now > until:
                lot, sale = self._options.gid, self._options.evening
                what = "its status" if lot is None else f"the state of a lot {lot}"
                what = what if sale is None else f"the state of a sale {sale}"
                raise ToolError(
                    f"no house has left {what} below {self._options.prefix} at {self._options.url}; check address and prefix"
                )

    @property
    def _over(self) -> bool:
        return self._sale.over and self._sale.sequences.settled(self._options.gid or self._options.evening or "")
