"""Houses on a broker, and devices that bid in them over MQTT."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from saleroom.mqtt.topics import MqttSettings
from tests.fixtures_house import House, ServeHouse
from tests.mqtt.device import Device
from tests.mqtt.equipment import Mosquitto
from tests.process import wait_until

Join = Callable[..., Device]


def on(broker: MqttSettings) -> dict[str, Any]:
    """Return the settings of a house on this broker."""
    account = {"mqtt_user": broker.user, "mqtt_password": broker.password, "mqtt_client_id": broker.client_id}
    return {"mqtt": broker.url, "mqtt_version": broker.version.value} | (account if broker.user else {})


def connected(house: House) -> House:
    """Return a house once it listens to its broker."""
    wait_until(lambda: house.anyone.get("/readyz").json()["mqtt"] == "connected")
    return house


@pytest.fixture
def served(broker: MqttSettings, serve_house: ServeHouse) -> House:
    """A house on SQLite on each of the two brokers."""
    return connected(serve_house(**on(broker)))


@pytest.fixture
def modern(mosquitto: Mosquitto, serve_house: ServeHouse) -> House:
    """A house on SQLite on Mosquitto, in MQTT 5."""
    return connected(serve_house(**on(mosquitto.settings)))


@pytest.fixture
def join() -> Iterator[Join]:
    """Connect devices: `join(settings, *topics, version=V5)`."""
    devices: list[Device] = []

    def come(*args: Any, **more: Any) -> Device:
        devices.append(Device(*args, **more))
        return devices[-1]

    yield come
    for device in devices:
        device.close()
