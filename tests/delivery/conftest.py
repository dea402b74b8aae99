"""Fixtures of the delivery tests: both brokers, subscribers, sales on a database, relays."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from saleroom.delivery.broker import EmbeddedBroker
from saleroom.delivery.mqtt import MqttSettings
from saleroom.delivery.relay import Relay
from saleroom.storage.database import Database
from tests.delivery.equipment import Gate, Mosquitto, Sales, Subscriber, as_service, free_port


@pytest.fixture
def sales(database: Database) -> Sales:
    """Auctions and bids on the test's database, none so far."""
    return Sales(database)


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
async def relaying(database: Database) -> AsyncIterator[Callable[..., Relay]]:
    """Start relays on the test's database: `relaying(settings)`; they are stopped after the test."""
    relays: list[tuple[Relay, asyncio.Task[None]]] = []

    def start(settings: MqttSettings, of: Database = database) -> Relay:
        relay = Relay(of, settings)
        relays.append((relay, asyncio.create_task(relay.run())))
        return relay

    yield start
    for relay, task in relays:
        await relay.stop()
        await task
