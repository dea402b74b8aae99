"""One stream of a house, followed without an end: it goes on where it was, and shows whether the house still has the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog

from saleroom.edge.addresses import Address, Kind
from saleroom.edge.house import House, HouseStream, Over, cannot_be_reached, not_a_stream
from saleroom.edge.messages import OVER, TIME, event_of, is_news, parsed_id, payload_of
from saleroom.edge.window import Window
from saleroom.feed.streams import STARTED
from saleroom.kernel.errors import Refusal, UnknownEvent
from saleroom.kernel.identifiers import BEGINNING, EventId
from saleroom.log.store import LoggedEvent
from saleroom.tools.errors import NoAnswer
from saleroom.tools.event_stream import Message
from saleroom.tools.watch.channel import Pauses

log = structlog.get_logger(__name__)

BEGIN_SECONDS_MAX = 15.0
"""How long a reader waits until the house has begun a stream."""
LOOK_BACK = 100
"""How many versions before the present one a stream begins, so that readers that come back find their places."""


class Receiver(Protocol):
    """The part of an edge that gets what the house sends."""

    async def hand_out(self, messages: Sequence[LoggedEvent]) -> None:
        """Take new messages, in order. They are in the window."""

    def ended(self, *, rewound: bool = False) -> None:
        """The stream has ended for good. `rewound`: the house has lost events that it sent before."""


class Upstream:
    """One stream of the house. One that is `pinned` is tried again whatever the house answers."""

    def __init__(
        self, house: House, address: Address, window: Window, receiver: Receiver, *, pinned: bool = False
    ) -> None:
        self.over = False
        """Whether nothing more comes."""
        self.says_ids = False
        """Whether the stream says by an id where it begins, as those of pages do."""
        self.base = 0
        """The number after which the messages begin that make up the whole state."""
        self.state = 0
        """The number of the last message but the one that says that all is over."""
        self.story: LoggedEvent | None = None
        """The last message of a lot's page that belongs to no event."""
        self._house = house
        self._address = address
        self._window = window
        self._receiver = receiver
        self._pinned = pinned
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._head = 0
        """The version that the house was at when this began: readers wait until the window has it."""
        self._expected: LoggedEvent | None = None
        """The message that the house must send first when the stream goes on."""
        self._is_placed = False
        """Whether the house has said where the present stream begins."""
        self._renews = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to follow the house."""
        self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """Follow the house no more."""
        if self._task is not None:
            self._task.cancel()
        self._settle(cannot_be_reached())

    async def until_begun(self) -> None:
        """Wait until the window has the present state. Raises Refusal: that of the house, or Busy."""
        try:
            async with asyncio.timeout(BEGIN_SECONDS_MAX):
                await asyncio.shield(self._begun)
        except TimeoutError:
            raise cannot_be_reached() from None

    async def renew(self) -> None:
        """Have the house send the whole state again, once for all that wait for it. Raises Refusal."""
        if not self._renews and self._task is not None:
            self._renews = True
            self._begun = asyncio.get_running_loop().create_future()
            self._task.cancel()
            self.start()
        await self.until_begun()

    def _settle(self, refused: Refusal | None = None) -> None:
        """Let all go on that wait for the beginning."""
        self._renews = False
        if self._begun.done():
            return
        if refused is None:
            self._begun.set_result(None)
        else:
            self._begun.set_exception(refused)
            self._begun.exception()  # perhaps nobody waits for it

    async def _run(self) -> None:
        pauses = Pauses()
        refused: Refusal = cannot_be_reached()
        rewound = False
        try:
            while await self._tried(pauses):  # noqa: ASYNC110  # it pauses between tries
                await asyncio.sleep(pauses.next())
        except Refusal as other:
            refused, rewound = other, isinstance(other, UnknownEvent) and self._begun.done()
        except Exception:  # a bug must leave no reader waiting
            log.exception("a stream of the house cannot be followed; its readers are ended", path=self._address.path)
        self._settle(None if self.over else refused)
        self._receiver.ended(rewound=rewound)

    async def _tried(self, pauses: Pauses) -> bool:
        """Follow one stream of the house; return whether to try again. Raises Refusal if the house has no such stream."""
        try:
            await self._listen(pauses)
        except NoAnswer:
            return self._begun.done() or self._pinned
        except Refusal as refused:
            if not self._pinned or (isinstance(refused, UnknownEvent) and self._begun.done()):
                raise
            self._house.refuses(self._address, refused)
        except Over:
            self.over = not self._pinned
        except Exception:  # the stream of all events must outlive a bug: the house's next answer may be a good one
            if not self._pinned:
                raise
            log.exception("the stream of all events cannot be followed; trying again")
        return not self.over

    async def _listen(self, pauses: Pauses) -> None:
        """Follow one stream of the house to its end. Raises Over, NoAnswer, Refusal."""
        if not self._begun.done() and self._address.kind in (Kind.LOG, Kind.PAGE) and self._address.gid:
            await self._look_back()
        async with self._house.stream(self._address, self._place()) as stream:
            await self._take_all(stream, pauses)
        if self._address.kind is Kind.LOG and self._address.gid:
            async with self._house.stream(self._address, self._window.last):
                pass  # it was no end of the log: that is Over

    async def _look_back(self) -> None:
        """Find the present version, and begin some versions before it."""
        async with self._house.stream(self._address, None) as stream:
            async for messages in stream.batches():
                for message in messages:
                    if message.name in (STARTED, TIME) and message.has_id:
                        self._head = parsed_id(message).version
                        before = max(self._head - LOOK_BACK, 0)
                        is_beginning = before == 0 and self._address.kind is Kind.LOG
                        self._window.begin(BEGINNING if is_beginning else EventId(self._address.gid, before))
                        return
        raise not_a_stream()

    def _place(self) -> EventId | None:
        """Return where the house is to go on: before the last event, so that it shows whether it still has the same."""
        window, self._expected = self._window, None
        if self._address.kind in (Kind.STATE, Kind.PARTS) or not (self._begun.done() or self._head):
            return None
        kept = window.after(max(window.first, window.number - 1) - 1, 2)
        if self._address.kind is Kind.PAGE or not kept:
            return window.last
        self._expected = kept[-1]
        return window.before if len(kept) == 1 else EventId(kept[0].gid, kept[0].version)

    async def _take_all(self, stream: HouseStream, pauses: Pauses) -> None:
        self._is_placed = False
        async for messages in stream.batches():
            pauses.reset()
            pauses.least = stream.retry_seconds or pauses.least
            fresh: list[LoggedEvent] = []
            try:
                for message in messages:
                    self._take(message, fresh)
            finally:  # what is in the window has to reach the readers, whatever comes after it
                if fresh:
                    await self._receiver.hand_out(fresh)
            if self._head and self._window.last.version >= self._head:
                self._settle()
            if self.over:
                return

    def _take(self, message: Message, fresh: list[LoggedEvent]) -> None:
        """Take in a message; add it to `fresh` if it is for readers. Raises as `_taken` does."""
        if not self._is_placed and message.name in (STARTED, TIME):
            self._is_placed = True
            self._begin_at(message)
        elif is_news(message) and (one := self._taken(message)) is not None:
            fresh.append(one)

    def _begin_at(self, message: Message) -> None:
        """Take note of where a stream begins, as its first message says."""
        self.says_ids = message.name == TIME and message.has_id
        self.base = self._window.number
        if not self._head:
            if message.has_id and not self._begun.done():
                self._window.begin(parsed_id(message))
            self._settle()

    def _taken(self, message: Message) -> LoggedEvent | None:
        """Keep a message of the house, and return it as readers get it; None if they have it already.

        Raises NoAnswer for what no house sends, and UnknownEvent if the house goes on with other events than it had.
        """
        kind, window = self._address.kind, self._window
        event, payload = event_of(message, self._address), payload_of(message, kind)
        if kind is Kind.LOG and event is not None:
            expected, self._expected = self._expected, None
            if expected is not None:
                if (expected.gid, expected.version, expected.payload) != (event.gid, event.version, payload):
                    raise UnknownEvent
                return None
            if window.place_of(event) is not None or (self._address.gid and event.version != window.last.version + 1):
                raise UnknownEvent
        self.over = self.over or message.name == OVER
        kept = window.add(event, payload, last=message.name == OVER)
        if message.name != OVER:
            self.state = kept.id
            self.story = kept if kind is Kind.PAGE and event is None else self.story
        return kept
