"""A channel: one stream of the house, followed once, for all readers of its address."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from saleroom.edge.addresses import Address, Kind
from saleroom.edge.catching_up import CatchUp, CatchUpTurns
from saleroom.edge.house import House, Over, cannot_be_reached
from saleroom.edge.messages import event_of, is_news, payload_of
from saleroom.edge.upstream import BEGIN_SECONDS_MAX, Upstream
from saleroom.edge.window import Bounds, Memory, Window
from saleroom.feed.follower import Follower, Listener, NextEvents
from saleroom.http.asker import client_key
from saleroom.kernel.identifiers import EventId
from saleroom.log.store import LoggedEvent
from saleroom.tools.errors import NoAnswer

PAGE_MAX = 64
"""Messages that a reader gets at a time while it catches up."""
TURN_FOLLOWERS = 256
"""Readers that are served before others have their turn."""
WAITING_PAGES_MAX = 64
"""Messages of a page that may wait for one reader. Each is large, and the last one says all."""
_BOUNDS = {
    Kind.LOG: Bounds(512, 512 * 1024),
    Kind.PAGE: Bounds(64, 256 * 1024),
    Kind.STATE: Bounds(2, 0),
    Kind.PARTS: Bounds(8, 256 * 1024),
}
_ALL = Bounds(20_000, 32 * 1024 * 1024)
"""The bounds of the whole log of a house."""


class Others(Protocol):
    """What a channel needs of the edge as a whole."""

    house: House
    memory: Memory
    turns: CatchUpTurns
    """The turns of readers that catch up with streams of their own."""

    def __len__(self) -> int:
        """Return how many readers there are."""

    def left(self, channel: Channel) -> None:
        """Count one reader less, who followed `channel`."""

    def drop(self, channel: Channel) -> None:
        """Lead no new reader to `channel`."""

    def rewound(self) -> None:
        """The house has lost events that were read from it: end all streams."""


class Channel:
    """The readers of one stream of the house. With `pinned` it goes on without readers."""

    def __init__(self, edge: Others, address: Address, network: str, *, pinned: bool = False) -> None:
        """`network` is that of the reader that it is opened for."""
        self.address = address
        self.network = network
        self.readers: set[Follower] = set()
        self._edge = edge
        self._window = Window(address.kind, _ALL if pinned else _BOUNDS[address.kind], edge.memory)
        self.upstream = Upstream(edge.house, address, self._window, self, pinned=pinned)
        self._catching: dict[Follower, CatchUp] = {}
        self._is_closed = False

    async def follow(self, after: EventId | None) -> tuple[Follower, bytes]:
        """Return a new reader, from behind `after` or from now on, and what it gets before all messages.

        Raises Refusal if the house refuses its place, and Busy if the house cannot be reached.
        """
        await self.upstream.until_begun()
        kind, window = self.address.kind, self._window
        if kind is Kind.PARTS and window.first > self.upstream.base + 1:
            await self.upstream.renew()
        number, origin, catch_up = self._start(), window.last, None
        over = kind is Kind.LOG and self.upstream.over
        if after is not None and kind in (Kind.LOG, Kind.PAGE):
            origin, found = after, window.place_of(after)
            if found is None:
                over, catch_up = await self._catch_up(after)
                if catch_up is not None and kind is Kind.PAGE and after.version > window.last.version:
                    # The house knows this event, and its stream is about to bring it here too.
                    catch_up.close()
                    catch_up = None
            else:
                number, over = found, over and found == window.number
        if self._is_closed:  # while this reader waited; nobody would ever end its stream
            if catch_up is not None:
                catch_up.close()
            raise cannot_be_reached()
        follower = Follower(self, None, None if kind is Kind.LOG else WAITING_PAGES_MAX)
        follower.begin(origin, number if catch_up is None else 0, over=over)
        if catch_up is not None:
            self._catching[follower] = catch_up
        self.readers.add(follower)
        story = self.upstream.story
        told = catch_up is None and story is not None and story.id <= number
        return follower, story.payload if told and story is not None else b""

    def __len__(self) -> int:
        return len(self._edge)

    async def page_after(self, follower: Follower) -> NextEvents:
        """Return the messages from which a reader goes on, as a source does."""
        catch_up = self._catching.get(follower)
        if catch_up is not None:
            try:
                return await self._caught_up(follower, catch_up)
            except NoAnswer:  # no house sends this
                follower.end_here()
                return NextEvents([])
        if follower.reached + 1 < self._window.first:
            follower.end_here()  # it was too slow for the window; it comes back, and gets the rest from the house
            return NextEvents([])
        found = list(self._window.after(follower.reached, PAGE_MAX))
        if self.upstream.over and not found:
            follower.end()
        more = bool(found) and found[-1].id < self._window.number
        return NextEvents(found, more, self.upstream.over)

    def detach(self, gid: str | None, listener: Listener) -> None:
        """Hand a reader nothing more."""
        self.readers = {one for one in self.readers if one is not listener}

    def forget(self, follower: Follower) -> None:
        """Hand a reader nothing more, who then counts no more."""
        self._stop_catching_up(follower)
        if follower in self.readers:
            self.readers.discard(follower)
            self._edge.left(self)

    async def hand_out(self, messages: Sequence[LoggedEvent]) -> None:
        """Push new messages to all readers, some hundreds of them at a time."""
        # A reader that joins meanwhile begins after these messages, or gets them from the window.
        for number, follower in enumerate(list(self.readers), 1):
            follower.push(messages)
            if number % TURN_FOLLOWERS == 0:
                await asyncio.sleep(0)

    def ended(self, *, rewound: bool = False) -> None:
        """End all readers: the house sends nothing more at this address."""
        if rewound:
            self._edge.rewound()
        elif not self.upstream.over:
            self._edge.drop(self)
        for follower in list(self.readers):
            follower.end()

    def close(self) -> None:
        """Follow the house no more, and end all readers."""
        self._is_closed = True
        self.upstream.close()
        for follower in list(self.readers):
            follower.end()
        self._window.clear()

    def _start(self) -> int:
        """Return the number after which a reader begins that has no place of its own."""
        upstream, kind = self.upstream, self.address.kind
        if kind is Kind.PARTS:
            return upstream.base
        if kind is Kind.STATE:
            return max(upstream.base, upstream.state - 1)
        # A reader of a page that is over has to be told so.
        return self._window.number - (1 if upstream.over and kind is Kind.PAGE else 0)

    async def _catch_up(self, after: EventId) -> tuple[bool, CatchUp | None]:
        """Return whether nothing comes after an event, or otherwise a stream of the house for one reader alone.

        Raises Refusal.
        """
        catch_up = CatchUp(self._edge.house, self.address, after, self._edge.turns.turn(await client_key()))
        try:
            async with asyncio.timeout(BEGIN_SECONDS_MAX):
                await catch_up.begin()
        except Over:
            return True, None
        except (NoAnswer, TimeoutError):
            catch_up.close()
            raise cannot_be_reached() from None
        except BaseException:  # also if the reader gives up meanwhile
            catch_up.close()
            raise
        return False, catch_up

    async def _caught_up(self, follower: Follower, catch_up: CatchUp) -> NextEvents:
        """Return the next messages of a reader's own stream, until one of them is in the window."""
        messages = await catch_up.read()
        found: list[LoggedEvent] = []
        for message in filter(is_news, messages or ()):
            event, payload = event_of(message, self.address), payload_of(message, self.address.kind)
            number = None if event is None else self._window.place_of(event)
            if event is not None and number is None and self.address.kind is Kind.PAGE:
                # A page is later than the window only for a moment. An older one is not: its stream begins with the present.
                number = self._window.number
            at = event or catch_up.place
            one = LoggedEvent(number or 0, at.gid, at.version, payload, last=False)
            found.append(one)
            catch_up.place = at
            if number is not None:
                self._stop_catching_up(follower)
                if self._differs(one):
                    self._edge.rewound()
                return NextEvents(found, more=True)
        if messages is None:
            follower.end_here()
            return NextEvents([])
        if not found and (place := self._window.place_of(catch_up.place)) is not None:
            # The window was behind the reader, and has come as far.
            self._stop_catching_up(follower)
            follower.reached = place
        return NextEvents(found, more=not follower.ended)

    def _differs(self, message: LoggedEvent) -> bool:
        """Return whether the house sends another event by an id than before."""
        kept = self._window.message_of(EventId(message.gid, message.version))
        return self.address.kind is Kind.LOG and kept is not None and kept.payload != message.payload

    def _stop_catching_up(self, follower: Follower) -> None:
        catch_up = self._catching.pop(follower, None)
        if catch_up is not None:
            catch_up.close()
