"""A relay that stood still: another may have published since, so it publishes nothing before it has looked at its lease."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import aiomqtt
import pytest
from sqlalchemy import update

from saleroom.mqtt import connection, outbox
from saleroom.mqtt import relay as relay_module
from saleroom.mqtt.connection import connect
from saleroom.mqtt.relay import Relay
from saleroom.storage import leases
from saleroom.storage.database import Database, Transaction
from saleroom.storage.leases import LeaseLapsed
from saleroom.storage.tables import leases as table
from tests.mqtt.equipment import Gate, Mosquitto, Sales, Subscriber
from tests.patience import SECONDS_MAX, until
from tests.process import ending

Relaying = Callable[..., Relay]
Subscribe = Callable[..., Subscriber]
on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)

PROGRAM = """
import asyncio, sys
from saleroom.bidding.api.devices import PUBLICATIONS
from saleroom.mqtt import relay
from saleroom.mqtt.topics import MqttSettings
from saleroom.storage.database import Database

relay.LEASE_SECONDS = 2.5
relay.RENEW_SECONDS = 600.0  # so that it is not stopped while it holds a lock of the database

async def main():
    settings = MqttSettings.from_url(sys.argv[2], client_id="stopped", prefix="stopped/")
    one = relay.Relay(Database(sys.argv[1]), (PUBLICATIONS,), settings)
    serving = asyncio.create_task(one.run())
    said = None
    while not serving.done():
        if one.status != said:
            said = one.status
            print(said, flush=True)
        await asyncio.sleep(0.02)

asyncio.run(main())
"""


class Clock:
    """The clock by which a relay counts the time of its lease, as a test turns it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return its seconds."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands until a test turns it."""
    turned = Clock()
    monkeypatch.setattr(leases, "clock", turned)
    return turned


def take(tx: Transaction) -> int:
    """Let another process have the lease, if it has run out."""
    now = tx.now()
    of_another = {"holder": "another", "expires_at": now + timedelta(hours=1)}
    free = (table.c.name == relay_module.LEASE, table.c.expires_at <= now)
    return tx.execute(update(table).where(*free).values(of_another)).rowcount


def end(tx: Transaction) -> None:
    """Let the lease run out by the database's clock."""
    tx.execute(update(table).where(table.c.name == relay_module.LEASE).values(expires_at=tx.now()))


def end_and_take(tx: Transaction) -> None:
    """Let the lease run out, and another process have it."""
    end(tx)
    assert take(tx) == 1


@pytest.mark.parametrize("another_took_it", [True, False])
@on_sqlite
async def test_a_page_that_was_read_before_a_pause_does_not_go_out_after_it(
    *,
    another_took_it: bool,
    sales: Sales,
    clock: Clock,
    mosquitto: Mosquitto,
    relaying: Relaying,
    subscribe: Subscribe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first message of a page waits for the broker; meanwhile the lease runs out. The others do not leave.

    If nobody took the lease, the relay takes it again and reads again. All goes out then, once each but for the first.
    """
    monkeypatch.setattr(connection, "IN_FLIGHT_MAX", 1)
    monkeypatch.setattr(relay_module, "RENEW_SECONDS", 600.0)
    monkeypatch.setattr(relay_module, "STANDBY_SECONDS", 600.0)
    subscriber = subscribe(mosquitto.settings, mosquitto.settings.events_topic("+"))
    relay = relaying(mosquitto.settings)
    await until(lambda: relay.connected, "a connection")
    read, paged = asyncio.Event(), outbox.Outbox._read

    async def noted(self: outbox.Outbox, asked: list[outbox.DueQuestion]) -> object:
        pages = await paged(self, asked)
        if any(page.events for page in pages):
            read.set()
        return pages

    gid = await sales.sell()
    await sales.until_delivered()
    monkeypatch.setattr(outbox.Outbox, "_read", noted)
    mosquitto.freeze()
    await sales.bid(gid, 3)
    relay.wake()
    async with asyncio.timeout(SECONDS_MAX):
        await read.wait()
    # In one transaction, and before the relay's own clock tells it to renew the lease.
    await sales.database.write(end_and_take if another_took_it else end)
    clock.now += relay_module.LEASE_SECONDS
    mosquitto.thaw()
    events = await sales.payloads(gid)
    if another_took_it:
        await until(lambda: relay.standing_by, "it stands by")
        await asyncio.sleep(0.2)  # enough for what would have left
        assert [m.payload for m in subscriber.messages] in (events[:1], events[:2])
        assert not relay.connected
    else:
        await until(lambda: events[-1:] == [m.payload for m in subscriber.messages][-1:], "the last bid")
        await sales.until_delivered()
        got = [m.payload for m in subscriber.messages]
        assert got in (events, [*events[:2], *events[1:]])
        assert relay.connected


@on_sqlite
async def test_a_process_that_was_stopped_publishes_nothing_before_it_has_looked_at_its_lease(
    sales: Sales, mosquitto: Mosquitto, subscribe: Subscribe
) -> None:
    """A real process, stopped by a signal for longer than its lease. An event is owed when it goes on, and is another's work.

    It has a client id of its own, so that no broker cuts it off: a house may also be on a cluster of brokers.
    """
    subscriber = subscribe(mosquitto.settings, "stopped/#")
    url = sales.database.url.render_as_string(hide_password=False)
    broker = f"mqtt://{mosquitto.settings.host}:{mosquitto.settings.port}"
    command = [sys.executable, "-c", PROGRAM, url, broker]
    with ending(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout is not None
        while await asyncio.to_thread(process.stdout.readline) != "connected\n":
            assert process.poll() is None
        gid = await sales.sell()
        await sales.until_delivered()
        process.send_signal(signal.SIGSTOP)
        async with asyncio.timeout(SECONDS_MAX):
            while not await sales.database.write(take):
                await asyncio.sleep(0.05)
        await sales.bid(gid, 2)
        process.send_signal(signal.SIGCONT)
        while await asyncio.to_thread(process.stdout.readline) != "standing by\n":
            assert process.poll() is None
        await asyncio.sleep(0.2)  # enough for what would have left
    events = replace(mosquitto.settings, prefix="stopped/").events_topic(gid)
    assert subscriber.payloads(events) == (await sales.payloads(gid))[:1]
    assert await sales.owed() == 2


async def test_what_had_not_left_before_a_pause_does_not_leave_after_it(
    mosquitto: Mosquitto, subscribe: Subscribe
) -> None:
    """Between the hand-over of a message and its way to the socket the process may stand still too."""
    subscriber = subscribe(mosquitto.settings, "lot")
    lasting = [True]
    async with connect(mosquitto.settings) as one:
        one.begin_term(lambda: lasting[0])
        first = one.send("lot", b"in time")
        await first
        late = one.send("lot", b"late")  # handed over; the socket gets it in a later turn of the event loop
        lasting[0] = False
        refused = one.send("lot", b"later")
        with pytest.raises(LeaseLapsed):
            await refused
        with pytest.raises(aiomqtt.MqttError) as lost:
            await late
        assert isinstance(lost.value.__cause__, LeaseLapsed)
    async with connect(mosquitto.settings) as another:
        await another.send("lot", b"last")
    await until(lambda: b"last" in subscriber.payloads("lot"), "the last message")
    assert subscriber.payloads("lot") == [b"in time", b"last"]


async def test_what_is_still_on_its_way_from_a_former_holder_takes_no_state_back(
    mosquitto: Mosquitto, subscribe: Subscribe
) -> None:
    """A network may hold what a holder has sent in time, until another one has published a newer state at the same broker.

    All processes have one client id, so the broker ends the former connection when the next one comes. With an id of its own
    for each, the older state would come last, and stay.
    """
    link = Gate(mosquitto.settings)
    await link.open()
    async with connect(link.settings) as former:
        await former.send("lot", b"first", retain=True)
        link.hold()
        late = former.send("lot", b"older", retain=True)
        async with connect(mosquitto.settings) as present:
            await present.send("lot", b"newer", retain=True)
            link.let_go()
            with pytest.raises(aiomqtt.MqttError):
                await late
    await link.end()
    subscriber = subscribe(mosquitto.settings, "lot")
    await until(lambda: bool(subscriber.messages), "the state")
    assert [b"newer"] == subscriber.payloads("lot")


async def test_a_term_ends_when_the_lease_could_not_be_renewed_in_time(database: Database, clock: Clock) -> None:
    """It ends by the holder's own clock, counted from before it asked. A later renewal begins another term."""
    lease = leases.Lease("work", "one", 10.0)
    assert not lease.is_certain()
    assert await lease.hold(database)
    first = lease.term()
    assert first()
    clock.now += 8.9
    assert first()
    assert await lease.hold(database)
    clock.now += 8.9
    assert first()
    clock.now += 0.1
    assert not first()
    assert await lease.hold(database)
    assert lease.is_certain()
    assert not first()
    second = lease.term()
    assert second()
    await lease.release(database)
    assert not second()
    assert await leases.Lease("work", "another", 10.0).hold(database)
    assert not await lease.hold(database)
