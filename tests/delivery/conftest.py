"""Fixtures of the delivery tests: both brokers, subscribers, an auction house on a database of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from saleroom.delivery.broker import EmbeddedBroker
from saleroom.delivery.mqtt import MqttSettings
from saleroom.delivery.relay import Relay
from saleroom.storage.database import Database
from saleroom.storage.migrations import migrate
from tests.delivery.equipment import Gate, House, Mosquitto, Subscriber, as_service, free_port


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """An auction house without auctions, on SQLite."""
    database = Database(f"sqlite:///{tmp_path}/saleroom.db")
    await database.write(migrate)
    yield House(database)
    await database.close()


@pytest.fixture
def embedded() -> Iterator[MqttSettings]:
    """The embedded broker, as the service sees it."""
    broker = EmbeddedBroker("saleroom/", port=free_port())
    address = broker.start()
    yield as_service(address)
    broker.stop()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """A running Mosquitto that lets everybody in."""
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture
async def gate(mosquitto: Mosquitto) -> AsyncIterator[Gate]:
    """A shut way to Mosquitto."""
    way = Gate(mosquitto.settings)
    yield way
    way.shut()


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


@pytest.fixture
async def relaying() -> AsyncIterator[Callable[[House, MqttSettings], Relay]]:
    """Start relays: `relaying(house, settings)`; they are stopped after the test."""
    relays: list[tuple[Relay, asyncio.Task[None]]] = []

    def start(house: House, settings: MqttSettings) -> Relay:
        relay = Relay(house.database, settings)
        relays.append((relay, asyncio.create_task(relay.run())))
        return relay

    yield start
    for relay, task in relays:
        await relay.stop()
        await task
