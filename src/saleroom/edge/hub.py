"""The hub of an edge: its channels, each while it has readers, and the log of the house all the time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import structlog

from saleroom.edge.addresses import EVENTS, Address
from saleroom.edge.catching_up import CatchUpTurns
from saleroom.edge.channel import Channel
from saleroom.edge.house import House
from saleroom.edge.window import Memory
from saleroom.feed.follower import Follower
from saleroom.http.asker import client_key
from saleroom.kernel.errors import Busy
from saleroom.kernel.figures import Figure, counters, gauge
from saleroom.kernel.identifiers import EventId

log = structlog.get_logger(__name__)

LINGER_SECONDS = 30.0
"""How long a channel without readers stays, so that those who come back find their places."""
IDLE_MAX = 256
"""How many channels without readers stay, however many addresses a stranger asks for one after the other."""
NETWORK_STREAMS_MAX = 1000
"""How many streams of the house the readers of one network cause at a time. The house counts all of them as the edge's: it
gives one address 2,000 connections unless it trusts it."""
MEMORY_BYTES_MAX = 256 * 1024 * 1024
"""How much all windows hold together, beside the last message of each."""
CATCHING_UP_MAX = 64
"""Readers that catch up with streams of their own at a time. They are few unless an edge was started again."""
CATCHING_UP_SHARE = 16
"""How many of them may be of one network."""
HEARD_SECONDS_MAX = 20.0
"""A house sends the time every 15 seconds. An edge that has heard nothing for longer is not ready."""


class Reader(NamedTuple):
    """A reader of a channel. `before` comes before all messages."""

    channel: Channel
    follower: Follower
    before: bytes


class Hub:
    """All readers of one process, while it is `running`."""

    def __init__(self, house: House, readers_max: int) -> None:
        self.house = house
        self.memory = Memory(MEMORY_BYTES_MAX)
        self.turns = CatchUpTurns(CATCHING_UP_MAX, CATCHING_UP_SHARE)
        self.rewinds = 0
        """How often the house had lost events that were read from it before."""
        self._readers_max = readers_max
        self._readers = 0
        self._channels: dict[Address, Channel] = {}
        self._idle: dict[Channel, None] = {}
        """Channels without readers, the one that has had none for longest first."""
        self._caused: Counter[str] = Counter()
        """Channels by the network of the reader that they were opened for."""
        self._ended = False

    def __len__(self) -> int:
        return self._readers

    @property
    def ready(self) -> bool:
        """Whether the house was heard not long ago."""
        return self.house.silent_seconds() < HEARD_SECONDS_MAX

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the log of the house for the length of a block."""
        async with self.house:
            self._open(EVENTS, "")
            try:
                yield
            finally:
                self._ended = True
                self._close_all()

    async def follow(self, address: Address, after: EventId | None) -> Reader:
        """Return a new reader. Raises Refusal."""
        network = await client_key()
        if self._readers >= self._readers_max:
            raise Busy("Too many follow the events just now; try again in a moment.")
        self._readers += 1
        channel = self._channels.get(address)
        try:
            if channel is None:
                channel = self._open(address, network)
            self._idle.pop(channel, None)
            follower, before = await channel.follow(after)
        except BaseException:  # also if the reader gives up meanwhile
            self._readers -= 1
            if channel is not None:
                self._close_later(channel)
            raise
        return Reader(channel, follower, before)

    def left(self, channel: Channel) -> None:
        """Count one reader less, who followed `channel`."""
        self._readers -= 1
        self._close_later(channel)

    def drop(self, channel: Channel) -> None:
        """Lead no new reader to `channel`."""
        self._idle.pop(channel, None)
        if self._channels.get(channel.address) is channel:
            del self._channels[channel.address]
            self._caused -= Counter([channel.network])
            channel.close()

    def rewound(self) -> None:
        """End all streams, as a house does that has lost events. Readers come back, and go on after what they got."""
        self.rewinds += 1
        log.warning("the log of the house is not the one that was read; streams end", readers=self._readers)
        self._close_all()
        if not self._ended:
            self._open(EVENTS, "")

    def figures(self) -> Sequence[Figure]:
        """Return what there is to know of this edge."""
        silent = self.house.silent_seconds()
        return (
            gauge("saleroom_edge_readers", "Readers of streams.", self._readers),
            gauge("saleroom_edge_streams", "Streams of the house that are open.", self.house.streams),
            gauge("saleroom_edge_window_bytes", "Messages in memory.", self.memory.size),
            gauge("saleroom_edge_heard", "1 if the house was heard not long ago.", int(silent < HEARD_SECONDS_MAX)),
            counters(
                "saleroom_edge_failures", "Streams of the house that broke off, or could not be opened.", (),
                {(): self.house.failures},
            ),
            counters(
                "saleroom_edge_rewinds", "How often the house had lost events that it sent before.", (),
                {(): self.rewinds},
            ),
        )  # fmt: skip

    def _open(self, address: Address, network: str) -> Channel:
        """Open a channel for a reader of a network. Raises Busy."""
        if len(self._channels) > self._readers_max or self._caused[network] >= NETWORK_STREAMS_MAX:
            raise Busy("Too many different streams are followed just now; try again in a moment.")
        channel = self._channels[address] = Channel(self, address, network, pinned=address == EVENTS)
        self._caused[network] += 1
        channel.upstream.start()
        return channel

    def _close_later(self, channel: Channel) -> None:
        """Close a channel that has no reader for a while, or at once the one without for longest if there are too many."""
        if channel.address != EVENTS and not channel.readers:
            self._idle[channel] = None
            if len(self._idle) > IDLE_MAX:
                self.drop(next(iter(self._idle)))
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._close_if_idle, channel)

    def _close_if_idle(self, channel: Channel) -> None:
        if not channel.readers:
            self.drop(channel)

    def _close_all(self) -> None:
        channels, self._channels, self._idle = list(self._channels.values()), {}, {}
        self._caused.clear()
        for channel in channels:
            channel.close()
