"""Live pages in rounds: each page is told the last state, whatever comes between, and a slow page holds nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

import pytest
from msgspec import Struct

from saleroom.feed.follower import Follower, NextEvents
from saleroom.kernel.identifiers import BEGINNING, EventId
from saleroom.log.store import LoggedEvent
from saleroom.site import live
from saleroom.site.live import Audiences, LivePage, Pace, PageStream
from saleroom.storage.faults import DatabaseUnavailable
from tests.patience import settled, until

GID = "lot"


class Versions:
    """News that only know how far the lot is."""

    def __init__(self) -> None:
        self.last, self.over = BEGINNING, False

    def add(self, events: Sequence[LoggedEvent]) -> None:
        """Take in later events."""
        self.last, self.over = EventId(GID, events[-1].version), events[-1].last


class VersionPage(LivePage[Versions, int]):
    """A page that shows the version of the lot."""

    notes = 0

    def __init__(self) -> None:
        super().__init__()
        self._noted = 0
        self.said: list[int] = []
        """How many changes were noted before each message."""

    def note(self, news: Versions) -> bool:
        """Note the version."""
        self.notes += 1
        self._noted += 1
        self.owe(GID, news.last.version)
        return True

    def renew(self) -> None:
        """Have the page show the version again."""
        self._noted += 1
        self.owe(GID, 0)

    def html(self, states: Mapping[str, int]) -> str:
        """Return the version."""
        self.said.append(self._noted)
        self._noted = 0
        return f"v{states[GID]}"


class Line:
    """The connection of a reader, who may stop reading."""

    gone = False

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.reads.set()
        self.texts: list[bytes] = []

    @property
    def is_free(self) -> bool:
        """Whether the reader reads."""
        return self.reads.is_set()

    def write(self, piece: bytes) -> None:
        """Take a chunk."""
        assert self.is_free, "what is written now would wait in memory"
        self.texts.append(piece)

    async def send(self, message: Any) -> None:
        """Take a part of the answer, once the reader reads."""
        await self.reads.wait()
        self.texts.append(message["body"])

    @property
    def told(self) -> list[int]:
        """The versions that the page has shown."""
        lines = b"".join(self.texts).splitlines()
        return [int(line.removeprefix(b"data: v")) for line in lines if line.startswith(b"data: v")]


class Log:
    """A log of one lot in place of the feed: appended first, handed out later."""

    def __init__(self) -> None:
        self.events: list[LoggedEvent] = []
        self.gate = asyncio.Event()
        """Closed while what is read of the log does not arrive."""
        self.gate.set()
        self.listeners: set[Any] = set()
        self.after_rewind: list[Callable[[], None]] = []

    def append(self, *, last: bool = False) -> None:
        """Append an event."""
        number = len(self.events) + 1
        self.events.append(LoggedEvent(number, GID, number, b"", last))

    def hand_out(self, events: Sequence[LoggedEvent]) -> None:
        """Hand events to all who follow."""
        for listener in list(self.listeners):
            listener.push(events)

    def attach(self, _: str | None, listener: Any) -> None:
        """Hand events to `listener` from now on."""
        self.listeners.add(listener)

    def detach(self, _: str | None, listener: Any) -> None:
        """Hand it nothing more."""
        self.listeners.discard(listener)

    async def page_after(self, follower: Follower) -> NextEvents:
        """Return what comes after the last event of `follower`; it arrives once the gate is open."""
        found = self.events[follower.reached :]
        await asyncio.sleep(0)
        await self.gate.wait()
        return NextEvents(found)

    now = None  # the clock, which is not asked here

    def __len__(self) -> int:
        return len(self.listeners)


class Visit(Struct):
    """An open page, its connection, and the task of its stream."""

    page: VersionPage
    line: Line
    follower: Follower
    task: asyncio.Task[None]


class Hall:
    """A lot with readers."""

    def __init__(self) -> None:
        self.log = Log()
        self.gate = asyncio.Event()
        """Closed while what is read of the lot does not arrive."""
        self.gate.set()
        self.loads = 0
        self._read = 0
        """The version that was read last, and is kept while nobody needs a later one."""
        self.failures = 0
        """How many reads of the lot are still to fail."""
        self.audiences: Audiences[Versions, int] = Audiences(cast("Any", self.log), Pace(), Versions, self._load)
        self.visits: list[Visit] = []

    async def _load(self, due: Mapping[str, int]) -> Mapping[str, int]:
        self.loads += 1
        version = len(self.log.events)  # as a transaction that begins now sees it
        if self._read >= due[GID]:
            return {GID: self._read}
        for _ in range(random.randrange(4)):
            await asyncio.sleep(0)
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise DatabaseUnavailable
        self._read = max(self._read, version)
        return {GID: self._read}

    async def visit(self, version: int | None = None, first: Callable[[], Awaitable[str]] | None = None) -> Visit:
        """Open a page that shows the lot at `version`, otherwise as it is now. `first` is as for a stream."""
        shown = len(self.log.events) if version is None else version
        follower = Follower(cast("Any", self.log), GID)
        follower.begin(EventId(GID, shown), shown, over=False)
        line, page = Line(), VersionPage()
        stream = PageStream(follower, self.audiences, page, first)
        stream.shorten(cast("Any", line))
        visit = Visit(page, line, follower, asyncio.create_task(stream.run(cast("Any", line), line.send)))
        self.visits.append(visit)
        await settled()
        return visit

    async def bid(self, count: int = 1) -> None:
        """Have the lot change."""
        for _ in range(count):
            self.log.append()
            self.log.hand_out(self.log.events[-1:])

    async def all_know(self) -> None:
        """Wait until every page shows the lot as it is."""
        number = len(self.log.events)
        await until(
            lambda: all(visit.line.told[-1:] == [number] for visit in self.visits), "every page has the last state"
        )


@pytest.fixture
def hall(monkeypatch: pytest.MonkeyPatch) -> Hall:
    """A lot whose readers are told without pauses."""
    monkeypatch.setattr(live, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(live, "RETRY_SECONDS", 0)
    monkeypatch.setattr(live, "TOLD_PER_SECOND", 1e9)
    monkeypatch.setattr(live, "TURN_PAGES", 2)
    monkeypatch.setattr(PageStream, "time", lambda _: b"")
    return Hall()


@pytest.mark.parametrize("seed", range(30))
async def test_every_page_ends_with_the_last_state(hall: Hall, seed: int) -> None:
    """Pages come at any time, and some stop reading for a while. No state goes back, and the last one reaches all."""
    chance = random.Random(seed)
    random.seed(seed)
    unseen: list[LoggedEvent] = []
    for _ in range(60):
        match chance.randrange(5):
            case 0 if len(hall.visits) < 9:
                await hall.visit()
            case 1 if hall.visits:
                reads = chance.choice(hall.visits).line.reads
                reads.clear() if reads.is_set() else reads.set()
            case 2 if unseen:
                hall.log.hand_out(unseen)
                unseen = []
            case _:
                hall.log.append()
                unseen.append(hall.log.events[-1])
        for _ in range(chance.randrange(3)):
            await asyncio.sleep(0)
    hall.log.append()
    hall.log.hand_out([*unseen, hall.log.events[-1]])
    await hall.visit()
    await hall.bid()
    for visit in hall.visits:
        visit.line.reads.set()
    await hall.all_know()
    for visit in hall.visits:
        assert sorted(visit.line.told) == visit.line.told
        assert all(visit.page.said), "a message that says nothing new would take the place of news"
        visit.follower.end()
        await visit.task
    assert set() == hall.log.listeners


async def test_a_storm_is_told_in_few_rounds(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first change comes at once. Those of the pause after it come together: one read, and one message for all pages."""
    encoded: list[str] = []
    message, sleep, pause = live._message, asyncio.sleep, asyncio.Event()

    def encode(html: str, *event_id: EventId) -> bytes:
        encoded.append(html)
        return message(html, *event_id)

    async def rest(seconds: float) -> None:
        await (pause.wait() if seconds == 0.25 else sleep(0))

    visits = [await hall.visit() for _ in range(20)]
    monkeypatch.setattr(live, "PAUSE_SECONDS", 0.25)
    monkeypatch.setattr(asyncio, "sleep", rest)
    monkeypatch.setattr(live, "_message", encode)
    for _ in range(50):
        await hall.bid()
        await settled()
        assert [[1]] * 20 == [visit.line.told for visit in visits]
    pause.set()
    await settled()
    assert [[1, 50]] * 20 == [visit.line.told for visit in visits]
    assert (2, ["v1", "v50"]) == (hall.loads, encoded)


async def test_a_change_during_the_read_of_the_lot_is_told(hall: Hall) -> None:
    """What happens while the lot is read is told afterwards: to an audience, and to a page that catches up by itself."""
    first = await hall.visit()
    hall.gate.clear()
    await hall.bid()
    await settled()
    late = await hall.visit(version=0)
    await hall.bid()
    await settled()
    hall.gate.set()
    await hall.all_know()
    assert (2, 2) == (first.line.told[-1], late.line.told[-1])
    hall.gate.clear()
    hall.log.append()
    alone = await hall.visit(version=2)
    hall.log.hand_out(hall.log.events[2:])
    await hall.bid()
    await settled()
    hall.gate.set()
    await hall.all_know()
    assert [4] == alone.line.told[-1:]
    await settled()
    assert all(all(visit.page.said) for visit in hall.visits), "a message that says nothing new took the place of news"


async def test_a_page_that_catches_up_does_not_fall_back(hall: Hall) -> None:
    """If the log answers a page late, a newer change that it was told meanwhile is not forgotten."""
    hall.log.append()
    hall.log.append()
    other = await hall.visit(version=0)
    await hall.all_know()
    hall.log.gate.clear()
    hall.gate.clear()
    late = await hall.visit(version=1)
    await hall.bid()
    await settled()
    hall.log.gate.set()
    await settled()
    hall.gate.set()
    await hall.all_know()
    assert (3, 3) == (other.line.told[-1], late.line.told[-1])


async def test_a_slow_page_costs_one_note(hall: Hall) -> None:
    """Nothing is rendered or kept for a page whose reader is slow. Others go on, and it gets the last state afterwards."""
    slow, lively = await hall.visit(), await hall.visit()
    slow.line.reads.clear()
    for number in range(1, 200):
        await hall.bid()
        await settled()
        assert number == lively.line.told[-1]
    assert ([], {GID: 199}) == (slow.line.told, slow.page.due)
    assert not slow.follower._waiting
    slow.line.reads.set()
    await hall.all_know()
    assert [199] == slow.line.told


async def test_the_end_ends_the_pages(hall: Hall) -> None:
    """With the last event of a lot come its state and the message `over`, for slow readers too."""
    visits = [await hall.visit(), await hall.visit()]
    visits[0].line.reads.clear()
    hall.log.append(last=True)
    hall.log.hand_out(hall.log.events)
    await settled()
    visits[0].line.reads.set()
    for visit in visits:
        await visit.task
        assert [1] == visit.line.told
        assert live.OVER in b"".join(visit.line.texts)


async def test_an_end_while_a_page_begins_comes_with_its_state(hall: Hall) -> None:
    """If the lot ends while the beginning of a stream is made, `over` waits for the last state: the page closes with it."""

    async def first() -> str:
        hall.log.append(last=True)
        hall.log.hand_out(hall.log.events)
        await settled()
        return "v0"

    visit = await hall.visit(first=first)
    await visit.task
    text = b"".join(visit.line.texts)
    assert [0, 1] == visit.line.told
    assert text.endswith(live.OVER)
    assert 1 == text.count(live.OVER)


async def test_all_audiences_share_one_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process tells so many pages a second, of however many lots they are; after a rest nobody waits."""
    monkeypatch.setattr(live, "TOLD_PER_SECOND", 100)
    now, slept = [1000.0], list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(round(max(0.0, seconds), 6))
        now[0] += max(0.0, seconds)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(asyncio, "sleep", sleep)
    pace = Pace()
    for pages in (50, 20, 10):
        await pace.turn()
        pace.count(pages)
    pace.count(30)
    await pace.turn()
    now[0] += 5
    await pace.turn()
    assert [0, 0.5, 0.2, 0.4, 0] == slept
