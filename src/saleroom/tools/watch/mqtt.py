"""A house over MQTT: retained states and events, from whatever broker carries them (docs/mqtt.md)."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import aiomqtt
import msgspec
from aiomqtt import ProtocolVersion
from paho.mqtt.reasoncodes import ReasonCode

from saleroom.tools.watch import lots
from saleroom.tools.watch.channel import CannotWatch, Pauses, Plan, tls_context
from saleroom.tools.watch.sale import Sale

PORTS = {"mqtt": 1883, "mqtts": 8883}
CONNECT_SECONDS_MAX = 10.0
KEEPALIVE_SECONDS = 20
FIRST_SECONDS_MAX = 5.0
"""How long a broker may take to send what is retained."""
CHECK_SECONDS = 0.2
WAITING_MAX = 100_000
"""Messages that may wait here. What comes beyond that is dropped, which the numbers of the events tell."""
_VERSIONS = {ProtocolVersion.V5: "5", ProtocolVersion.V311: "3.1.1"}
_BAD_ACCOUNT = ("bad user name or password", "not authorized")


class MqttWatch:
    """Fills a sale over MQTT."""

    def __init__(self, plan: Plan, sale: Sale) -> None:
        self._plan = plan
        self._sale = sale
        self._pauses = Pauses()
        self._versions: Sequence[ProtocolVersion] = list(_VERSIONS)
        self._heard = False
        """Whether anything of what is watched has ever come."""
        self._live = False
        """The same, for the present connection."""

    async def run(self) -> None:
        """Watch until the one lot is over, without end where all are watched. Raises CannotWatch."""
        while True:
            try:
                await self._follow()
                return
            except aiomqtt.MqttError as error:
                reason = _reason(error)
                if not self._heard:
                    raise CannotWatch(f"{self._plan.url} cannot be watched: {reason}") from None
            seconds = self._pauses.next()
            self._sale.lost(reason, seconds)
            await asyncio.sleep(seconds)

    async def _follow(self) -> None:
        """Follow one connection until the one lot is over. Raises CannotWatch, or MqttError where it ends."""
        async with AsyncExitStack() as stack:
            client = await self._connect(stack)
            await self._subscribe(client)
            self._live = False
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
        """Connect by MQTT 5, else by 3.1.1, and next time by what has worked. Raises MqttError."""
        error = aiomqtt.MqttError("no version tried")
        for version in self._versions:
            try:
                client = await stack.enter_async_context(self._client(version))
            except aiomqtt.MqttError as failed:
                error = failed
                if _reason(failed) in _BAD_ACCOUNT:
                    break
            else:
                self._versions = [version]
                return client
        self._versions = list(_VERSIONS)
        raise error

    def _client(self, version: ProtocolVersion) -> aiomqtt.Client:
        parts = urlsplit(self._plan.url)
        return aiomqtt.Client(
            parts.hostname or "",
            parts.port or PORTS[parts.scheme],
            username=self._plan.user,
            password=self._plan.password,
            protocol=version,
            keepalive=KEEPALIVE_SECONDS,
            timeout=CONNECT_SECONDS_MAX,
            max_queued_incoming_messages=WAITING_MAX,
            tls_context=tls_context(self._plan.ca_file) if parts.scheme == "mqtts" else None,
        )

    async def _subscribe(self, client: aiomqtt.Client) -> None:
        # Events first: what happens between the two comes as an event, and its number is above the state's.
        for topic in (f"{self._plan.prefix}status", self._topic("events"), self._topic("state")):
            [granted] = await client.subscribe(topic, 1)
            if (granted if isinstance(granted, int) else granted.value) >= 128:
                raise CannotWatch(f"the broker at {self._plan.url} does not let you subscribe to {topic}")

    def _topic(self, what: str, gid: str | None = None) -> str:
        return f"{self._plan.prefix}auctions/{gid or self._plan.gid or '+'}/{what}"

    async def _read(self, client: aiomqtt.Client) -> None:
        """Take messages until the one lot is over. Raises MqttError where the connection ends."""
        task = asyncio.current_task()
        assert task is not None, "this is a task of its own"
        async for message in client.messages:
            self._pauses.reset()
            payload = message.payload
            assert isinstance(payload, bytes), "whatever comes from a broker is bytes"
            try:
                match message.topic.value.removeprefix(self._plan.prefix).split("/"):
                    case ["status"]:
                        self._status(payload)
                    case ["auctions", gid, "state"]:
                        self._state(gid, payload)
                    case ["auctions", gid, "events"]:
                        await self._event(client, gid, payload)
            except (msgspec.DecodeError, UnicodeDecodeError):
                self._sale.notice(f"what came on {message.topic} is nothing that a house says")
            # On Python 3.11 the library's calls can swallow the cancellation of this task.
            if self._over or task.cancelling():
                return

    def _hear(self) -> None:
        """Note that there is a house behind the broker."""
        if not self._live:
            self._heard = self._live = True
            self._sale.connected(f"live from {self._plan.url} by MQTT {_VERSIONS[self._versions[0]]}")

    def _status(self, payload: bytes) -> None:
        if self._plan.gid is None:
            self._hear()
        if b"offline" in payload:
            self._sale.notice("the house is offline, or another process of it takes over")

    def _state(self, gid: str, payload: bytes) -> None:
        if not payload:
            self._sale.gone(gid)
            return
        lot = lots.read_lot(payload)
        if lot.gid != gid:
            raise msgspec.DecodeError
        self._hear()
        self._sale.sequences.state(gid, lot.version, time.monotonic())
        if gid in self._sale.lots or gid == self._plan.gid or not lot.over:
            self._sale.state(lot)

    async def _event(self, client: aiomqtt.Client, gid: str, payload: bytes) -> None:
        event = lots.read_event(payload)
        if event.gid != gid:
            raise msgspec.DecodeError
        self._hear()
        complete = self._sale.event(payload.decode().replace("\n", " ").replace("\r", " "), event)
        if not complete:
            # A new subscription brings the retained state: what the missing events have changed is in it.
            topic = self._topic("state", gid)
            await client.subscribe(topic, 1)
            if topic != self._topic("state"):
                await client.unsubscribe(topic)

    async def _check(self) -> None:
        """Say what has not come in time. Return once the one lot is over; raises CannotWatch where nothing comes at all."""
        until = time.monotonic() + FIRST_SECONDS_MAX
        while not self._over:
            await asyncio.sleep(CHECK_SECONDS)
            now = time.monotonic()
            for gap in self._sale.sequences.overdue(now):
                self._sale.missing(gap)
            if not self._heard and now > until:
                what = "its status" if self._plan.gid is None else f"the state of a lot {self._plan.gid}"
                raise CannotWatch(
                    f"no house has left {what} below {self._plan.prefix} at {self._plan.url}; check address and prefix"
                )

    @property
    def _over(self) -> bool:
        return self._sale.over and self._sale.sequences.settled(self._plan.gid or "")


def _reason(error: aiomqtt.MqttError) -> str:
    """Say in a few words why there is no connection."""
    if isinstance(error, aiomqtt.MqttCodeError):
        # A refused connection names its reason; a lost one has a number of the library's.
        return str(error.rc).lower() if isinstance(error.rc, ReasonCode) else "the connection broke off"
    if "isconnected" in str(error):
        return "the connection broke off"
    return re.sub(r"^\[[^\]]*\] | \(_ssl.*\)$", "", str(error)).lower() or "no connection"
