"""Both brokers, and third-party subscribers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from saleroom.broker.embedded import EmbeddedBroker
from saleroom.mqtt.topics import MqttSettings
from tests.mqtt.equipment import Mosquitto, Subscriber, as_service, free_port


@pytest.fixture
def embedded() -> Iterator[MqttSettings]:
    """The embedded broker, as the service sees it."""
    broker = EmbeddedBroker("saleroom/", port=free_port())
    address = broker.start()
    yield as_service(address)
    broker.stop()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """A running Mosquitto that admits every client."""
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture(params=["embedded", "mosquitto"])
def broker(request: pytest.FixtureRequest) -> MqttSettings:
    """Each of the two brokers, as the service sees it."""
    if request.param == "embedded":
        settings: MqttSettings = request.getfixturevalue("embedded")
    else:
        settings = request.getfixturevalue("mosquitto").settings
    return settings


@pytest.fixture
def subscribe() -> Iterator[Callable[..., Subscriber]]:
    """Start subscribers: `subscribe(settings, *topics)`."""
    started: list[Subscriber] = []

    def start(settings: MqttSettings, *topics: str, as_service: bool = False) -> Subscriber:
        started.append(Subscriber(settings, *topics, as_service=as_service))
        return started[-1]

    yield start
    for subscriber in started:
        subscriber.close()
