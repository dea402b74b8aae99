"""A device that bids over MQTT: plain paho, as a maker of paddles would use it."""

import json
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from saleroom.mqtt.topics import MqttSettings
from tests.patience import SECONDS_MAX

V311, V5 = MQTTProtocolVersion.MQTTv311, MQTTProtocolVersion.MQTTv5


class ReceivedMessage(NamedTuple):
    """A message as it was received."""

    topic: str
    payload: bytes
    retained: bool
    properties: dict[str, Any]


class Device:
    """Connected when made; everything it hears is in `heard`, in order."""

    def __init__(
        self, settings: MqttSettings, *topics: str, version: MQTTProtocolVersion = V311, name: str = ""
    ) -> None:
        self.heard: list[ReceivedMessage] = []
        self.prefix = settings.prefix
        self._changed = threading.Condition()
        self._subscribed: set[int] = set()
        self._client = Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=version)
        self._client.on_message = self._on_message
        self._client.on_subscribe = lambda *said: self._note(said[2])
        self._client.connect(settings.host, settings.port)
        self._client.loop_start()
        for topic in topics:
            self.subscribe(topic)

    def subscribe(self, topic: str) -> None:
        """Subscribe at QoS 1, and return when the broker has acknowledged it."""
        _, number = self._client.subscribe(topic, 1)
        assert number is not None
        self.until(lambda: number in self._subscribed, f"a subscription to {topic}")

    def send(self, gid: str, command: object, *, retain: bool = False, **properties: object) -> None:
        """Publish a payload, such as a command, at QoS 1; `properties` are those of MQTT 5 by name."""
        payload = command if isinstance(command, bytes) else json.dumps(command).encode()
        described = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]  # paho has no types here
        for name, value in properties.items():
            setattr(described, name, value)
        with_properties = described if properties else None
        self._client.publish(f"{self.prefix}auctions/{gid}/bids", payload, 1, retain, properties=with_properties)

    def ask(self, gid: str, token: str, **bid: Any) -> dict[str, Any]:
        """Send a command, with a new id unless `bid` has one, and return its answer."""
        command = {"token": token, "id": secrets.token_hex(8), **bid}
        topic = f"{self.prefix}replies/{command['id']}"
        self.subscribe(topic)
        before = len(self.on(topic))
        self.send(gid, command)
        self.until(lambda: len(self.on(topic)) > before, f"an answer on {topic}")
        answer: dict[str, Any] = json.loads(self.on(topic)[-1].payload)
        return answer

    def on(self, topic: str) -> list[ReceivedMessage]:
        """Return the messages of one topic."""
        return [heard for heard in self.heard if heard.topic == topic]

    def until(self, holds: Callable[[], bool], what: str, seconds: float = SECONDS_MAX) -> None:
        """Wait until `holds()`, or fail saying `what` did not happen."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not holds():
                assert self._changed.wait(max(0.0, deadline - time.monotonic())), f"within {seconds} s: {what}"

    def close(self) -> None:
        """Disconnect."""
        self._client.disconnect()
        self._client.loop_stop()

    def _on_message(self, _: Client, __: object, message: MQTTMessage) -> None:
        properties = {} if message.properties is None else message.properties.json()  # type: ignore[no-untyped-call]  # paho has no types here
        with self._changed:
            self.heard.append(ReceivedMessage(message.topic, bytes(message.payload), message.retain, properties))
            self._changed.notify_all()

    def _note(self, number: int) -> None:
        with self._changed:
            self._subscribed.add(number)
            self._changed.notify_all()
