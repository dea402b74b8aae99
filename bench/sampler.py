"""A house that samples its own stack: `python -m bench.sampler FILE serve ...`, from SIGUSR1 to SIGUSR2.

The kernel interrupts the process by the processor time that it has used, so waiting is not sampled, nor is other work on the
machine. Each sample weighs the processor time of the event loop's thread since the last one.
"""

from __future__ import annotations

import dis
import json
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

INTERVAL_SECONDS = 0.001
"""The kernel may round it up to its own tick."""
_RESUME = dis.opmap["RESUME"]


class Sampler:
    """The processor time by stack: the frames of Python from the innermost outwards, as `module:function`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: Counter[tuple[str, ...]] = Counter()
        self._last = self._began = self._began_process = 0.0

    def begin(self, _: int, __: FrameType | None) -> None:
        """Begin to sample."""
        self._last = self._began = time.thread_time()
        self._began_process = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)

    def sample(self, _: int, frame: FrameType | None) -> None:
        """Take one sample."""
        now = time.thread_time()
        self._seconds[stack(frame)] += now - self._last  # type: ignore[assignment]  # a Counter adds floats too
        self._last = time.thread_time()

    def end(self, _: int, __: FrameType | None) -> None:
        """End, and write what was found: the seconds of each stack, and those of all other threads."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        others = (time.process_time() - self._began_process) - (time.thread_time() - self._began)
        found = {"stacks": [[frames, seconds] for frames, seconds in self._seconds.items()], "others": others}
        temporary = self._file.with_suffix(".part")
        temporary.write_text(json.dumps(found))
        temporary.replace(self._file)


def stack(frame: FrameType | None) -> tuple[str, ...]:
    """Return the stack at `frame`.

    A frame at its very beginning is left out: Python delivers signals only between its own instructions, so the time before
    is that of its caller, or of the event loop, which is no Python.
    """
    while frame is not None and frame.f_code.co_code[frame.f_lasti] == _RESUME:
        frame = frame.f_back
    frames = []
    while frame is not None:
        frames.append(f"{frame.f_globals.get('__name__', '')}:{frame.f_code.co_qualname}")
        frame = frame.f_back
    return tuple(frames)


def main() -> int:
    """Run the command of the house with a sampler in it."""
    sampler = Sampler(Path(sys.argv[1]))
    sys.argv[:] = ["saleroom", *sys.argv[2:]]
    signal.signal(signal.SIGPROF, sampler.sample)
    signal.signal(signal.SIGUSR1, sampler.begin)
    signal.signal(signal.SIGUSR2, sampler.end)
    from saleroom.cli import main as saleroom

    return saleroom()


if __name__ == "__main__":
    sys.exit(main())
