"""Everything that the relay publishes over one connection: events in order, then states, and later their removal."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice, takewhile

from saleroom.log.store import Log, OwedEvent
from saleroom.mqtt import retained
from saleroom.mqtt.connection import Connection, acknowledged
from saleroom.mqtt.topics import MqttSettings
from saleroom.storage.database import Database, Transaction

BATCH_EVENTS_MAX = 500
STATE_SECONDS = 1.0
"""While events wait, an auction's state goes out this often at most. Once no event waits, it goes out at once."""
STATES_BEHIND_MAX = 50
"""The states that go out with a full batch of events. The others wait until the events have caught up."""
SWEEP_SECONDS = 30.0
STATE_KEPT = timedelta(hours=24)
"""How long the state of an auction stays retained after the event that ended it."""
EVENT_SECONDS = 24 * 3600
"""How long a broker of MQTT 5 keeps an event for a subscriber that is away."""

State = tuple[str, bytes, bool]
"""An aggregate's gid, the JSON that anyone may see, and whether it is over."""


@dataclass(frozen=True)
class Publications:
    """The events and states to publish, as their area reads them.

    `states` returns the states of aggregates by their numbers, `running` the numbers of up to `limit` that are not over, the
    newest first, from another number (exclusive) downwards.
    """

    log: Log
    states: Callable[[Transaction, Collection[int]], dict[int, State]]
    running: Callable[[Transaction, int | None, int], Sequence[int]]


class Outbox:
    """Publishes the owed events of the log, and marks each once the broker has acknowledged it."""

    def __init__(
        self, database: Database, published: Publications, connection: Connection, settings: MqttSettings
    ) -> None:
        self._database = database
        self._published = published
        self._log = published.log
        self._connection = connection
        self._settings = settings
        self._changed: dict[int, float] = {}
        """Aggregates whose newest state the broker lacks, the first changed first, and when that event went out."""
        self._sent: dict[int, float] = {}
        """Aggregates whose state went out within `STATE_SECONDS`, the first one first, and when."""
        self._lost = _LostStates(self._published)
        self._paged = -STATE_SECONDS
        """When the last page of lost states went out."""
        self._swept = -SWEEP_SECONDS

    async def send_next(self) -> bool:
        """Send the next messages; False if none were left. Raises DatabaseUnavailable, PublishRefusal or aiomqtt.MqttError."""
        events, states = await self._send_changes()
        sent = bool(events or states)
        if not self._lost.done and (not _is_behind(events) or time.monotonic() - self._paged >= STATE_SECONDS):
            self._paged = time.monotonic()
            await self._send_states(await self._database.read(self._lost.next))
            sent = True
        if time.monotonic() - self._swept >= SWEEP_SECONDS:
            sent = await self._clear() or sent
        return sent

    def begin_again(self) -> None:
        """Send all states again: the database may have lost changes that the broker has."""
        self._changed.clear()
        self._sent.clear()
        self._lost = _LostStates(self._published)

    async def _send_changes(self) -> tuple[Sequence[OwedEvent], Collection[int]]:
        """Send events, and the states that are due after them; return both, the states by their numbers."""
        now = time.monotonic()
        waiting = list(islice(self._changed, BATCH_EVENTS_MAX))
        late = [number for number in waiting if self._changed[number] <= now - STATE_SECONDS]
        for number in list(takewhile(lambda sent: self._sent[sent] <= now - STATE_SECONDS, self._sent)):
            del self._sent[number]
        events, states = await self._database.read(_owed, self._published, waiting, late, self._sent.keys())
        topic = self._settings.events_topic
        sends = [self._connection.send(topic(e.gid), e.payload, expires=EVENT_SECONDS) for e in events]
        await acknowledged(*sends, *self._state_sends(states.values()))
        if events:
            await self._database.write(self._log.mark_delivered, [event.id for event in events])
        for number in states:
            self._changed.pop(number, None)
            self._sent.pop(number, None)
            self._sent[number] = now
        for event in events:
            if event.aggregate not in states:
                self._changed.setdefault(event.aggregate, now)
        return events, states

    async def _send_states(self, states: Iterable[State]) -> None:
        await acknowledged(*self._state_sends(states))

    def _state_sends(self, states: Iterable[State]) -> list[asyncio.Future[None]]:
        topic = self._settings.state_topic
        kept = int(STATE_KEPT.total_seconds())
        return [
            self._connection.send(topic(gid), state, retain=True, expires=kept if over else None)
            for gid, state, over in states
        ]

    async def _clear(self) -> bool:
        """Remove states that have been retained for long enough; False if there were none."""
        ended = await self._database.read(retained.overdue, self._log, STATE_KEPT, BATCH_EVENTS_MAX)
        topic = self._settings.state_topic
        await acknowledged(*(self._connection.send(topic(state.gid), b"", retain=True) for state in ended))
        if ended:
            await self._database.write(retained.mark_cleared, self._log, [state.id for state in ended])
        if len(ended) < BATCH_EVENTS_MAX:
            self._swept = time.monotonic()
        return bool(ended)


class _LostStates:
    """Pages through the states that a broker should have when a new connection begins; those that are over come last.

    The embedded broker forgets its retained messages when the service stops; others may do so.
    """

    def __init__(self, published: Publications) -> None:
        self._published = published
        self._running = True
        self._before: int | None = None
        self._after_ended: retained.EndedState | None = None
        self.done = False

    def next(self, tx: Transaction) -> Iterable[State]:
        """Return the next page."""
        if self._running:
            numbers = self._published.running(tx, self._before, BATCH_EVENTS_MAX)
            self._running = len(numbers) == BATCH_EVENTS_MAX
            self._before = min(numbers, default=None)
            return self._published.states(tx, numbers).values()
        ended = retained.fresh(tx, self._published.log, STATE_KEPT, self._after_ended, BATCH_EVENTS_MAX)
        self.done = len(ended) < BATCH_EVENTS_MAX
        if ended:
            self._after_ended = ended[-1]
        return self._published.states(tx, [state.aggregate for state in ended]).values()


def _owed(
    tx: Transaction, published: Publications, waiting: Collection[int], late: Sequence[int], sent: AbstractSet[int]
) -> tuple[list[OwedEvent], dict[int, State]]:
    """Return the next events in order, and the states that go out after them, by the store's number.

    Without events these are all waiting states. With events they are the late ones and those of the events' aggregates,
    except for states sent just now; if more events follow, only the first of the late ones. States are read after the
    events, so none is older.
    """
    events = published.log.owed(tx, BATCH_EVENTS_MAX)
    numbers: Collection[int]
    if not events:
        numbers = waiting
    elif _is_behind(events):
        numbers = late[:STATES_BEHIND_MAX]
    else:
        numbers = {*late, *({event.aggregate for event in events} - sent)}
    return events, published.states(tx, numbers) if numbers else {}


def _is_behind(events: Sequence[OwedEvent]) -> bool:
    """Return whether more events follow these."""
    return len(events) == BATCH_EVENTS_MAX
