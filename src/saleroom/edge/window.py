"""The last messages of one stream, in memory, so that readers can resume without asking the house."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from saleroom.edge.addresses import Kind
from saleroom.kernel.identifiers import BEGINNING, EventId
from saleroom.log.store import LoggedEvent


class Bounds(Struct, frozen=True):
    """How many messages a window keeps, and how many bytes of them. The last message stays in any case."""

    messages: int
    size: int


class Memory:
    """The bytes in all windows of an edge."""

    def __init__(self, size_max: int) -> None:
        self.size = 0
        self._size_max = size_max

    @property
    def full(self) -> bool:
        """Whether windows must give up messages."""
        return self.size > self._size_max


class Window:
    """The messages of a stream in order, each with its number in the stream as its `id`."""

    def __init__(self, kind: Kind, bounds: Bounds, memory: Memory) -> None:
        self._kind = kind
        self._bounds = bounds
        self._memory = memory
        self._messages: list[LoggedEvent] = []
        self._size = 0
        self._numbers: dict[EventId, int] = {}
        self.before = BEGINNING
        """The event before all messages that are kept."""
        self.last = BEGINNING
        """The event of the last message with one, or before the first."""
        self.number = 0
        """The number of the last message."""

    def begin(self, origin: EventId) -> None:
        """Note the event before the first message."""
        self.before = self.last = origin
        self._numbers = {origin: self.number}

    @property
    def first(self) -> int:
        """The number of the first message that is kept, or will be."""
        return self._messages[0].id if self._messages else self.number + 1

    def add(self, event: EventId | None, payload: bytes, *, last: bool = False) -> LoggedEvent:
        """Keep a message, with the event whose id it brings; return it with its number."""
        self.number += 1
        at = event or self.last
        message = LoggedEvent(self.number, at.gid, at.version, payload, last)
        self._messages.append(message)
        if event is not None:
            self.last = event
            self._numbers.setdefault(event, self.number)
        self._size += len(payload)
        self._memory.size += len(payload)
        self._trim()
        return message

    def after(self, number: int, count: int) -> Sequence[LoggedEvent]:
        """Return up to `count` messages after `number`. They must be kept: see `first`."""
        start = number + 1 - self.first
        return self._messages[start : start + count]

    def place_of(self, event: EventId) -> int | None:
        """Return the number of the message after which a reader goes on that has seen `event`; None if it is not known."""
        number = self._numbers.get(event)
        if number is not None or self._kind is Kind.LOG:
            return None if number is None else max(number, self.first - 1)
        if not self.before.version <= event.version <= self.last.version:
            return None
        # A message is the page as of an event. A reader of an event in between gets the page after it.
        kept = [one for one in self._messages if one.id == self._numbers.get(EventId(one.gid, one.version))]
        found = bisect_right(kept, event.version, key=_version)
        return kept[found - 1].id if found else self.first - 1

    def message_of(self, event: EventId) -> LoggedEvent | None:
        """Return the message of `event`, if it is kept."""
        number = self._numbers.get(event)
        return None if number is None or number < self.first else self._messages[number - self.first]

    def clear(self) -> None:
        """Keep nothing more."""
        self._memory.size -= self._size
        self._messages, self._size = [], 0

    def _trim(self) -> None:
        """Give up the oldest messages."""
        spare = 0
        size = self._size
        while spare < len(self._messages) - 1 and (
            len(self._messages) - spare > self._bounds.messages or size > self._bounds.size or self._memory.full
        ):
            size -= len(self._messages[spare].payload)
            self._memory.size -= len(self._messages[spare].payload)
            spare += 1
        self._size = size
        for gone in self._messages[:spare]:
            event = EventId(gone.gid, gone.version)
            if self._numbers.get(event) == gone.id:
                self._numbers.pop(self.before, None)
                self.before = event
        del self._messages[:spare]


def _version(message: LoggedEvent) -> int:
    return message.version
