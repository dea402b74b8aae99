"""The desk: bids from every door wait here, and those that wait share one transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

import structlog

from saleroom.domain.errors import Busy
from saleroom.service.bidding import BidCommand, place_bids
from saleroom.storage.database import Database
from saleroom.storage.faults import Unavailable

log = structlog.get_logger()

BATCH_MAX = 512
WAITING_MAX = 4096
"""Beyond it a bid is answered `busy` at once: better an honest no than an answer after the end of the auction."""

_Waiting = tuple[BidCommand, "asyncio.Future[bytes]"]


class Desk:
    """Gathers the bids that arrive while a transaction is under way into the next one.

    The auctions take turns, so that a storm on one does not hold up the others; within an auction the order is that of
    arrival. An idle desk starts at once: nobody ever waits for a batch to fill.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: dict[str, deque[_Waiting]] = {}
        """By auction, in the order of their turns."""
        self._count = 0
        self._serving: asyncio.Task[None] | None = None

    async def place(self, command: BidCommand) -> bytes:
        """Return the answer (JSON of a `BidAnswer`) once it is committed. Raises the refusal, Busy, or Unavailable."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._line_up(command, answer)
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve())
        return await answer

    def _line_up(self, command: BidCommand, answer: asyncio.Future[bytes]) -> None:
        """Put a bid at the end of its auction's line. Raises Busy where too many wait and its auction has its share."""
        line = self._waiting.get(command.gid)
        if self._count >= WAITING_MAX and (0 if line is None else len(line)) >= WAITING_MAX // (len(self._waiting) + 1):
            raise Busy("Too many bids at once; nothing was changed; try again in a moment.")
        if line is None:
            line = self._waiting[command.gid] = deque()
        line.append((command, answer))
        self._count += 1

    def _next_batch(self) -> list[_Waiting]:
        """Take up to `BATCH_MAX` bids: one of each auction in turn, and again."""
        batch: list[_Waiting] = []
        while self._waiting and len(batch) < BATCH_MAX:
            gid = next(iter(self._waiting))
            line = self._waiting.pop(gid)
            batch.append(line.popleft())
            if line:
                self._waiting[gid] = line
        self._count -= len(batch)
        return batch

    async def _serve(self) -> None:
        """Take batch after batch until nobody waits."""
        try:
            while self._waiting:
                batch = self._next_batch()
                try:
                    await self._decide(batch)
                except Exception as error:  # noqa: BLE001  # told to all: a log that cannot be written leaves nobody waiting
                    _tell(batch, [error] * len(batch))
        finally:
            self._serving = None

    async def _decide(self, batch: Sequence[_Waiting]) -> None:
        """Answer every bid of `batch`. One that breaks the transaction is found by trying them one by one."""
        try:
            answers: Sequence[bytes | Exception] = await self._database.write(place_bids, [bid for bid, _ in batch])
        except Unavailable as error:
            answers = [Unavailable(str(error)) for _ in batch]
        except Exception as error:
            # A bug, or a row that the database refuses: whoever brought it is told, and their neighbours are not harmed.
            if len(batch) > 1:
                log.exception("a batch of bids failed; trying them one by one", bids=len(batch))
                for one in batch:
                    await self._decide([one])
                return
            answers = [error]
        _tell(batch, answers)


def _tell(batch: Sequence[_Waiting], answers: Sequence[bytes | Exception]) -> None:
    for (_, future), answer in zip(batch, answers, strict=True):
        if future.done():
            continue  # The client has gone, or has been told; what it asked for is decided all the same.
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
