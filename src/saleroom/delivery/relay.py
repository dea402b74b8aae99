"""The relay: what the log owes to MQTT goes out in order, and is marked when the broker has acknowledged it.

At least once: whatever goes wrong between publishing and marking, the same events are published again, in order.
"""

import asyncio
import os
import random
import secrets
import socket
from collections.abc import Iterable

import aiomqtt
import structlog

from saleroom.delivery.mqtt import FAREWELL_SECONDS_MAX, MqttSettings, closed, connect, publish
from saleroom.domain.auction import Status
from saleroom.storage import auctions, leases, listing, log
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import Unavailable

LEASE = "mqtt-relay"
LEASE_SECONDS = 10
RENEW_SECONDS = 3.0
STANDBY_SECONDS = 2.0
POLL_SECONDS = 0.5
BATCH_EVENTS_MAX = 500
BACKOFF_SECONDS_MIN = 0.5
BACKOFF_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 3.0

_log = structlog.get_logger(__name__)


class Relay:
    """One per process; of all processes on a database, the one that holds the lease publishes, the others stand by.

    `connected` says whether this process is the one and has its broker; `standing_by`, whether another one is.
    """

    def __init__(self, database: Database, settings: MqttSettings) -> None:
        self.connected = False
        self.standing_by = False
        self._database = database
        self._settings = settings
        self._holder = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._woken = asyncio.Event()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._attempts = 0
        self._fault: str | None = None

    @property
    def status(self) -> str:
        """How it is, in a word for `/readyz`: `connected`, `standing by` or `not connected`."""
        if self.standing_by:
            return "standing by"
        return "connected" if self.connected else "not connected"

    def wake(self) -> None:
        """Say that something was committed; call it in the event loop's thread. Without it the relay looks by itself."""
        self._woken.set()

    async def owed(self) -> int:
        """Return how many events wait for the broker's acknowledgement. Raises Unavailable without the database."""
        return await self._database.read(log.owed_count)

    async def run(self) -> None:
        """Publish until `stop` is called. An absent broker or database is waited for; any other error is a bug."""
        self._task = asyncio.current_task()
        try:
            while not self._stopping.is_set():
                await self._try()
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise

    async def stop(self) -> None:
        """Let what is owed go out, say `offline`, and hand the lease on: within five seconds, done or not."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._woken.set()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=STOP_SECONDS_MAX if self.connected else 0)
            if late:
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=FAREWELL_SECONDS_MAX)
        await self._release()

    async def _try(self) -> None:
        try:
            self.standing_by = not await self._hold()
            if self.standing_by:
                await self._pause(STANDBY_SECONDS)
            else:
                await self._serve()
        except aiomqtt.MqttError as error:
            await self._back_off("MQTT broker not reached; events are kept and go out when it is back", error)
        except Unavailable as error:
            await self._back_off("database not reached; MQTT goes on when it is back", error)

    async def _serve(self) -> None:
        """Publish until the relay is stopped or the lease is lost. Raises MqttError or Unavailable."""
        async with connect(self._settings) as client:
            self.connected = True
            duties = [asyncio.create_task(work) for work in (self._deliver(client), self._renew(), closed(client))]
            try:
                done, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
                for duty in done:
                    duty.result()
            finally:
                self.connected = False
                for duty in duties:
                    duty.cancel()
                await asyncio.gather(*duties, return_exceptions=True)

    async def _deliver(self, client: aiomqtt.Client) -> None:
        """Publish what is owed, then look for more. Where nothing is owed, states that the broker may have lost."""
        lost = _LiveStates()
        while True:
            self._woken.clear()
            events, states = await self._database.read(_owed)
            if events:
                topic = self._settings.events_topic
                await self._publish(client, [(topic(event.gid), event.payload) for event in events], states)
                await self._database.write(log.mark_delivered, [event.id for event in events])
                self._recovered()
            elif not lost.done:
                await self._publish(client, (), await self._database.read(lost.next))
                self._recovered()
            elif self._stopping.is_set():
                return
            else:
                await _wait(self._woken, POLL_SECONDS)

    async def _publish(
        self, client: aiomqtt.Client, events: Iterable[tuple[str, bytes]], states: Iterable[tuple[str, bytes]]
    ) -> None:
        """Publish events in their order, then the states; return when all are acknowledged."""
        sends = [asyncio.create_task(publish(client, topic, payload)) for topic, payload in events]
        for gid, state in states:
            topic = self._settings.state_topic(gid)
            sends.append(asyncio.create_task(publish(client, topic, state, retain=True)))
        try:
            await asyncio.gather(*sends)
        finally:
            for send in sends:
                send.cancel()

    async def _renew(self) -> None:
        """Return when the lease is lost."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if not await self._hold():
                return

    async def _hold(self) -> bool:
        return await self._database.write(leases.hold, LEASE, self._holder, LEASE_SECONDS)

    async def _release(self) -> None:
        try:
            await self._database.write(leases.release, LEASE, self._holder)
        except Unavailable as error:
            _log.warning("MQTT lease not released; it runs out by itself", reason=str(error), seconds=LEASE_SECONDS)

    async def _back_off(self, fault: str, error: Exception) -> None:
        """Say once what is wrong, and wait: longer each time, and never in step with other processes."""
        if fault != self._fault:
            self._fault = fault
            _log.warning(fault, broker=self._settings.url, reason=str(error))
        limit = min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS_MIN * 2 ** min(self._attempts, 10))
        self._attempts += 1
        await self._pause(random.uniform(0, limit))

    def _recovered(self) -> None:
        self._attempts = 0
        if self._fault is not None:
            self._fault = None
            _log.info("MQTT is delivered again", broker=self._settings.url)

    async def _pause(self, seconds: float) -> None:
        await _wait(self._stopping, seconds)


class _LiveStates:
    """Pages through the auctions that are not over, newest first, as each new connection begins.

    The embedded broker forgets what it retained when the service stops; others may.
    """

    def __init__(self) -> None:
        self._statuses = [Status.OPEN, Status.SCHEDULED]
        self._after: listing.Mark | None = None

    @property
    def done(self) -> bool:
        return not self._statuses

    def next(self, tx: Transaction) -> list[tuple[str, bytes]]:
        """Return the next page: each auction's gid and public state."""
        which = listing.Filter(status=self._statuses[-1].value)
        page, self._after = listing.page(tx, which, listing.Sort.NEWEST, BATCH_EVENTS_MAX, self._after)
        if self._after is None:
            self._statuses.pop()
        return list(auctions.public_states(tx, [auction.id for auction in page]).values())


def _owed(tx: Transaction) -> tuple[list[log.OwedEvent], list[tuple[str, bytes]]]:
    """Return the next events in order, and the present state (gid, JSON) of each auction they are about."""
    events = log.owed(tx, BATCH_EVENTS_MAX)
    return events, list(auctions.public_states(tx, {event.auction_id for event in events}).values())


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for `event`, at most `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
