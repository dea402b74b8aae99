"""Reads that many ask for at the same time, by one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Generic, TypeVar

import structlog
from msgspec import Struct

from saleroom.storage.database import Database, Transaction
from saleroom.storage.faults import Abandoned, Unavailable
from saleroom.storage.turns import ASKER, Asker, begin_for_all

log = structlog.get_logger()

BATCH_MAX = 512

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Answers = Sequence[V | Exception]


class _Waiting(Struct, Generic[V]):
    future: asyncio.Future[V]
    asker: Asker | None

    def stays(self) -> bool:
        """Whether somebody still waits here."""
        if not self.future.done() and self.asker is not None and self.asker.gone:
            self.future.set_exception(Abandoned())
        return not self.future.done()


class Shared(Generic[K, V]):
    """Gathers the questions that arrive while a transaction is under way into the next one, each asked once.

    So an answer is never older than its question: its transaction began afterwards. Nothing is kept for the next one. Who
    has hung up when the next one begins is not asked for. Questions are to be cheap, as they wait for each other; there
    are never more than there are connections.
    """

    def __init__(
        self,
        database: Database,
        answer: Callable[[Transaction, Sequence[K]], Answers[V]],
        batch_max: int = BATCH_MAX,
    ) -> None:
        """Take a use case that answers several questions, each by its answer or by what it is refused with."""
        self._database = database
        self._answer = answer
        self._batch_max = batch_max
        self._waiting: dict[K, list[_Waiting[V]]] = {}
        self._serving: asyncio.Task[None] | None = None

    async def ask(self, question: K) -> V:
        """Return the answer. Raises what the question is refused with, or Unavailable."""
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(question, []).append(_Waiting(future, ASKER.get()))
        if self._serving is None:
            self._serving = begin_for_all(self._serve())
        return await future

    async def _serve(self) -> None:
        try:
            while self._waiting:
                batch = self._next_batch()
                try:
                    if batch:
                        await self._settle(batch)
                except Exception as error:  # noqa: BLE001  # told to all: a log that cannot be written leaves nobody waiting
                    _tell(batch, [error] * len(batch))
        finally:
            self._serving = None

    def _next_batch(self) -> list[tuple[K, list[_Waiting[V]]]]:
        first = list(islice(self._waiting, self._batch_max))
        batch = [(question, [one for one in self._waiting.pop(question) if one.stays()]) for question in first]
        return [(question, waiting) for question, waiting in batch if waiting]

    async def _settle(self, batch: Sequence[tuple[K, list[_Waiting[V]]]]) -> None:
        """Answer every question of `batch`. One that breaks the transaction is found by asking them one by one."""
        try:
            answers = await self._database.read(self._answer, [question for question, _ in batch])
        except Unavailable as error:
            answers = [Unavailable(str(error)) for _ in batch]
        except Exception as error:
            # A bug: whoever brought it is told, and their neighbours are not harmed.
            if len(batch) > 1:
                log.exception("a batch of reads failed; trying them one by one", reads=len(batch))
                for one in batch:
                    await self._settle([one])
                return
            answers = [error]
        _tell(batch, answers)


def _tell(batch: Sequence[tuple[K, list[_Waiting[V]]]], answers: Sequence[V | Exception]) -> None:
    for (_, waiting), answer in zip(batch, answers, strict=True):
        for one in waiting:
            future = one.future
            if future.done():
                continue  # The client has gone, or has been told.
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
