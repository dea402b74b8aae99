"""Whether others have their turn in the event loop while something is calculated in its thread."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class LoopTurns:
    """How often others have had a turn, and in which of those turns something happened."""

    def __init__(self) -> None:
        self.count = 0
        self.met = Counter[int]()

    def meet(self) -> None:
        """Note that it happens in this turn."""
        self.met[self.count] += 1

    def watched(self, items: Sequence[T]) -> list[T]:
        """Return a list that notes the turn in which each of its items is read."""
        turns = self

        class ListOfTurns(list[T]):
            def __iter__(self) -> Iterator[T]:
                for one in super().__iter__():
                    turns.meet()
                    yield one

        return ListOfTurns(items)

    def noting(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function that notes the turn of each of its calls."""

        @wraps(function)
        def noted(*args: P.args, **kwargs: P.kwargs) -> R:
            self.meet()
            return function(*args, **kwargs)

        return noted


@asynccontextmanager
async def loop_turns() -> AsyncIterator[LoopTurns]:
    """Take turns beside the block, and yield what counts them."""
    turns = LoopTurns()

    async def pass_by() -> None:
        while True:
            turns.count += 1
            await asyncio.sleep(0)

    passing = asyncio.create_task(pass_by())
    try:
        yield turns
    finally:
        passing.cancel()
