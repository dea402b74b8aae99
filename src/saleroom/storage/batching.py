"""Shared reads: many questions at the same time, answered by one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import structlog
from msgspec import Struct

from saleroom.kernel.errors import Refusal
from saleroom.storage.database import Database, Transaction, ranked
from saleroom.storage.faults import DatabaseUnavailable, HangUp
from saleroom.storage.turns import ASKER, Asker, Rank, begin_for_all

log = structlog.get_logger()

BATCH_MAX = 512

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Answers = Sequence[V | Exception]


OpenQuestion = tuple[K, Sequence["asyncio.Future[V]"]]
"""A question, and the futures that wait for its answer."""


class Batches(Generic[K, V]):
    """Answers questions batch after batch, until none waits. Only one batch is under way at a time."""

    def __init__(
        self,
        name: str,
        take: Callable[[], Sequence[OpenQuestion[K, V]]],
        answer: Callable[[Sequence[K]], Awaitable[Answers[V]]],
    ) -> None:
        """`take` returns the next batch, which is empty if nothing waits; `answer` answers it in one transaction.

        The log names the questions by `name`.
        """
        self._name = name
        self._take = take
        self._answer = answer
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, unless batches are already under way."""
        if self._serving is None:
            self._serving = begin_for_all(self._serve())

    async def _serve(self) -> None:
        try:
            while batch := self._take():
                try:
                    await self._settle(batch)
                except Exception as error:  # noqa: BLE001  # a log that cannot be written must leave nobody waiting
                    tell(batch, [error] * len(batch))
        finally:
            self._serving = None

    async def _settle(self, batch: Sequence[OpenQuestion[K, V]]) -> None:
        """Answer every question of `batch`. If the transaction breaks, ask them one by one to find the bad one."""
        try:
            answers = await self._answer([question for question, _ in batch])
        except DatabaseUnavailable as error:
            answers = [DatabaseUnavailable(str(error)) for _ in batch]
        except Exception as error:
            # A bug, or a row that the database refuses: only its own question gets the error.
            if len(batch) > 1:
                log.exception("a batch failed; trying its parts one by one", batch=self._name, size=len(batch))
                for one in batch:
                    await self._settle([one])
                return
            answers = [error]
        tell(batch, answers)


def tell(batch: Sequence[OpenQuestion[K, V]], answers: Answers[V]) -> None:
    """Set the answers of `batch` in the futures that still wait."""
    for (_, futures), answer in zip(batch, answers, strict=True):
        for future in futures:
            if future.done():
                continue  # The client has gone, or has its answer. A bid is decided all the same.
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)


class _Caller(Struct, Generic[V]):
    future: asyncio.Future[V]
    asker: Asker | None

    def stays(self) -> bool:
        """Whether anyone still waits for the answer."""
        if not self.future.done() and self.asker is not None and self.asker.gone:
            self.future.set_exception(HangUp())
        return not self.future.done()


class SharedRead(Generic[K, V]):
    """One use case for many: questions that arrive during a transaction share the next one, and equal ones are asked once.

    An answer is never older than its question, because its transaction began afterwards; no answer is kept. A question is
    dropped if all its clients have hung up before its transaction begins. Questions must be cheap, as they wait for each other.
    """

    def __init__(
        self,
        database: Database,
        answer: Callable[[Transaction, Sequence[K]], Answers[V]],
        batch_max: int = BATCH_MAX,
    ) -> None:
        """Take a use case that answers several questions, each by its answer or its refusal."""
        self._database = database
        self._answer = answer
        self._batch_max = batch_max
        self._waiting: dict[K, list[_Caller[V]]] = {}
        self._batches = Batches("reads", self._take, self._read)

    def ask(self, question: K) -> asyncio.Future[V]:
        """Return the answer to come, or its exception: the refusal of the question, or DatabaseUnavailable."""
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(question, []).append(_Caller(future, ASKER.get()))
        self._batches.start()
        return future

    def _take(self) -> list[OpenQuestion[K, V]]:
        """Return the next questions whose answer anyone still waits for."""
        batch: list[OpenQuestion[K, V]] = []
        while self._waiting and not batch:
            for question in list(islice(self._waiting, self._batch_max)):
                futures = [one.future for one in self._waiting.pop(question) if one.stays()]
                if futures:
                    batch.append((question, futures))
        return batch

    def _read(self, questions: Sequence[K]) -> Awaitable[Answers[V]]:
        return self._database.read(self._answer, questions)


class _NoAnswer(Exception):
    """The one who did the work got none for reasons of their own; somebody else does it."""


class InFlight(Generic[K, V]):
    """Work that is done once for all who ask for the same while it is under way. Nothing is kept afterwards.

    Unlike that of a `SharedRead`, an answer may be older than its question, by as long as the work takes. The first who asks
    does the work, within their own share of the house. If they leave, the next one who waits does it.
    """

    def __init__(self, *own: type[Exception]) -> None:
        """`own` are the exceptions that concern only the one who did the work; any other reaches all who wait."""
        self._own = own
        self._under_way: dict[K, asyncio.Future[V]] = {}

    async def ask(self, key: K, work: Callable[[], Awaitable[V]]) -> V:
        """Return what `work` returns, here or for somebody who has asked for the same `key` before. Raises as `work`."""
        while (others := self._under_way.get(key)) is not None:
            with suppress(_NoAnswer):
                return await asyncio.shield(others)
        waiting = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            answer = await work()
        except BaseException as error:
            is_own = isinstance(error, self._own) or not isinstance(error, Exception)
            waiting.set_exception(_NoAnswer() if is_own else error)
            waiting.exception()  # somebody may wait for it or nobody
            raise
        else:
            waiting.set_result(answer)
            return answer
        finally:
            del self._under_way[key]


Question = tuple[Callable[..., Any], tuple[Any, ...], tuple[tuple[str, Any], ...]]


class SharedReads:
    """A `SharedRead` for any use case that only reads and is cheap."""

    def __init__(self, database: Database) -> None:
        self._reads: SharedRead[Question, Any] = SharedRead(database, _answer_each)

    def ask(
        self, use_case: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[R]:
        """Return what `use_case` is to return, as `SharedRead.ask` does; its arguments must be hashable."""
        return self._reads.ask((use_case, args, tuple(kwargs.items())))


@ranked(Rank.HOUSE)
def _answer_each(tx: Transaction, questions: Sequence[Question]) -> list[Any]:
    answers: list[Any] = []
    for use_case, args, kwargs in questions:
        try:
            answers.append(use_case(tx, *args, **dict(kwargs)))
        except (Refusal, ValueError) as error:
            answers.append(error)
    return answers
