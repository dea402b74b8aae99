"""Fixtures of the delivery tests: sales on a database, relays, a link that can be shut."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from saleroom.areas import AREAS
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import Ask, MqttSettings
from saleroom.storage.database import Database
from tests.mqtt.equipment import Gate, Mosquitto, Sales

PUBLISHED = tuple(each for area in AREAS for each in area.published)
"""All that a house publishes."""


@pytest.fixture
def sales(database: Database) -> Sales:
    """Auctions and bids on the test's database, none so far."""
    return Sales(database)


@pytest.fixture
async def gate(mosquitto: Mosquitto) -> AsyncIterator[Gate]:
    """A link to Mosquitto, shut at first."""
    way = Gate(mosquitto.settings)
    yield way
    await way.end()


@pytest.fixture
async def relaying(database: Database) -> AsyncIterator[Callable[..., Relay]]:
    """Start relays on the test's database: `relaying(settings)`; they are stopped after the test."""
    relays: list[tuple[Relay, asyncio.Task[None]]] = []

    def start(settings: MqttSettings, of: Database = database, inbox: Ask | None = None) -> Relay:
        relay = Relay(of, PUBLISHED, settings, inbox)
        relays.append((relay, asyncio.create_task(relay.run())))
        return relay

    yield start
    for relay, task in relays:
        await relay.stop()
        await task
