"""A broker in memory, and its connections. The house uses its own `Connection`; only the socket is replaced."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import aiomqtt
import msgspec
from paho.mqtt.client import MQTT_ERR_SUCCESS

from saleroom.mqtt.connection import IN_FLIGHT_MAX, Connection
from saleroom.mqtt.topics import OFFLINE, DeviceMessage, MqttSettings, Version
from tests.simulation.sale_model import SALE

if TYPE_CHECKING:
    from tests.simulation.world import Process, World

PREFIX = "saleroom/"
_ACCEPTED: Any = SimpleNamespace(is_failure=False)


class Wire:
    """One direction of a connection: messages arrive in order, a little later, unless the wire is cut first."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._chance = world.chance(name)
        self._under_way: deque[Callable[[], None]] = deque()
        self._last = 0.0
        self.cut = False

    def send(self, arrive: Callable[[], None]) -> None:
        """Have `arrive` called when the message arrives."""
        self._last = max(self._last, self._world.loop.time() + self._chance.choice((0.0, 0.0, 0.001, 0.004, 0.02)))
        self._under_way.append(arrive)
        self._world.later(self._last, self._arrived)

    def _arrived(self) -> None:
        arrive = self._under_way.popleft()
        if self.cut or self._world.broker.silent:
            self.cut = True  # after a loss nothing more comes on a TCP connection
        else:
            arrive()


class SimConnection(Connection):
    """The house's connection; `_client` takes the calls that paho would get."""

    def __init__(self, process: Process, settings: MqttSettings, number: int) -> None:
        self.version = Version.V5
        self.process = process
        self.settings = settings
        self.topics: str | None = None
        world = process.world
        self.there = Wire(world, f"there {process.name} {number}")
        self.back = Wire(world, f"back {process.name} {number}")
        self._broker = world.broker
        self._arrived = None
        self._answers = deque()
        self._others = deque()
        self._in_flight = {}
        self._lasts = lambda: True
        self._unwritten = None
        self._in_flight_max = IN_FLIGHT_MAX
        self._bytes_max = None
        self._disconnected = world.loop.create_future()
        self._disconnected.add_done_callback(self.lost)
        self._client = cast("Any", self)
        self._mids = 0

    def publish(self, topic: str, payload: Any, qos: int, retain: bool, properties: Any) -> Any:  # type: ignore[override]  # it is paho's
        """Take a publish in place of paho, and send it to the broker."""
        self._mids += 1
        mid = self._mids
        self.there.send(lambda: self._broker.published(self, mid, topic, payload, retain=retain))
        return SimpleNamespace(rc=MQTT_ERR_SUCCESS, mid=mid)

    def acknowledge(self, mid: int) -> None:
        """Let the broker's acknowledgement come back."""
        self.back.send(
            lambda: self.in_process(lambda: self._on_publish(self._client, None, mid, _ACCEPTED, cast("Any", None)))
        )

    def hand_over(self, arrived: DeviceMessage) -> None:
        """Let a message from a device come."""
        self.back.send(lambda: self.in_process(lambda: self._arrived and self._arrived(arrived)))

    def in_process(self, act: Callable[[], object]) -> None:
        """Call something in the process that has the connection, unless it is dead."""
        self.process.world.loop.call_soon(act, context=self.process.context)

    def break_off(self) -> None:
        """Cut it: messages under way are lost, in both directions."""
        self.there.cut = self.back.cut = True

        def lose() -> None:
            if not self._disconnected.done():
                self._disconnected.set_exception(aiomqtt.MqttError("cut"))

        self.in_process(lose)

    async def listen(self, topic_filter: str, arrived: Callable[[DeviceMessage], None]) -> None:
        """Subscribe."""
        self._arrived = arrived
        await self._round_trip(lambda: setattr(self, "topics", topic_filter))

    async def unsubscribe(self, *_: Any, **__: Any) -> None:
        """Subscribe no more."""
        await self._round_trip(lambda: setattr(self, "topics", None))

    async def _round_trip(self, act: Callable[[], None]) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def come_back() -> None:
            act()
            self.back.send(lambda: self.in_process(answered))

        def answered() -> None:
            if not done.done():
                done.set_result(None)

        self.there.send(come_back)
        await asyncio.wait({done, self._disconnected}, timeout=10.0, return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            raise aiomqtt.MqttError("the broker does not answer")


class Broker:
    """Retains, acknowledges, hands on. The judge is told of each message the moment the broker has it, by `published`."""

    def __init__(self, world: World) -> None:
        self.up = True
        self.silent = False
        self.retained: dict[str, bytes] = {}
        self.replies: dict[str, list[asyncio.Future[bytes]]] = {}
        self.delivered: dict[str, int] = {}
        """By gid: the version of the event that came last, repeats included."""
        self.highest: dict[str, int] = {}
        self.acks_to_lose = 0
        self._world = world
        self._count = 0
        self._house: SimConnection | None = None

    @asynccontextmanager
    async def connect(self, settings: MqttSettings, first: Version) -> AsyncIterator[SimConnection]:
        """Stands in for the house's `connect`. Raises aiomqtt.MqttError if the broker is away."""
        process = self._world.current()
        await asyncio.sleep(0.01)
        if self.silent:
            await asyncio.sleep(10.0)
        if not self.up or self.silent:
            raise aiomqtt.MqttError("connection refused")
        self._count += 1
        connection = SimConnection(process, settings, self._count)
        if self._house is not None:
            self.cut()  # the same client id
        self._house = connection
        try:
            yield connection
        finally:
            if self._house is connection and not process.strand.dead:
                self._house = None
            connection.there.cut = connection.back.cut = True
            if not connection._disconnected.done():
                connection._disconnected.set_result(None)

    def cut(self, *, will: bool = True) -> None:
        """Break the house's connection; its Last Will is published."""
        if self._house is not None:
            house, self._house = self._house, None
            house.break_off()
            if will:
                self.retained[house.settings.status_topic] = OFFLINE

    def lost_process(self, process: Process) -> None:
        """The kernel of a dead process has closed its connection."""
        if self._house is not None and self._house.process is process:
            self.cut()

    def away(self, *, forgets: bool) -> None:
        """Stop."""
        self.up = False
        self.cut(will=not forgets)
        if forgets:
            self.retained.clear()

    def published(self, connection: SimConnection, mid: int, topic: str, payload: bytes, *, retain: bool) -> None:
        """Take a message from the house."""
        if self._house is not connection:
            return
        self._world.trace(f"broker has {topic} {payload[:80]!r}")
        if retain:
            self.retained[topic] = payload
        kind, gid = topic.rsplit("/", 1)[-1], topic.split("/")[-2]
        if kind == "events":
            self._event(gid, payload)
        elif kind == "state":
            self._state(gid, payload)
        for waiting in self.replies.get(topic, []):
            if not waiting.done():
                waiting.set_result(payload)
        if self.acks_to_lose and kind in ("events", "state"):
            self.acks_to_lose -= 1
            self.cut()
        else:
            connection.acknowledge(mid)

    def _event(self, gid: str, payload: bytes) -> None:
        judge = self._world.judge
        version = int(msgspec.json.decode(payload)["sequence"])
        if judge.payloads.get((gid, version)) != payload:
            judge.fail("nothing is published that is not committed", f"{gid}/{version} {payload!r}")
        if version > self.delivered.get(gid, 0) + 1:
            judge.fail("events are published in order", f"{gid}: {version} after {self.delivered.get(gid, 0)}")
        self.delivered[gid] = version
        self.highest[gid] = max(version, self.highest.get(gid, 0))

    def _state(self, gid: str, payload: bytes) -> None:
        judge = self._world.judge
        versions = [version for version, state in judge.states.get(gid, {}).items() if state == payload]
        if (
            gid != SALE
            and judge.model.auctions[gid].was_withheld
            and (not payload or not msgspec.json.decode(payload)["name"])
        ):
            return  # no event says that staff hide a lot that is over
        if not versions:
            judge.fail("nothing is published that is not committed", f"the state of {gid}: {payload!r}")
        elif versions[-1] < self.highest.get(gid, 0):
            judge.fail("no state is older than an event before it", f"{gid}: {versions[-1]}, {self.highest[gid]}")

    def ask(self, topic: str, payload: bytes) -> None:
        """Take a message from a device, and hand it to the house if it listens."""
        if self.up and not self.silent and self._house is not None and self._house.topics is not None:
            self._house.hand_over(DeviceMessage(topic, payload))
