"""A follower: it gets every event of a source once and in order, and is cut off if it does not take them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from saleroom.kernel.identifiers import BEGINNING, EventId
from saleroom.log.store import LoggedEvent

WAITING_MAX = 4096
"""Events that may wait for one follower, and a page more; a batch of bids brings up to some 1,500 at once."""


class Listener(Protocol):
    """Anything that new events are handed to."""

    def push(self, events: Sequence[LoggedEvent]) -> None:
        """Take new events, in order. It must be quick, because bids wait for it."""


class NextEvents(NamedTuple):
    """The events from which a follower goes on. `more`: others follow that exist by now; `over`: the log has ended."""

    events: list[LoggedEvent]
    more: bool = False
    over: bool = False


class Source(Protocol):
    """What followers follow: the feed of a house, or on an edge one stream of a house."""

    def __len__(self) -> int:
        """Return how many follow in this process."""

    async def page_after(self, follower: Follower) -> NextEvents:
        """Return the page of the log from which `follower` goes on."""

    def detach(self, gid: str | None, listener: Listener) -> None:
        """Hand `listener` nothing more."""

    def forget(self, follower: Follower) -> None:
        """Hand a follower nothing more, which then counts no more."""


class Follower:
    """A follower of one aggregate's events, or with gid None of the whole log. Call `next` in a loop; `close` at the end."""

    __slots__ = (
        "_catching_up",
        "_missed",
        "_nudged",
        "_waiting",
        "_waiting_max",
        "_waker",
        "deliver",
        "ended",
        "feed",
        "gid",
        "on_cut",
        "origin",
        "reached",
        "session",
    )

    def __init__(self, feed: Source, gid: str | None, waiting_max: int | None = None) -> None:
        """`waiting_max` is in place of `WAITING_MAX`."""
        self.feed = feed
        self.gid = gid
        self.origin = BEGINNING
        """The event after which it began; a client that is cut off before its first event resumes here."""
        self.reached = 0
        """The version of the last event given out; for the whole log, its number."""
        self.ended = False
        self.session: str | None = None
        """The token of the session with which it ends (`sessions.py`); None if it shows what anyone may see."""
        self.on_cut: Callable[[], None] | None = None
        """Called if the follower is too slow; the events that it has not got are in the log."""
        self.deliver: Callable[[Sequence[LoggedEvent]], bool] | None = None
        """Called with new events while `next` waits. If it takes them and returns True, `next` goes on waiting."""
        self._waiting: deque[LoggedEvent] = deque()
        self._waiting_max = waiting_max or WAITING_MAX
        self._waker: asyncio.Future[None] | None = None
        self._nudged = False
        self._catching_up = True
        self._missed = False

    def push(self, events: Sequence[LoggedEvent]) -> None:
        """Deliver or queue events; for the source only."""
        if self.deliver is not None and self.idle and self._are_next(events) and self.deliver(events):
            self.reached = self._place(events[-1])
            if self.gid is not None and events[-1].last:
                self.end()
        elif len(self._waiting) >= self._waiting_max:
            self._waiting.clear()
            self._missed = True
            if not self._catching_up:
                self.end()
                if self.on_cut is not None:
                    self.on_cut()
        else:
            self._waiting.extend(events)
            self.wake()

    @property
    def idle(self) -> bool:
        """Whether `next` waits, and so all events have been given out."""
        return self._waker is not None and not self._waker.done()

    def park(self) -> None:
        """Get no new events any more: `next` gives out what is in the log now, and then nothing until `wake` or `end`."""
        self.feed.detach(self.gid, self)

    def end(self) -> None:
        """Give out the queued events, and then no more."""
        self.ended = True
        self.wake()

    def end_here(self) -> None:
        """Give out no more, not even the queued events: what comes before them cannot be had here. For the source only."""
        self._waiting.clear()
        self.end()

    def wake(self) -> None:
        """Let `next` return, even with nothing; the next call if none is waiting."""
        self._nudged = True
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    async def next(self) -> list[LoggedEvent]:
        """Return the next events, in order; none if `wake` or `end` was called or the follower was cut off.

        Raises DatabaseUnavailable if the rest must come from the log and the database cannot be reached.
        """
        if self._catching_up and not self.ended:
            events = await self._from_log()
            if events:
                return events
        if not self._nudged and not self.ended:
            self._waker = asyncio.get_running_loop().create_future()
            await self._waker
        self._nudged = False
        fresh = [event for event in self._waiting if self._place(event) > self.reached]
        self._waiting.clear()
        if fresh and self.gid is not None and fresh[0].version != self.reached + 1:
            self._catching_up = True  # this does not happen without a reason, and the log has the events in any case
            return await self._from_log()
        if fresh:
            self.reached = self._place(fresh[-1])
            self.ended = self.ended or (self.gid is not None and fresh[-1].last)
        return fresh

    def close(self) -> None:
        """Follow no more."""
        self.feed.forget(self)

    def begin(self, origin: EventId, reached: int, *, over: bool) -> None:
        """Start after `reached`; for the source only."""
        self.origin = origin
        self.reached = reached
        self.ended = over

    async def _from_log(self) -> list[LoggedEvent]:
        """Return a page of the log after `reached`; none once the pushed events follow without a gap."""
        while self._catching_up:
            self._missed = False
            page = await self.feed.page_after(self)
            self._catching_up = page.more or self._missed
            if page.events:
                self.reached = self._place(page.events[-1])
                self.ended = self.ended or (page.over and not page.more)
                return page.events
        return []

    def _are_next(self, events: Sequence[LoggedEvent]) -> bool:
        first = self._place(events[0])
        return first > self.reached if self.gid is None else first == self.reached + 1

    def _place(self, event: LoggedEvent) -> int:
        return event.id if self.gid is None else event.version
