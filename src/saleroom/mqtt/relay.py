"""The relay: one process holds the connection to the broker, sends the owed events of all logs, and answers devices.

At least once: after any failure between publishing and marking, the same events are published again, in order.
"""

import asyncio
import os
import secrets
import socket
from collections.abc import Sequence
from random import SystemRandom

import aiomqtt
import structlog

from saleroom.log.store import owed_count
from saleroom.mqtt.connection import (
    FAREWELL_SECONDS_MAX,
    Connection,
    PublishRefusal,
    SubscriptionRefusal,
    connect,
    online,
)
from saleroom.mqtt.inbox import Inbox
from saleroom.mqtt.outbox import Outbox, Publications
from saleroom.mqtt.topics import Ask, MqttSettings, Version
from saleroom.storage.database import Database
from saleroom.storage.faults import DatabaseUnavailable
from saleroom.storage.leases import Lease, LeaseLapsed, LeaseLost

LEASE = "mqtt-relay"
LEASE_SECONDS = 10
RENEW_SECONDS = 3.0
TIMER_SECONDS = 0.01
"""How early a timer may wake."""
STANDBY_SECONDS = 2.0
POLL_SECONDS = 0.5
BACKOFF_SECONDS_MIN = 0.5
BACKOFF_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 3.0

_log = structlog.get_logger(__name__)
_CHANCE = SystemRandom()


class Relay:
    """One per process; of all processes on a database, the one that holds the lease publishes, the others stand by.

    `connected` says whether this process holds the lease and has its broker; `standing_by`, whether another one holds it.
    """

    def __init__(
        self, database: Database, published: Sequence[Publications], settings: MqttSettings, inbox: Ask | None = None
    ) -> None:
        """The relay sends all that is `published`. `inbox` answers commands from devices; without it nobody does."""
        self.connected = False
        self.standing_by = False
        self._database = database
        self._published = published
        self._settings = settings
        self._inbox = Inbox(settings, inbox)
        self._version = Version.V5
        holder = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._lease = Lease(LEASE, holder, LEASE_SECONDS)
        self._woken = asyncio.Event()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._outbox: Outbox | None = None
        self._attempts = 0
        self._faults: set[str] = set()
        """The faults that were logged since the last recovery."""

    @property
    def status(self) -> str:
        """Its status for `/readyz`: `connected`, `standing by` or `not connected`."""
        if self.standing_by:
            return "standing by"
        return "connected" if self.connected else "not connected"

    def wake(self) -> None:
        """Tell the relay that something was committed, in the event loop's thread. It also looks by itself."""
        self._woken.set()

    def begin_again(self) -> None:
        """Send all states again: the database has lost changes that the broker has."""
        if self._outbox is not None:
            self._outbox.begin_again()
            self.wake()

    async def owed(self) -> int:
        """Return how many events wait for the broker's acknowledgement. Raises DatabaseUnavailable without the database."""
        return await self._database.read(owed_count, [each.log for each in self._published])

    async def run(self) -> None:
        """Publish until `stop` is called. Wait for an absent broker or database; any other error is a bug."""
        self._task = asyncio.current_task()
        try:
            while not self._stopping.is_set():
                await self._try()
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise

    async def stop(self) -> None:
        """Send the owed events, publish `offline` and release the lease, within five seconds in any case."""
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
            self.standing_by = not await self._lease.hold(self._database)
            if self.standing_by:
                await self._pause(STANDBY_SECONDS)
            else:
                await self._serve()
        except LeaseLost:
            self.standing_by = True
            await self._pause(STANDBY_SECONDS)
        except LeaseLapsed:
            return  # the next try asks for it
        except aiomqtt.MqttError as error:
            await self._back_off("MQTT broker not reached; events are kept and go out when it is back", error)
        except DatabaseUnavailable as error:
            await self._back_off("database not reached; MQTT goes on when it is back", error)

    async def _serve(self) -> None:
        """Serve until the relay is stopped. Raises MqttError, LeaseLost, LeaseLapsed, or DatabaseUnavailable at the end."""
        async with connect(self._settings, self._version) as connection:
            if not self._lease.is_certain():  # to connect may have taken long
                await self._renewed()
            connection.begin_term(self._lease.term())
            self._version = connection.version
            outbox = Outbox(self._database, self._published, connection, self._settings, self._lease)
            self._outbox = outbox
            await self._listen(connection)
            async with online(connection, self._settings):
                self.connected = True
                work = (self._deliver(outbox), self._renew(), connection.closed())
                duties = [asyncio.create_task(duty) for duty in work]
                try:
                    done, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
                    for duty in done:
                        duty.result()
                finally:
                    self.connected = False
                    for duty in duties:
                        duty.cancel()
                    await asyncio.gather(*duties, return_exceptions=True)
                    await self._inbox.abandon()

    async def _listen(self, connection: Connection) -> None:
        """Listen to devices before the status says so; a broker that does not allow it still gets the events."""
        try:
            await self._inbox.open(connection)
        except SubscriptionRefusal as error:
            broker, topic = self._settings.url, self._settings.commands_filter
            _log.warning(
                "MQTT broker does not let the house listen; nobody can bid over MQTT",
                broker=broker,
                topic=topic,
                reason=str(error),
            )

    async def _deliver(self, outbox: Outbox) -> None:
        """Send the owed events, then look for more; at the stop answer the commands that came, and send the events that follow.

        A refusal of the broker or a lost database leaves the connection open, so that devices are still answered. Raises
        LeaseLost if another process has the lease.
        """
        while True:
            self._woken.clear()
            stopping = self._stopping.is_set()
            if stopping:
                await self._inbox.close()
            sent = await self._sent(outbox)
            if stopping and not sent:
                return
            if sent is False:
                await _wait(self._woken, POLL_SECONDS)

    async def _sent(self, outbox: Outbox) -> bool | None:
        """Send the next messages and return whether there were any; None after a fault and the wait for it.

        Raises LeaseLost if another process has the lease.
        """
        try:
            if not self._lease.is_certain():
                # This process stood still, or was without its database. The events that it has read may be old by now.
                outbox.begin_again()
                await self._renewed()
            sent = await outbox.send_next()
        except LeaseLapsed:
            outbox.begin_again()
            return True
        except PublishRefusal as error:
            await self._back_off("MQTT broker refuses events or states; they are kept and tried again", error)
        except DatabaseUnavailable as error:
            outbox.begin_again()  # it may return as a standby that lacks the last commits
            await self._back_off("database not reached; MQTT goes on when it is back", error)
        else:
            if not outbox.has_unmarked:
                self._recovered()
            return sent
        return None

    async def _renew(self) -> None:
        """Renew the lease whenever `_deliver` has not. Raises LeaseLost if another process has it.

        Without the database nothing can be renewed. The lease then runs out by this process's clock, and nothing is published
        before it is renewed.
        """
        while True:
            left = RENEW_SECONDS - self._lease.age
            # A timer may wake a little early by another clock: what is left then is no time to sleep for.
            await asyncio.sleep(left if left > TIMER_SECONDS else RENEW_SECONDS)
            try:
                if self._lease.age >= RENEW_SECONDS - TIMER_SECONDS:
                    await self._renewed()
            except DatabaseUnavailable:
                continue  # `_deliver` logs it, as it reads more often

    async def _renewed(self) -> None:
        """Renew the lease. Raises LeaseLost if another process has it, or DatabaseUnavailable."""
        if not await self._lease.hold(self._database):
            raise LeaseLost("another process has the lease")

    async def _release(self) -> None:
        try:
            await self._lease.release(self._database)
        except DatabaseUnavailable as error:
            _log.warning("MQTT lease not released; it runs out by itself", reason=str(error), seconds=LEASE_SECONDS)

    async def _back_off(self, fault: str, error: Exception) -> None:
        """Log a fault once, and wait: longer each time, with jitter against other processes."""
        if fault not in self._faults:
            self._faults.add(fault)
            _log.warning(fault, broker=self._settings.url, reason=str(error))
        limit = min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS_MIN * 2 ** min(self._attempts, 10))
        self._attempts += 1
        await self._pause(_CHANCE.uniform(0, limit))

    def _recovered(self) -> None:
        self._attempts = 0
        if self._faults:
            self._faults.clear()
            _log.info("MQTT is delivered again", broker=self._settings.url)

    async def _pause(self, seconds: float) -> None:
        await _wait(self._stopping, seconds)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for `event`, at most `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
