"""A stream of the house for one reader alone, from an event that is no longer in memory up to one that is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from weakref import WeakValueDictionary

import structlog

from saleroom.edge.addresses import Address
from saleroom.edge.house import House, Over
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import EventId
from saleroom.tools.errors import NoAnswer
from saleroom.tools.event_stream import Message

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.25
"""How long one read waits before the reader's place is looked for in memory again."""


class CatchUpTurns:
    """Turns to catch up: `most` at a time, and `share` of them for the readers of one network.

    A reader who takes little at a time keeps a turn for long, and anybody may name an old event.
    """

    def __init__(self, most: int, share: int) -> None:
        self._all = asyncio.Semaphore(most)
        self._share = share
        self._of_networks: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, network: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it for the length of a block."""
        own = self._of_networks.setdefault(network, asyncio.Semaphore(self._share))
        async with own, self._all:
            yield


class CatchUp:
    """A stream of the house that is read no faster than its one reader takes it."""

    def __init__(self, house: House, address: Address, after: EventId, turn: AbstractAsyncContextManager[None]) -> None:
        """The stream of the house begins with its `turn`."""
        self.place = after
        """The event after which the reader goes on."""
        self._batches: asyncio.Queue[Sequence[Message] | None] = asyncio.Queue(1)
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(house, address, after, turn))

    async def begin(self) -> None:
        """Wait until the house has begun the stream. Raises Over, Refusal, NoAnswer."""
        await asyncio.shield(self._begun)

    async def read(self) -> Sequence[Message] | None:
        """Return the next messages; none if none come in a moment, or None at the end of the stream."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._batches.get()
        return ()

    def close(self) -> None:
        """End the stream."""
        self._task.cancel()

    async def _run(
        self, house: House, address: Address, after: EventId, turn: AbstractAsyncContextManager[None]
    ) -> None:
        try:
            async with turn, house.stream(address, after) as stream:
                self._settle(None)
                async for messages in stream.batches():
                    await self._batches.put(messages)
        except (NoAnswer, Over, Refusal) as fault:
            self._settle(fault)
        except Exception:  # a bug must leave no reader waiting
            log.exception("a reader cannot catch up; its stream is ended", path=address.path)
        finally:
            self._settle(NoAnswer("the reader has gone", "Gone"))
        await self._batches.put(None)

    def _settle(self, fault: Exception | None) -> None:
        if self._begun.done():
            return
        if fault is None:
            self._begun.set_result(None)
        else:
            self._begun.set_exception(fault)
            self._begun.exception()  # nobody may be waiting any more
