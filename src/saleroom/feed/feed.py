"""The feed: every event of the log reaches all followers, in order, without gaps or repeats.

One reader per process reads the log after each commit and hands new events to all followers. A follower that resumes or
falls behind gets the rest from the log. A follower that does not take its events is cut off, and can resume.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

import structlog

from saleroom.feed.follower import Follower, Listener, NextEvents
from saleroom.kernel.errors import Busy
from saleroom.kernel.identifiers import BEGINNING, EventId
from saleroom.log import store
from saleroom.log.frontier import Frontier, Outcome
from saleroom.log.store import Backlog, Log, LoggedEvent, LogMismatch
from saleroom.storage.batching import SharedRead
from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import DatabaseUnavailable

_log = structlog.get_logger(__name__)

LOOK_BACK = 10_000
"""How far back in the log an unfinished transaction may have taken its numbers when a process begins to follow."""
TURN_FOLLOWERS = 256
"""Followers that are served before other work, such as bids, has its turn."""
BACKLOGS_AT_ONCE = 16
"""Pages of the log, up to 500 events each, that are read in one transaction."""
POLL_SECONDS = 1.0
GAP_SECONDS = 0.02
RETRY_SECONDS = 1.0
CLOCK_SECONDS = 60.0


class Feed:
    """The feed of one process. `run` it, and `wake` it after each commit."""

    def __init__(self, database: Database, log: Log, followers_max: int) -> None:
        self._database = database
        self._rows = log
        self._followers_max = followers_max
        self._clock: tuple[datetime, float] | None = None
        """An instant of the database's clock, and this process's monotonic clock at that instant."""
        self._timeline: str | None = None
        """The timeline of the database when it was last asked."""
        self._asked = float("-inf")
        """When that was, by this process's monotonic clock."""
        self.rewinds = 0
        """How often the database has lost events that were read from it before, or may have, as it was away."""
        self.after_rewind: list[Callable[[], None]] = []
        """Called when it has lost some that this feed has read, and when another server has taken over."""
        self._followers: set[Follower] = set()
        self._by_gid: dict[str, set[Listener]] = {}
        self._of_all: set[Listener] = set()
        self._frontier: Frontier | None = None
        self._fresh: list[LoggedEvent] = []
        """Events that were read and not handed out yet. They stay here if the database fails in between."""
        self._held: list[LoggedEvent] = []
        """Events that were read, but come after a number that is still missing."""
        self._woken = asyncio.Event()
        self._tracked = Outcome()
        self._begins: SharedRead[tuple[str, int | None], Backlog] = SharedRead(
            database, partial(log.backlogs, begin=True), BACKLOGS_AT_ONCE
        )
        self._backlogs: SharedRead[tuple[str, int | None], Backlog] = SharedRead(
            database, log.backlogs, BACKLOGS_AT_ONCE
        )
        self._pages: SharedRead[tuple[int, int], list[LoggedEvent]] = SharedRead(
            database, log.between, BACKLOGS_AT_ONCE
        )

    def __len__(self) -> int:
        return len(self._followers)

    def wake(self) -> None:
        """Read the log soon: something may have been committed. Call it in the event loop's thread."""
        self._woken.set()

    def now(self) -> datetime:
        """Return the time of the house's clock, as this process estimates it. There must be a follower."""
        assert self._clock is not None
        instant, then = self._clock
        return instant + timedelta(seconds=time.monotonic() - then)

    async def run(self) -> None:
        """Hand out new events, as long as there are followers."""
        while True:
            try:
                await self._wait()
                await self._look()
            except LogMismatch:
                _log.warning("the log is not the one that was read; streams end", followers=len(self))
                self._end_all()
                self._tell_of_rewind()
            except DatabaseUnavailable as fault:
                self._tracked.settle(fault)
                await asyncio.sleep(RETRY_SECONDS)
                self.rewinds += 1  # what others have read meanwhile may be lost, although no follower was shown it
            except Exception as error:
                self._tracked.settle(error)
                self._end_all()  # some may not have got what was read
                raise

    def _tell_of_rewind(self) -> None:
        self.rewinds += 1
        for tell in self.after_rewind:
            tell()

    def _end_all(self) -> None:
        """End all followers. Their clients come back, and go on after the last event that they got."""
        self._forget_the_log()
        for follower in list(self._followers):
            follower.end()

    def _forget_the_log(self) -> None:
        self._frontier, self._fresh, self._held = None, [], []

    def of_sessions(self) -> list[Follower]:
        """Return the followers that belong to a session."""
        return [follower for follower in self._followers if follower.session is not None]

    async def follow(self, gid: str | None, after: EventId | None, session: str | None = None) -> Follower:
        """Return a follower of an auction (or of all) from behind the event `after`, or from now on.

        One with the token of a `session` ends soon after it.

        Raises UnknownAuction, UnknownEvent, Busy if there are too many followers, or DatabaseUnavailable.
        """
        if len(self) >= self._followers_max:
            raise Busy("Too many follow the events just now; try again in a moment.")
        follower = Follower(self, gid)
        follower.session = session
        # The follower is registered before the log is read. An event committed in between comes both ways, and counts once.
        self._followers.add(follower)
        self.attach(gid, follower)
        self._woken.set()
        try:
            frontier = await self._tracked_frontier()
            if gid is None:
                follower.begin(*await self._start(after, frontier), over=False)
            else:
                start = await self._begins.ask((gid, None if after is None else after.version))
                origin = after or EventId(gid, start.version)
                follower.begin(origin, origin.version, over=start.over and not start.events)
        except BaseException:  # also a reader that gives up meanwhile: its place is given back
            follower.close()
            raise
        return follower

    def forget(self, follower: Follower) -> None:
        """Hand a follower nothing more."""
        self._followers.discard(follower)
        self.detach(follower.gid, follower)

    def attach(self, gid: str | None, listener: Listener) -> None:
        """Hand new events of an auction (or of all) to `listener`, as long as there are followers."""
        (self._of_all if gid is None else self._by_gid.setdefault(gid, set())).add(listener)

    def detach(self, gid: str | None, listener: Listener) -> None:
        """Hand `listener` nothing more."""
        group = self._of_all if gid is None else self._by_gid.get(gid, set())
        group.discard(listener)
        if gid is not None and not group:
            self._by_gid.pop(gid, None)

    async def page_after(self, follower: Follower) -> NextEvents:
        """Return the page of the log from which `follower` goes on."""
        if follower.gid is not None:
            backlog = await self._backlogs.ask((follower.gid, follower.reached))
            return NextEvents(backlog.events, backlog.more, backlog.over)
        until = (await self._tracked_frontier()).complete
        if follower.reached >= until:
            return NextEvents([])
        page = await self._pages.ask((follower.reached, until))
        return NextEvents(page, more=len(page) == store.PAGE_MAX)

    async def _start(self, after: EventId | None, frontier: Frontier) -> tuple[EventId, int]:
        """Return the event to begin after, and its number in the log; without `after`, the last event."""
        if after is None:
            number = frontier.complete
            last = await self._database.read(self._rows.last_until, number)
            return (BEGINNING if last is None else EventId(*last)), number
        if after == BEGINNING:
            return BEGINNING, 0
        return after, await self._database.read(self._rows.number_of, after.gid, after.version)

    async def _tracked_frontier(self) -> Frontier:
        """Return how far the log is complete; wait until `run` tracks it. Raises what keeps `run` from it."""
        while self._frontier is None:
            self._woken.set()
            await self._tracked.wait()
        return self._frontier

    async def _track(self) -> Frontier:
        """Find out how far the log is complete, and answer those that wait for it."""
        self._forget_the_log()  # an attempt before may have failed halfway
        frontier = Frontier(await self._database.read(self._rows.numbers, LOOK_BACK, shown=True), LOOK_BACK)
        for _ in range(2):  # an old rollback is recognized at the second look
            await self._read_on(frontier)
        self._frontier = frontier
        self._tracked.settle(None)
        return frontier

    async def _wait(self) -> None:
        """Wait for a commit, the time to look without one, or an event that is still missing."""
        if not self._followers:  # later ones begin by reading the log
            self._forget_the_log()
            await self._woken.wait()
        elif not self._woken.is_set():
            missing = self._frontier is not None and self._frontier.missing
            with suppress(TimeoutError):
                async with asyncio.timeout(GAP_SECONDS if missing else POLL_SECONDS):
                    await self._woken.wait()
        self._woken.clear()

    async def _look(self) -> None:
        """Read new events, and hand them out."""
        if self._followers:
            await self._set_clock()
            await self._know_server()
            await self._read_on(self._frontier or await self._track())

    async def _set_clock(self) -> None:
        """Ask the database for the time, if the last answer is old."""
        asked = time.monotonic()
        if self._clock is None or asked - self._clock[1] > CLOCK_SECONDS:
            instant = await self._database.read(Transaction.now)
            self._clock = instant, (asked + time.monotonic()) / 2

    async def _know_server(self) -> None:
        """Find out, once a second, whether another server has taken over.

        Followers go on, as they were shown nothing that it lacks. But all that was read beside the log, such as a page, may
        show a bid that the former server alone had.
        """
        if self._database.kind == "sqlite" or time.monotonic() - self._asked < POLL_SECONDS:
            return
        before, self._timeline = self._timeline, await self._database.read(Transaction.timeline)
        self._asked = time.monotonic()
        if before not in (None, self._timeline):
            self._tell_of_rewind()

    async def _read_on(self, frontier: Frontier) -> None:
        more = True
        while more or self._fresh:
            if more:
                tail = await self._database.read(self._rows.tail, frontier.seen, frontier.missing, shown=True)
                frontier.advance(tail)
                more = tail.more
                self._fresh += tail.events
            if more and len(self._fresh) < store.PAGE_MAX:
                continue  # the end of a page must not reveal hidden events
            page, self._fresh = self._fresh[: store.PAGE_MAX], self._fresh[store.PAGE_MAX :]
            began = time.monotonic()
            await self._hand_out(page, min([frontier.complete, *(event.id - 1 for event in self._fresh)]))
            # Pause as long as that took: bids get half of the time, however many follow, and the events of the pause are
            # handed out together.
            await asyncio.sleep(time.monotonic() - began)

    async def _hand_out(self, events: Sequence[LoggedEvent], complete: int) -> None:
        """Push new events to each listener, some hundreds of them at a time."""
        # A follower that joins meanwhile reads the log after these events, or begins after them.
        for number, (listener, own) in enumerate(list(self._for_each(events, complete)), 1):
            listener.push(own)
            if number % TURN_FOLLOWERS == 0:
                await asyncio.sleep(0)

    def _for_each(
        self, events: Sequence[LoggedEvent], complete: int
    ) -> Iterator[tuple[Listener, Sequence[LoggedEvent]]]:
        # Each listener gets all its events at once: pushing them one by one to thousands took as long as sending them.
        by_gid: dict[str, list[LoggedEvent]] = {}
        for event in events:
            if event.gid in self._by_gid:
                by_gid.setdefault(event.gid, []).append(event)
        for gid, own in by_gid.items():
            for listener in self._by_gid[gid]:
                yield listener, own
        self._held = sorted((*self._held, *events), key=_number)
        ripe = bisect_right(self._held, complete, key=_number)
        if ripe:
            out, self._held = self._held[:ripe], self._held[ripe:]
            for listener in self._of_all:
                yield listener, out


def _number(event: LoggedEvent) -> int:
    return event.id
