"""How far the log is complete: numbers are assigned in one order, and transactions commit in another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from saleroom.log.store import LogPage, LogPosition


class Frontier:
    """The number up to which the log is known to be complete.

    Numbers are given out in order, but their transactions commit in any: an event may appear below one that was seen
    before. A skipped number counts as missing until it appears, or until every transaction that could have it is
    over. An auction's own events always appear in order, as each is written under the auction's lock.
    """

    def __init__(self, numbers: Sequence[int], look_back: int) -> None:
        """Take the numbers among the last `look_back` of the log, in order. It begins before the first missing one."""
        head = max(numbers[-1] - look_back, 0) if numbers else 0
        for number in numbers:
            if number > head + 1:
                break
            head = number
        self.seen = LogPosition(head)
        self._missing: dict[int, int | None] = {}

    @property
    def head(self) -> int:
        """The highest number that was seen."""
        return self.seen.number

    @property
    def missing(self) -> list[int]:
        """The missing numbers that may still appear, in order."""
        return list(self._missing)

    @property
    def complete(self) -> int:
        """The number up to which no further event will appear."""
        return next(iter(self._missing)) - 1 if self._missing else self.head

    def advance(self, tail: LogPage) -> None:
        """Take in the page that `Log.tail` read after `head`, and the numbers of `missing` in it."""
        for number in tail.numbers:
            self._missing.pop(number, None)
        for number, over_at in list(self._missing.items()):
            # The transaction with this number began before the number above was seen, so before this look.
            bound = tail.none_begun_from if over_at is None else over_at
            if tail.all_over_below >= bound:
                del self._missing[number]
            else:
                self._missing[number] = bound
        head = self.head
        for number in tail.numbers:
            if number > head:
                self._missing.update(dict.fromkeys(range(head + 1, number)))
                head = number
        self.seen = tail.last


class Outcome:
    """The outcome of the next attempt of a task, for which others wait."""

    def __init__(self) -> None:
        self._waiting: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        """Return after the next attempt. Raises its fault."""
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._waiting)

    def settle(self, fault: Exception | None) -> None:
        """Let those that wait go on, or raise `fault` in them."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None and fault is None:
            waiting.set_result(None)
        elif waiting is not None and fault is not None:
            waiting.set_exception(fault)
            waiting.exception()  # otherwise asyncio would log it if all that waited have given up
