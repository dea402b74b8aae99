"""An event loop whose time is virtual: nobody waits, and everything happens in one order, which the seed alone decides.

One thread, no sockets, no sleep: if nothing is left to do now, the time jumps to the next timer. Everything that a
process of the house has started carries its `Strand`, so that a process can be killed between any two steps, as by
`kill -9` (no `finally` runs), or stand still for a while, as by SIGSTOP.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import events
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any


class Deadlock(Exception):
    """Nothing is left to do, now or later, and somebody waits."""


class Strand:
    """The tasks and timers of a process, or of one part of it."""

    def __init__(self, loop: VirtualLoop, parent: Strand | None = None) -> None:
        self.dead = False
        self.parent = parent
        self._loop = loop
        self._pauses = 0
        self._held: list[events.Handle] = []

    def stops(self, handle: events.Handle) -> bool:
        """Whether a callback must not run now, but after the pause; or never, if this is dead."""
        if self.dead or self._pauses:
            self._held.append(handle)
            return True
        return self.parent is not None and self.parent.stops(handle)

    def pause(self, seconds: float) -> None:
        """Do nothing for a while; callbacks that fall due meanwhile run afterwards, in order."""
        self._pauses += 1
        self._loop.call_later(seconds, self._go_on, context=Context())

    def revive(self) -> None:
        """End the pause or the death: callbacks that were held back run, so that the tasks can be ended."""
        self.dead, self._pauses = False, 0
        self._release()

    def _go_on(self) -> None:
        self._pauses = max(0, self._pauses - 1)
        if not self._pauses and not self.dead:
            self._release()

    def _release(self) -> None:
        held, self._held = self._held, []
        self._loop.run_soon(held)


STRAND: ContextVar[Strand | None] = ContextVar("strand", default=None)


class _Handle(events.Handle):
    def _run(self) -> None:
        _run_unless_stopped(self, super())


class _TimerHandle(events.TimerHandle):
    def _run(self) -> None:
        _run_unless_stopped(self, super())


def _run_unless_stopped(handle: Any, plain: Any) -> None:
    strand = handle._context.get(STRAND)
    if strand is None or not strand.stops(handle):
        plain._run()


class VirtualLoop(asyncio.BaseEventLoop):
    """See the module. `errors` has the uncaught exceptions."""

    _ready: Any
    _scheduled: Any
    _clock_resolution: float

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[str] = []
        self._now = 0.0
        self._clock_resolution = 1e-9
        self._selector = _NextTimer(self)
        self.set_exception_handler(self._note)

    def time(self) -> float:
        """Return the seconds since the beginning."""
        return self._now

    def skip(self, seconds: float) -> None:
        """Let the time go on to the next timer."""
        self._now = max(self._now, self._scheduled[0]._when if self._scheduled else self._now + seconds)

    def run_soon(self, handles: list[events.Handle]) -> None:
        """Run callbacks that were held back."""
        self._ready.extend(handle for handle in handles if not handle.cancelled())

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # a future is all that callers use
        """Run `func` at once: there are no threads."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  # passed on, as an executor does
            future.set_exception(error)
        return future

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any, context: Any = None) -> Any:  # type: ignore[override]  # any callback
        """Schedule a callback, under its strand."""
        timer: Any = _TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True
        return timer

    def _call_soon(self, callback: Any, args: Any, context: Any) -> events.Handle:
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def _process_events(self, event_list: Any) -> None:
        """Do nothing: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: there is no other thread to wake it from."""

    def _note(self, _: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.errors.append(f"{context['message']}: {error!r}")


class _NextTimer:
    """Stands in for a selector, which waits for sockets until the next timer."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> tuple[()]:
        if timeout is None:
            raise Deadlock("nothing is left to do, and somebody waits for it")
        if timeout > 0:
            self._loop.skip(timeout)
        return ()
