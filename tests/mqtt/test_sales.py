"""Sales over MQTT: their events in order, their retained states, and what becomes of events from before."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from saleroom import compose
from saleroom.areas import AREAS
from saleroom.feed import feed as feed_module
from saleroom.kernel.identifiers import EventId
from saleroom.log.store import owed_count
from saleroom.mqtt import outbox, retained
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import MqttSettings
from saleroom.sales.api.publications import PUBLICATIONS
from saleroom.sales.area import SALES
from saleroom.sales.domain.events import SaleCancelled, SaleEvent, SalePaused, SaleResumed, SaleRunning
from saleroom.sales.service import reading
from saleroom.sales.storage import sales
from saleroom.storage.database import Database, Transaction
from saleroom.storage.migrations import migrate
from tests.bidding.api.test_asyncapi import faults
from tests.fixtures_database import FakeClock
from tests.mqtt.equipment import Mosquitto, Subscriber
from tests.patience import SECONDS_MAX, until
from tests.sales.service.evenings import evening

Relaying = Callable[..., Relay]
Subscribe = Callable[..., Subscriber]
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
BEFORE = "0041"
"""The last revision of houses that published nothing of sales."""


async def happens(database: Database, gid: str, *kinds: type[SaleEvent], **data: Any) -> None:
    """Let these events happen to a sale."""

    def record(tx: Transaction) -> None:
        sale = sales.lock(tx, gid)
        assert sale is not None
        sales.record(tx, sale, [kind(at=tx.now(), **data) for kind in kinds])

    await database.write(record)


async def shown(database: Database, gid: str) -> Any:
    """Return the sale as `GET /sales/{gid}` shows it to anyone."""
    return msgspec.to_builtins(await database.read(reading.shown, None, gid))


async def logged(database: Database, gid: str) -> list[bytes]:
    """Return the wire form of a sale's events."""
    [backlog] = await database.read(sales.LOG.backlogs, [(gid, 0)])
    assert not isinstance(backlog, Exception)
    return [event.payload for event in backlog.events]


@on_sqlite
async def test_events_of_a_sale_arrive_in_order_and_its_state_is_retained(
    clocked_database: Database,
    clock: FakeClock,
    broker: MqttSettings,
    relaying: Relaying,
    subscribe: Subscribe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each event comes once, with the bytes of the log; the state is what anyone sees, and goes a day after the end."""
    monkeypatch.setattr(outbox, "SWEEP_SECONDS", 0.05)
    database = clocked_database
    subscriber = subscribe(broker, "saleroom/sales/#")
    relay = relaying(broker, database)
    gid = (await evening(database)).sale.gid
    states, events = broker.state_topic(gid, "sales"), broker.events_topic(gid, "sales")
    assert f"saleroom/sales/{gid}/state" == states
    for kind in (SaleRunning, SalePaused, SaleResumed):
        await happens(database, gid, kind)
        relay.wake()
    await until(lambda: len(subscriber.payloads(events)) == 4, "the events")
    assert await logged(database, gid) == subscriber.payloads(events)
    for event in map(json.loads, subscriber.payloads(events)):
        assert [] == faults(event["type"], event)
    state = await shown(database, gid)
    assert [] == faults("saleState", state)
    await until(lambda: [state] == [json.loads(one) for one in subscriber.payloads(states)[-1:]], "its state")
    late = subscribe(broker, states)
    await until(lambda: bool(late.messages), "the retained state")
    assert (state, True) == (json.loads(late.messages[0].payload), late.messages[0].retained)

    await happens(database, gid, SaleCancelled, reason="The hall is flooded.")
    relay.wake()
    await until(lambda: b'"cancelled"' in late.messages[-1].payload, "the last state")
    await until(lambda: len(subscriber.payloads(events)) == 5, "the last event")
    clock.advance(25 * 3600)
    relay.wake()
    await until(lambda: b"" == late.messages[-1].payload, "that it is taken away")


@on_sqlite
async def test_states_of_sales_come_back_with_each_connection(
    database: Database, mosquitto: Mosquitto, relaying: Relaying, subscribe: Subscribe
) -> None:
    """A broker that lost its retained messages gets those of sales again; drafts are on no topic."""
    gid = (await evening(database)).sale.gid
    relay = relaying(mosquitto.settings)
    await until(lambda: relay.connected, "a connection")
    async with asyncio.timeout(SECONDS_MAX):
        while await relay.owed():
            await asyncio.sleep(0.01)
    mosquitto.kill()
    mosquitto.start()
    late = subscribe(mosquitto.settings, "saleroom/sales/#")
    await until(lambda: bool(late.messages), "the state again")
    assert [(mosquitto.settings.state_topic(gid, "sales"), await shown(database, gid))] == [
        (message.topic, json.loads(message.payload)) for message in late.messages
    ]


async def test_an_upgraded_house_owes_no_events_of_sales_from_before(database: Database) -> None:
    """A house that comes from before it published sales owes their later events alone; ended ones stay off the broker."""
    gid, ended = (await evening(database)).sale.gid, (await evening(database)).sale.gid
    await happens(database, ended, SaleCancelled, reason="The hall is flooded.")
    assert 3 == await database.read(owed_count, [sales.LOG])
    await database.write(migrate, BEFORE)
    await database.write(migrate)
    assert 0 == await database.read(owed_count, [sales.LOG])
    assert [] == await database.read(retained.fresh, sales.LOG, timedelta(days=1), None, 9)
    assert [] == await database.read(retained.overdue, sales.LOG, timedelta(0), 9)
    await happens(database, gid, SaleRunning)
    assert 1 == await database.read(owed_count, [sales.LOG])
    [number] = await database.read(PUBLICATIONS.running, None, 9)
    assert gid == (await database.read(PUBLICATIONS.states, [number]))[number][0]


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_sale_is_followed_at_once_through_another_process(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL the notice of one process lets the feed of sales of another look; it need not wait for its next look."""
    monkeypatch.setattr(feed_module, "POLL_SECONDS", 3600)
    gid = (await evening(database)).sale.gid
    platform: Any = SimpleNamespace(database=database, tokens=None, cursors=None, origin=None)
    settings: Any = SimpleNamespace(
        followers_max=9, house_name="", photo_bytes_max=1, currency="EUR", categories=(), database_pooler="none"
    )
    published = tuple(each for area in AREAS for each in area.published)
    part = SALES.open(settings, platform)
    there = Database(database.url.render_as_string(hide_password=False))
    feed: Any = part.rows[1].services
    looks: list[None] = []
    counting: Any = SimpleNamespace(look=lambda: looks.append(None))
    here_heard = compose._heralds(settings, database, published, [part, counting], None)
    there_heard = compose._heralds(settings, there, published, [], None)
    running = [asyncio.ensure_future(one()) for one in (feed.run, *here_heard.values())]
    try:
        await until(lambda: bool(looks), "a connection for notices")
        running += [asyncio.ensure_future(one()) for one in there_heard.values()]
        await until(lambda: len(looks) >= 2, "the first notice of the other process")
        follower = await feed.follow(gid, EventId(gid, 1))
        following = asyncio.create_task(follower.next())
        await until(lambda: follower.idle, "that it waits for events")
        await happens(there, gid, SaleRunning)
        async with asyncio.timeout(SECONDS_MAX):
            [event] = await following
        assert (gid, 2) == (event.gid, event.version)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        part.close()
        await there.close()
