"""Everything that the relay publishes over one connection: events in order, then states, and later their removal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice, takewhile

from msgspec import Struct

from saleroom.log.store import Log, OwedEvent
from saleroom.mqtt import retained
from saleroom.mqtt.connection import Connection, acknowledged
from saleroom.mqtt.topics import AUCTIONS, MqttSettings
from saleroom.storage.database import Database, Transaction
from saleroom.storage.leases import Lease

BATCH_EVENTS_MAX = 500
STATE_SECONDS = 1.0
"""While events wait, the state of an auction goes out once in this time at most. Once no event waits, it goes out at once."""
STATES_BEHIND_MAX = 50
"""The states that go out with a full batch of events. The others wait until the events have caught up."""
SWEEP_SECONDS = 30.0
STATE_KEPT = timedelta(hours=24)
"""How long the state of an auction or a sale stays retained after the event that ended it."""
EVENT_SECONDS = 24 * 3600
"""How long a broker of MQTT 5 keeps an event for a subscriber that is away."""

State = tuple[str, bytes, bool]
"""An aggregate's gid, the JSON that anyone may see, and whether it is over."""
Touch = Callable[[Transaction, Collection[int]], Collection[int]]


@dataclass(frozen=True)
class Publications:
    """The events and states of one kind of aggregate, as their area reads them; `topics` is the level of their topics.

    `states` returns the states of aggregates by their numbers, `running` the numbers of up to `limit` that are not over, the
    newest first, from another number (exclusive) downwards. `touched` are other logs whose events change these states, each
    with what returns the numbers of these aggregates by those of the log's own.
    """

    log: Log
    states: Callable[[Transaction, Collection[int]], dict[int, State]]
    running: Callable[[Transaction, int | None, int], Sequence[int]]
    topics: str = AUCTIONS
    touched: Mapping[Log, Touch] = field(default_factory=dict)


class _Line:
    """What the broker lacks of one kind of aggregate, over one connection."""

    def __init__(self, published: Publications) -> None:
        self.published = published
        self.changed: dict[int, float] = {}
        """Aggregates whose newest state the broker lacks, the first changed first, and when that event went out."""
        self.sent: dict[int, float] = {}
        """Aggregates whose state went out within `STATE_SECONDS`, the first one first, and when."""
        self.lost = _LostStates(published)
        self.swept = -SWEEP_SECONDS

    def forget(self, until: float) -> None:
        """Forget the states that went out until an instant."""
        for number in list(takewhile(lambda sent: self.sent[sent] <= until, self.sent)):
            del self.sent[number]

    def went_out(self, page: Page, now: float) -> None:
        """Note what the broker has got."""
        for number in page.states:
            self.changed.pop(number, None)
            self.sent.pop(number, None)
            self.sent[number] = now
        for number in (*(event.aggregate for event in page.events), *page.touched):
            if number not in page.states:
                self.changed.setdefault(number, now)


class Page(Struct, frozen=True):
    """What goes out next of one kind: events in order, and the states after them by number; `touched` are changed too."""

    events: list[OwedEvent]
    states: dict[int, State]
    touched: Collection[int] = ()


class Outbox:
    """Publishes the owed events of each log, and marks each event once the broker has acknowledged it."""

    def __init__(
        self,
        database: Database,
        published: Iterable[Publications],
        connection: Connection,
        settings: MqttSettings,
        lease: Lease,
    ) -> None:
        self._database = database
        self._lease = lease
        self._connection = connection
        self._settings = settings
        self._lines = [_Line(each) for each in published]
        self._paged = -STATE_SECONDS
        """When the last page of lost states went out."""
        self._unmarked: list[tuple[Log, Sequence[OwedEvent]]] = []
        """Events that the broker has acknowledged. They are marked as the next ones are read."""

    @property
    def has_unmarked(self) -> bool:
        """Whether events were acknowledged that are not marked yet."""
        return bool(self._unmarked)

    async def send_next(self) -> bool:
        """Send the next messages; False if none were left and all are marked.

        Raises LeaseLapsed if the lease ran out before all had left, LeaseLost if another process has it, DatabaseUnavailable,
        PublishRefusal or aiomqtt.MqttError.
        """
        self._connection.begin_term(self._lease.term())  # before anything is read: it may be old in another term
        pages = await self._send_changes()
        sent = any(page.events or page.states or page.touched for page in pages)
        lost = next((line for line in self._lines if not line.lost.done), None)
        is_behind = any(_is_behind(page.events) for page in pages)
        if lost is not None and (not is_behind or time.monotonic() - self._paged >= STATE_SECONDS):
            self._paged = time.monotonic()
            states = await self._database.read(lost.lost.next)
            await acknowledged(*self._state_sends(lost.published.topics, states))
            sent = True
        for line in self._lines:
            if time.monotonic() - line.swept >= SWEEP_SECONDS:
                sent = await self._clear(line) or sent
        return sent

    def begin_again(self) -> None:
        """Send all states again: the database may have lost changes that the broker has.

        Nothing that was sent before is marked, as other events may have these numbers now.
        """
        self._unmarked = []
        for line in self._lines:
            line.changed.clear()
            line.sent.clear()
            line.lost = _LostStates(line.published)

    async def _send_changes(self) -> Sequence[Page]:
        """Send events, and the states that are due after them; return both."""
        now = time.monotonic()
        asked = []
        for line in self._lines:
            waiting = list(islice(line.changed, BATCH_EVENTS_MAX))
            late = [number for number in waiting if line.changed[number] <= now - STATE_SECONDS]
            line.forget(now - STATE_SECONDS)
            asked.append(DueQuestion(line.published, waiting, late, line.sent.keys()))
        pages = await self._read(asked)
        both = list(zip(self._lines, pages, strict=True))
        events = [send for line, page in both for send in self._event_sends(line.published.topics, page.events)]
        states = [
            send for line, page in both for send in self._state_sends(line.published.topics, page.states.values())
        ]
        await acknowledged(*events, *states)
        self._unmarked = [(line.published.log, page.events) for line, page in both if page.events]
        for line, page in both:
            line.went_out(page, now)
        return pages

    async def _read(self, asked: Sequence[DueQuestion]) -> Sequence[Page]:
        """Return what goes out next; in the same transaction, mark what went out before and renew the lease.

        Raises LeaseLost if another process has the lease; what went out is marked all the same.
        """
        if not self._unmarked:
            return await self._database.read(_shown, asked)
        pages = await self._lease.hold_and(self._database, _marked_and_owed, self._unmarked, asked)
        self._unmarked = []
        return pages

    def _event_sends(self, topics: str, events: Iterable[OwedEvent]) -> list[asyncio.Future[None]]:
        topic = self._settings.events_topic
        return [self._connection.send(topic(e.gid, topics), e.payload, expires=EVENT_SECONDS) for e in events]

    def _state_sends(self, topics: str, states: Iterable[State]) -> list[asyncio.Future[None]]:
        topic = self._settings.state_topic
        kept = int(STATE_KEPT.total_seconds())
        return [
            self._connection.send(topic(gid, topics), state, retain=True, expires=kept if over else None)
            for gid, state, over in states
        ]

    async def _clear(self, line: _Line) -> bool:
        """Remove states that have been retained for long enough; False if there were none."""
        log = line.published.log
        ended = await self._database.read(retained.overdue, log, STATE_KEPT, BATCH_EVENTS_MAX)
        topics = [self._settings.state_topic(state.gid, line.published.topics) for state in ended]
        await acknowledged(*(self._connection.send(topic, b"", retain=True) for topic in topics))
        if ended:
            await self._database.write(retained.mark_cleared, log, [state.id for state in ended])
        if len(ended) < BATCH_EVENTS_MAX:
            line.swept = time.monotonic()
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
            return self._shown(tx, numbers)
        ended = retained.fresh(tx, self._published.log, STATE_KEPT, self._after_ended, BATCH_EVENTS_MAX)
        self.done = len(ended) < BATCH_EVENTS_MAX
        if ended:
            self._after_ended = ended[-1]
        return self._shown(tx, [state.aggregate for state in ended])

    def _shown(self, tx: Transaction, numbers: Sequence[int]) -> Iterable[State]:
        states = self._published.states(tx, numbers).values()
        if states:
            tx.await_copy()
        return states


class DueQuestion(Struct, frozen=True):
    """A question for what goes out next of one kind: the states that wait, those that are late, those sent just now."""

    published: Publications
    waiting: Collection[int]
    late: Sequence[int]
    sent: AbstractSet[int]


def _owed(tx: Transaction, asked: Sequence[DueQuestion]) -> list[Page]:
    """Return for each kind the next events in order, and the states that go out after them, by the store's number.

    Without any events these are all waiting states. With events they are the late ones and those of the events' aggregates,
    except for states sent just now; if more events follow, only the first of the late ones. States are read after the
    events, so none is older.
    """
    events = [one.published.log.owed(tx, BATCH_EVENTS_MAX) for one in asked]
    by_log = {one.published.log: {event.aggregate for event in own} for one, own in zip(asked, events, strict=True)}
    pages = []
    for one, own in zip(asked, events, strict=True):
        touched: set[int] = set()
        for log, touch in one.published.touched.items():
            if by_log.get(log):
                touched.update(touch(tx, by_log[log]))
        numbers: Collection[int]
        if not any(events):
            numbers = one.waiting
        elif _is_behind(own):
            numbers = one.late[:STATES_BEHIND_MAX]
        else:
            fresh = touched | ({event.aggregate for event in own} if own else set(one.waiting))
            numbers = {*one.late, *(fresh - one.sent)}
        pages.append(Page(own, one.published.states(tx, numbers) if numbers else {}, touched))
    return pages


def _shown(tx: Transaction, asked: Sequence[DueQuestion]) -> list[Page]:
    """Return what `_owed` returns, with nothing that a failover can take away."""
    pages = _owed(tx, asked)
    if any(page.events or page.states for page in pages):
        tx.await_copy()
    return pages


def _marked_and_owed(
    tx: Transaction, delivered: Iterable[tuple[Log, Sequence[OwedEvent]]], asked: Sequence[DueQuestion]
) -> list[Page]:
    """Note that the broker has acknowledged these events, and return what `_owed` returns.

    A failover can take nothing of it away, as this transaction writes: its commit waits for all before it.
    """
    mark_delivered(tx, delivered)
    return _owed(tx, asked)


def mark_delivered(tx: Transaction, delivered: Iterable[tuple[Log, Sequence[OwedEvent]]]) -> None:
    """Note that the broker has acknowledged these events."""
    for log, events in delivered:
        log.mark_delivered(tx, [event.id for event in events])


def _is_behind(events: Sequence[OwedEvent]) -> bool:
    """Return whether more events follow these."""
    return len(events) == BATCH_EVENTS_MAX
