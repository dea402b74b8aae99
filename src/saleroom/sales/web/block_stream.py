"""The stream of a block: its whole state after each change, made once for all of its readers (docs/live.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from starlette.types import Send

from saleroom.feed.follower import Follower
from saleroom.feed.streams import EventStream, chunk, page_time, send_more
from saleroom.http.client_connection import ClientConnection
from saleroom.kernel.identifiers import EventId
from saleroom.log.store import LoggedEvent
from saleroom.sales.service.live.blocks import Blocks, State
from saleroom.site.live import OVER

Make = Callable[[State], bytes]
"""Makes the message of a state, all of it. Those of the same state are made once: see `State.made`."""


class BlockStream(EventStream):
    """A stream of the states of one block. A reader that falls behind gets the last state only.

    It needs no place to resume at: its first message is the present state. The `follower` of the sale's log counts the reader
    among those of the house, and is parked.
    """

    _connection: ClientConnection | None = None
    """Set while a state can be sent without a turn of this stream's task."""

    def __init__(self, follower: Follower, clock: Callable[[], datetime], blocks: Blocks, gid: str, make: Make) -> None:
        super().__init__(follower, clock)
        self._blocks = blocks
        self._gid = gid
        self._make = make
        self._state: State | None = None
        """The state that has yet to be sent."""

    async def run(self, connection: ClientConnection, send: Send) -> None:
        """Send the present state and all that follow."""
        self._blocks.join(self._gid, self)
        try:
            self.follower.park()
            await super().run(connection, send)
        finally:
            self._blocks.leave(self._gid, self)

    def shorten(self, connection: ClientConnection) -> None:
        """Let states be written to the connection at once."""
        self._connection = connection

    async def opening(self, origin: EventId) -> bytes:
        """Return the time and the present state."""
        state = await self._blocks.state(self._gid)
        if state is None:
            self.follower.end()
            return self.time()
        self._state = None
        return self.time() + self._message(state)

    def push(self, state: State) -> None:
        """Send a state now, or once the reader has taken what was sent before."""
        connection = self._connection
        if connection is None or not self.follower.idle or not connection.is_free:
            self._state = state
            self.follower.wake()
            return
        self._state = None
        connection.write(chunk(self._message(state)))

    def end(self) -> None:
        """End: the block cannot be read."""
        self.follower.end()

    async def tell(self, events: Sequence[LoggedEvent], send: Send) -> None:
        """Send the last state, if it was not sent yet."""
        if self._state is None:
            return
        await send_more(send, b"")  # this waits until the reader has taken what was sent
        state, self._state = self._state, None
        if state is not None:
            await send_more(send, self._message(state))

    def time(self) -> bytes:
        """Return the time of the house's clock."""
        return page_time(self.clock())

    def _message(self, state: State) -> bytes:
        made = self._make(state)
        if not state.hall.over:
            return made
        self.follower.end()
        return made + OVER
