"""Retained states: how often they go out, that none is older than an event before it, and when they are taken away."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from saleroom.bidding.api.devices import PUBLICATIONS
from saleroom.bidding.storage import auctions
from saleroom.bidding.storage.event_log import LOG
from saleroom.mqtt import outbox, retained
from saleroom.mqtt.relay import Relay
from saleroom.mqtt.topics import MqttSettings
from saleroom.storage.database import Database
from tests.fixtures_database import FakeClock
from tests.mqtt.equipment import Mosquitto, Sales, Subscriber, publish
from tests.patience import SECONDS_MAX, until

Relaying = Callable[..., Relay]
Subscribe = Callable[..., Subscriber]
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
DAY = timedelta(days=1)
NONE: set[int] = set()


@pytest.fixture
def clocked_sales(clocked_database: Database) -> Sales:
    """Sales on a database whose clock the test turns."""
    return Sales(clocked_database)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look continually for states to take away."""
    monkeypatch.setattr(outbox, "SWEEP_SECONDS", 0.05)


@on_sqlite
async def test_while_events_wait_only_few_states_go_out(
    sales: Sales, mosquitto: Mosquitto, relaying: Relaying, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If many events of an auction wait, at most one state a second goes out, and always one after the last event."""
    monkeypatch.setattr(outbox, "BATCH_EVENTS_MAX", 5)
    monkeypatch.setattr(outbox, "STATE_SECONDS", 3600)
    gids = [await sales.sell() for _ in range(3)]
    for _ in range(20):
        for gid in gids:
            await sales.bid(gid)
    subscriber = subscribe(mosquitto.settings, "saleroom/auctions/#")
    relaying(mosquitto.settings)
    await sales.until_delivered()
    for gid in gids:
        states, events = mosquitto.settings.state_topic(gid), mosquitto.settings.events_topic(gid)
        state, last = await sales.state(gid), (await sales.payloads(gid))[-1]
        await until(partial(_has, subscriber, {states: state, events: last}), "the end")
        arrived = [(message.topic, message.payload) for message in subscriber.messages]
        assert (states, state) in arrived[arrived.index((events, last)) :]
        # One as the connection begins, one at the end.
        assert 2 >= len(subscriber.payloads(states))


@on_sqlite
async def test_while_events_wait_a_new_connection_brings_states_by_and_by(
    sales: Sales, mosquitto: Mosquitto, relaying: Relaying, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A house that owes many events sends one page of the states that a broker may have lost; the others follow the events."""
    monkeypatch.setattr(outbox, "BATCH_EVENTS_MAX", 5)
    monkeypatch.setattr(outbox, "STATE_SECONDS", 3600)
    gids = [await sales.sell() for _ in range(20)]
    for gid in gids:
        await sales.bid(gid, 2)
    subscriber = subscribe(mosquitto.settings, "saleroom/auctions/#")
    relaying(mosquitto.settings)
    await sales.until_delivered()
    expected = {mosquitto.settings.state_topic(gid): await sales.state(gid) for gid in gids}
    await until(partial(_has, subscriber, expected), "all states")
    kinds = [message.topic.rpartition("/")[2] for message in subscriber.messages]
    last = max(place for place, kind in enumerate(kinds) if kind == "events")
    assert 60 == kinds.count("events")
    assert 5 >= kinds[:last].count("state")


async def test_which_states_go_out_with_events(sales: Sales, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last owed events bring their states, except ones sent just now; earlier events bring only states that are late."""
    gid = await sales.sell()
    auction = await sales.database.read(auctions.get, gid)
    assert auction is not None
    one = {auction.id}

    async def states(*, waiting: set[int] = NONE, late: set[int] = NONE, sent: set[int] = NONE) -> set[int]:
        asked = outbox.DueQuestion(PUBLICATIONS, waiting, list(late), sent)
        [page] = await sales.database.read(outbox._owed, [asked])
        return set(page.states)

    assert one == await states()
    assert NONE == await states(waiting=one, sent=one)
    assert one == await states(late=one, sent=one)
    monkeypatch.setattr(outbox, "BATCH_EVENTS_MAX", 1)
    assert NONE == await states(waiting=one)
    assert one == await states(late=one)
    monkeypatch.setattr(outbox, "STATES_BEHIND_MAX", 0)
    assert NONE == await states(late=one)
    events = await sales.database.read(LOG.owed, 9)
    await sales.database.write(LOG.mark_delivered, [event.id for event in events])
    assert NONE == await states()
    assert one == await states(waiting=one, sent=one)


async def test_a_state_is_at_least_as_new_as_every_event_before_it(
    sales: Sales, broker: MqttSettings, relaying: Relaying, subscribe: Subscribe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While bids come, each state has the version of an event that came before it, or a later one."""
    monkeypatch.setattr(outbox, "STATE_SECONDS", 0.02)
    monkeypatch.setattr(outbox, "BATCH_EVENTS_MAX", 3)
    subscriber = subscribe(broker, "saleroom/auctions/#")
    relay = relaying(broker)
    gids = [await sales.sell() for _ in range(3)]
    for _ in range(15):
        for gid in gids:
            await sales.bid(gid)
            relay.wake()
    await sales.until_delivered()
    for gid in gids:
        states, events, last = broker.state_topic(gid), broker.events_topic(gid), await sales.state(gid)
        await until(partial(_has, subscriber, {states: last, events: (await sales.payloads(gid))[-1]}), "the end")
        version = 0
        for message in subscriber.messages:
            if message.topic == events:
                version = json.loads(message.payload)["sequence"]
            elif message.topic == states:
                assert json.loads(message.payload)["version"] >= version
        assert 16 == version


async def test_a_state_is_taken_away_a_day_after_the_end(
    clocked_sales: Sales, clock: FakeClock, mosquitto: Mosquitto, relaying: Relaying, subscribe: Subscribe
) -> None:
    """A day after an auction was closed or cancelled its retained state is gone, not before, and that of others stays."""
    sales, settings = clocked_sales, mosquitto.settings
    closed, cancelled, later, live = [await sales.sell() for _ in range(4)]
    await sales.close(closed)
    await sales.cancel(cancelled)
    relaying(settings, sales.database)
    await sales.until_delivered()
    clock.advance(3600)
    await sales.cancel(later)
    await sales.until_delivered()
    clock.advance((DAY - timedelta(hours=1)).total_seconds() - 1)
    await asyncio.sleep(0.5)
    assert {closed, cancelled, later, live} == await _kept(settings, subscribe)
    clock.advance(1)
    await _settled(sales.database)
    assert {later, live} == await _kept(settings, subscribe)


@on_sqlite
async def test_a_state_is_taken_away_by_the_next_process(
    clocked_sales: Sales, clock: FakeClock, mosquitto: Mosquitto, relaying: Relaying, subscribe: Subscribe
) -> None:
    """If a relay stops before the day is over, the next one takes the state away; it never comes back."""
    sales, settings = clocked_sales, mosquitto.settings
    gid = await sales.sell()
    await sales.cancel(gid)
    first = relaying(settings, sales.database)
    await sales.until_delivered()
    await first.stop()
    clock.advance(3600)
    assert {gid} == await _kept(settings, subscribe)
    second = relaying(settings, sales.database)
    await until(lambda: second.connected, "a connection")
    await second.stop()
    assert {gid} == await _kept(settings, subscribe)
    clock.advance(DAY.total_seconds())
    third = relaying(settings, sales.database)
    await _settled(sales.database)
    await third.stop()
    assert set() == await _kept(settings, subscribe)
    fourth = relaying(settings, sales.database)
    await until(lambda: fourth.connected, "a connection")
    await fourth.stop()
    assert set() == await _kept(settings, subscribe)


@on_sqlite
async def test_a_state_is_marked_only_when_the_broker_has_taken_it_away(
    clocked_sales: Sales, clock: FakeClock, mosquitto: Mosquitto, relaying: Relaying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the broker acknowledges nothing, nothing is marked as taken away."""
    sales = clocked_sales
    gid = await sales.sell()
    await sales.cancel(gid)
    relaying(mosquitto.settings, sales.database)
    await sales.until_delivered()
    mosquitto.freeze()
    clock.advance(DAY.total_seconds())
    await asyncio.sleep(1)
    assert [gid] == [state.gid for state in await _overdue(sales.database)]
    mosquitto.thaw()
    await _settled(sales.database)


@on_sqlite
async def test_a_broker_that_forgot_gets_the_results_of_the_day_again(
    sales: Sales, mosquitto: Mosquitto, relaying: Relaying, subscribe: Subscribe
) -> None:
    """After a restart without persistence a broker has the states of live auctions and of those that ended today."""
    live, cancelled = await sales.sell(), await sales.sell()
    await sales.cancel(cancelled)
    relay = relaying(mosquitto.settings)
    await sales.until_delivered()
    mosquitto.kill()
    mosquitto.start()
    late = subscribe(mosquitto.settings, "saleroom/auctions/+/state")
    await until(lambda: len({message.topic for message in late.messages}) >= 2, "both states")
    for gid in (live, cancelled):
        assert await sales.state(gid) == late.payloads(mosquitto.settings.state_topic(gid))[-1]
    assert relay.connected


def _has(subscriber: Subscriber, last: dict[str, bytes]) -> bool:
    return all([payload] == subscriber.payloads(topic)[-1:] for topic, payload in last.items())


async def _settled(database: Database) -> None:
    """Wait until no state is left that is to be taken away."""
    async with asyncio.timeout(SECONDS_MAX):
        while await _overdue(database):
            await asyncio.sleep(0.05)


async def _overdue(database: Database) -> list[retained.EndedState]:
    return await database.read(retained.overdue, LOG, DAY, 10)


async def _kept(settings: MqttSettings, subscribe: Subscribe) -> set[str]:
    """Return the gids whose state the broker retains: those that a new subscriber gets before a later message."""
    late = subscribe(settings, "saleroom/auctions/+/state")
    publish(settings, "saleroom/auctions/later/state", "later")
    await until(lambda: any(message.payload == b"later" for message in late.messages), "the later message")
    late.close()
    return {message.topic.split("/")[2] for message in late.messages if message.retained}
