"""The relay against both brokers, with `mosquitto_sub` as the subscriber."""

import asyncio
import itertools
import json
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from saleroom.bidding.api.devices import PUBLICATIONS
from saleroom.mqtt import connection, outbox
from saleroom.mqtt import relay as relay_module
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import OFFLINE, ONLINE, MqttSettings, Version
from saleroom.storage import sqlite
from saleroom.storage.database import Database, Transaction
from saleroom.storage.tables import leases
from tests.fixtures_database import FakeClock
from tests.mqtt.equipment import Gate, Mosquitto, Sales, Subscriber
from tests.patience import SECONDS_MAX, until

Relaying = Callable[..., Relay]
Subscribe = Callable[..., Subscriber]
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


async def test_events_arrive_in_order_with_the_bytes_of_the_log(
    sales: Sales, broker: MqttSettings, relaying: Relaying, subscribe: Subscribe
) -> None:
    """A subscriber gets every auction's events once, in order, byte for byte as the log has them."""
    subscriber = subscribe(broker)
    relay = relaying(broker)
    gids = [await sales.sell() for _ in range(3)]
    for _ in range(5):
        for gid in gids:
            await sales.bid(gid)
            relay.wake()
    await sales.until_delivered()
    await until(lambda: len([m for m in subscriber.messages if m.topic.endswith("/events")]) >= 18, "all 18 events")
    for gid in gids:
        assert await sales.payloads(gid) == subscriber.payloads(broker.events_topic(gid))
        last = [await sales.state(gid)]
        topic = broker.state_topic(gid)
        await until(lambda: last == subscriber.payloads(topic)[-1:], "the state after its last event")  # noqa: B023  # it is waited for here
    assert 0 == await relay.owed()


@on_sqlite
async def test_a_late_subscriber_gets_the_latest_state(
    sales: Sales, broker: MqttSettings, relaying: Relaying, subscribe: Subscribe
) -> None:
    """The state is retained, the events are not, and of the state only the latest."""
    gid = await sales.sell()
    await sales.bid(gid, 3)
    relaying(broker)
    await sales.until_delivered()
    late = subscribe(broker)
    await until(lambda: len(late.messages) >= 2, "the retained messages")
    expected = [(broker.state_topic(gid), await sales.state(gid), True), (broker.status_topic, ONLINE, True)]
    assert expected == sorted(message for message in late.messages if message.retained)


@on_sqlite
async def test_the_states_of_live_auctions_come_back_with_each_connection(
    sales: Sales, mosquitto: Mosquitto, relaying: Relaying, subscribe: Subscribe
) -> None:
    """A broker that lost its retained messages gets the states again, except of auctions that are over."""
    gid = await sales.sell()
    relay = relaying(mosquitto.settings)
    await sales.until_delivered()
    mosquitto.kill()
    mosquitto.start()
    late = subscribe(mosquitto.settings)
    await until(lambda: bool(late.payloads(mosquitto.settings.state_topic(gid))), "the state again")
    assert [await sales.state(gid)] == late.payloads(mosquitto.settings.state_topic(gid))
    assert [] == late.payloads(mosquitto.settings.events_topic(gid))
    assert relay.connected


@on_sqlite
async def test_status_says_online_and_on_a_clean_stop_offline(
    sales: Sales, broker: MqttSettings, relaying: Relaying, subscribe: Subscribe
) -> None:
    """The status is online while the relay has its connection, and offline once it has stopped; all owed events are out."""
    subscriber = subscribe(broker)
    relay = relaying(broker)
    await until(lambda: relay.connected, "a connection")
    gid = await sales.sell()
    await relay.stop()
    assert not relay.connected
    assert 0 == await sales.owed()
    await until(lambda: subscriber.payloads(broker.status_topic)[-1:] == [OFFLINE], "offline")
    assert [ONLINE, OFFLINE] == subscriber.payloads(broker.status_topic)
    assert await sales.payloads(gid) == subscriber.payloads(broker.events_topic(gid))


@on_sqlite
async def test_a_broker_that_comes_late_gets_everything(
    sales: Sales,
    mosquitto: Mosquitto,
    gate: Gate,
    relaying: Relaying,
    subscribe: Subscribe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a broker the log keeps the owed events and one line warns; when it comes, all go out in order."""
    monkeypatch.setattr(relay_module, "BACKOFF_SECONDS_MAX", 0.1)
    events = gate.settings.events_topic
    subscriber = subscribe(mosquitto.settings)
    with capture_logs() as lines:
        relay = relaying(gate.settings)
        gid = await sales.sell()
        await sales.bid(gid, 20)
        await until(lambda: bool(lines), "the line that says it is away")
        assert [False, 21] == [relay.connected, await relay.owed()]
        await gate.open()
        await until(lambda: len(subscriber.payloads(events(gid))) >= 21, "all events")
        await until(lambda: len(lines) >= 2, "the line that says it is back")
    assert await sales.payloads(gid) == subscriber.payloads(events(gid))
    assert ["warning", "info"] == [line["log_level"] for line in lines]
    assert gate.settings.url == lines[0]["broker"] == lines[1]["broker"]


async def test_a_broker_killed_midway_misses_nothing(
    sales: Sales,
    mosquitto: Mosquitto,
    gate: Gate,
    relaying: Relaying,
    subscribe: Subscribe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a kill and a restart each event has arrived, nothing is skipped, and only one batch may come twice."""
    monkeypatch.setattr(relay_module, "BACKOFF_SECONDS_MAX", 0.1)
    monkeypatch.setattr(outbox, "BATCH_EVENTS_MAX", 10)
    await gate.open()
    gid = await sales.sell()
    topic = gate.settings.events_topic(gid)
    await sales.bid(gid, 60)
    before = subscribe(mosquitto.settings)
    relay = relaying(gate.settings)
    await until(lambda: len(before.payloads(topic)) >= 20, "the first events")
    mosquitto.kill()
    gate.shut()
    await until(lambda: not relay.connected, "it marks nothing more")
    delivered = 61 - await sales.owed()  # what the broker sent before it died may still be on its way
    await until(lambda: len(before.payloads(topic)) >= delivered, "what the broker had taken")
    before.close()
    seen = [json.loads(payload)["sequence"] for payload in before.payloads(topic)]
    await sales.bid(gid, 10)
    mosquitto.start()
    after = subscribe(mosquitto.settings)
    await gate.open()
    await sales.until_delivered()
    last = (await sales.payloads(gid))[-1]
    await until(lambda: last in after.payloads(topic), "the last event")
    seen += [json.loads(payload)["sequence"] for payload in after.payloads(topic)]
    assert set(range(1, 72)) == set(seen)
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(seen))
    assert len(seen) - 71 <= outbox.BATCH_EVENTS_MAX


@on_sqlite
async def test_nothing_is_marked_without_an_acknowledgement(
    sales: Sales, relaying: Relaying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that takes all events and acknowledges none gets them again and again, and no row is marked."""
    monkeypatch.setattr(relay_module, "BACKOFF_SECONDS_MAX", 0.1)
    monkeypatch.setattr(connection, "ACKNOWLEDGE_SECONDS_MAX", 0.5)
    gid = await sales.sell()
    mute = MuteBroker()
    async with await asyncio.start_server(mute.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        relay = relaying(MqttSettings("127.0.0.1", port, version=Version.V311))
        await until(lambda: mute.seen.count(b"/events") >= 2, "a second try")
        assert 1 == await sales.owed()
        await relay.stop()
    assert 1 == await sales.owed()
    assert (await sales.payloads(gid))[0] in mute.seen


class MuteBroker:
    """Accepts a connection and its first publish (the status), then reads on and sends nothing."""

    def __init__(self) -> None:
        self.seen = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer CONNECT and the first PUBLISH, whose packet number is 1."""
        await reader.read(1000)
        writer.write(b"\x20\x02\x00\x00")
        await reader.read(1000)
        writer.write(b"\x40\x02\x00\x01")
        while data := await reader.read(10_000):
            self.seen += data
        writer.close()


@on_sqlite
async def test_a_broker_that_never_answers_is_left_alone(
    sales: Sales, relaying: Relaying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that accepts and sends nothing counts as no broker: one warning, nothing marked, and the stop does not wait."""
    monkeypatch.setattr(relay_module, "BACKOFF_SECONDS_MAX", 0.1)
    monkeypatch.setattr(connection, "CONNECT_SECONDS_MAX", 0.2)
    await sales.sell()
    with capture_logs() as lines, socket.create_server(("127.0.0.1", 0)) as silent:
        relay = relaying(MqttSettings("127.0.0.1", silent.getsockname()[1]))
        await until(lambda: relay._attempts > 2, "another two tries")
        monkeypatch.setattr(connection, "CONNECT_SECONDS_MAX", 600)
        await asyncio.sleep(0.5)  # enough for a try that waits longer
        async with asyncio.timeout(SECONDS_MAX):
            await relay.stop()
    assert ["warning"] == [line["log_level"] for line in lines]
    assert 1 == await sales.owed()


async def test_another_process_takes_over_from_one_that_died(
    clocked_database: Database,
    clock: FakeClock,
    mosquitto: Mosquitto,
    subscribe: Subscribe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two relays one publishes; when it is killed the other goes on where it stopped."""
    monkeypatch.setattr(relay_module, "RENEW_SECONDS", 0.05)
    monkeypatch.setattr(relay_module, "STANDBY_SECONDS", 0.05)
    settings, sales = mosquitto.settings, Sales(clocked_database)
    first, second = Relay(sales.database, (PUBLICATIONS,), settings), Relay(sales.database, (PUBLICATIONS,), settings)
    dying = asyncio.create_task(first.run())
    await until(lambda: first.connected, "the first relay's connection")
    going_on = asyncio.create_task(second.run())
    subscriber = subscribe(settings, settings.events_topic("+"))
    gid = await sales.sell()
    await until(lambda: second.standing_by, "the second relay stands by")
    for _ in range(3):  # the first renews its lease, and keeps it for longer than it lasts
        clock.advance(relay_module.LEASE_SECONDS - 1)
        while clock.now + timedelta(seconds=relay_module.LEASE_SECONDS) != await clocked_database.read(expiry):
            await asyncio.sleep(0.01)
    assert ["connected", "standing by"] == [first.status, second.status]
    while await sales.owed():  # what it has published and not marked, the second publishes again
        await asyncio.sleep(0.01)
    dying.cancel()
    await asyncio.wait([dying])
    await sales.bid(gid)  # after a renewal that was still under way: it would count from the clock that is turned now
    clock.advance(relay_module.LEASE_SECONDS)
    await until(lambda: second.connected, "the second relay's connection")
    await until(lambda: len(subscriber.messages) >= 2, "the bid")
    assert await sales.payloads(gid) == [message.payload for message in subscriber.messages]
    await second.stop()
    await going_on


def expiry(tx: Transaction) -> datetime:
    """Return when the lease of the relays ends unless it is renewed."""
    found: datetime = tx.execute(select(leases.c.expires_at).where(leases.c.name == relay_module.LEASE)).scalar_one()
    return found


async def test_a_relay_that_stops_hands_over_at_once(
    sales: Sales, mosquitto: Mosquitto, relaying: Relaying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relay that is stopped releases the lease, so that the next need not wait for it to run out."""
    monkeypatch.setattr(relay_module, "LEASE_SECONDS", 3600)
    monkeypatch.setattr(relay_module, "STANDBY_SECONDS", 0.1)
    first = relaying(mosquitto.settings)
    await until(lambda: first.connected, "the first relay's connection")
    second = relaying(mosquitto.settings)
    await first.stop()
    await until(lambda: second.connected, "the second relay's connection")


@on_sqlite
async def test_a_database_that_is_away_is_waited_for(
    sales: Sales, mosquitto: Mosquitto, relaying: Relaying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the database refuses writes the relay says so once, keeps its connection, and goes on when writes work."""
    monkeypatch.setattr(relay_module, "BACKOFF_SECONDS_MAX", 0.1)
    monkeypatch.setattr(relay_module, "POLL_SECONDS", 60)
    monkeypatch.setattr(relay_module, "RENEW_SECONDS", 0.1)
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    waits, wait = [], relay_module._wait

    async def counted(event: asyncio.Event, seconds: float) -> None:
        waits.append(seconds)
        await wait(event, seconds)

    monkeypatch.setattr(relay_module, "_wait", counted)
    impatient = Database(sales.database.url.render_as_string())
    with capture_logs() as lines, closing(sqlite3.connect(sales.database.url.database or "")) as other:
        relay = relaying(mosquitto.settings, impatient)
        await until(lambda: relay.connected, "a connection")
        await until(lambda: 60 in waits, "it has found that nothing is owed, and waits to be woken")
        await sales.sell()
        other.execute("BEGIN IMMEDIATE")
        relay.wake()
        await until(lambda: bool(lines), "the line that says so")
        await asyncio.sleep(0.5)
        assert relay.connected
        other.rollback()
        await sales.until_delivered()
        await until(lambda: len(lines) >= 2, "the line that says it is back")
        await relay.stop()
    assert ["warning", "info"] == [line["log_level"] for line in lines]
    await impatient.close()
