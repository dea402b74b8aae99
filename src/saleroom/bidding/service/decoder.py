"""The decoder: each picture is decoded in a separate process, which is killed if it takes too long.

Picture libraries are large programs that read files of strangers. In a separate process, one can neither delay nor crash
the house, and the kernel limits its memory and time (decoder_process.py).
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO

import msgspec
import structlog
from msgspec import Struct

from saleroom.bidding.domain.photos import RATIO_MAX, WIDTHS, is_webp, made_widths
from saleroom.bidding.service.decoder_process import LENGTH_BYTES, READY, DecoderAnswer
from saleroom.bidding.service.renditions import FIELD, TOO_COSTLY, TRUNCATED, Renditions
from saleroom.kernel.errors import Busy, Fault, Invalid

log = structlog.get_logger()

SECONDS_MAX = 30.0
"""How long a process may live. It has 10 s of processor time, which take longer on a busy machine."""
ANSWER_BYTES_MAX = 64 * 2**20
PIECE_BYTES = 1 << 20
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from saleroom.bidding.service.decoder_process import main; main()"
_ENDED_BY_LIMIT = (-9, -24)
"""SIGKILL and SIGXCPU from the kernel: the house itself kills a process only if it gives up the picture."""


class ProcessResult(Struct, frozen=True):
    """The end of a process: its exit code, whether it began to decode, and its output after that."""

    code: int
    is_ready: bool
    answer: bytes


class Decoder:
    """Decodes pictures, one at a time."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "decoder")
        self._turn = asyncio.Lock()
        self._running: set[_Process] = set()
        self._is_closed = False

    async def make(self, data: bytes) -> Renditions:
        """Return the renditions of the picture in `data`. Cancelling kills the process.

        Raises Invalid, field `photo`, or Busy if the house closes.
        """
        async with self._turn:
            return _made(await self._run(data))

    def close(self) -> None:
        """Kill the running process, and refuse further pictures."""
        self._is_closed = True
        for process in self._running:
            process.end()
        self._thread.shutdown(cancel_futures=True)

    async def _run(self, data: bytes) -> ProcessResult:
        if self._is_closed:
            raise Busy
        process = _Process()
        self._running.add(process)
        try:
            async with asyncio.timeout(SECONDS_MAX):
                found = await asyncio.get_running_loop().run_in_executor(self._thread, process.run, data)
        except TimeoutError:
            log.warning("a picture took too long to decode", seconds=SECONDS_MAX)
            raise Invalid({FIELD: [TOO_COSTLY]}) from None
        finally:
            process.end()
            self._running.discard(process)
        if self._is_closed:
            raise Busy
        return found


class _Process:
    """One process, for one picture."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run(self, data: bytes) -> ProcessResult:
        """Start it and return its answer. Call it in a thread."""
        with self._lock:
            if self._is_over:
                return ProcessResult(0, is_ready=False, answer=b"")
            # It gets no settings and no environment, as both may hold passwords of databases and brokers.
            process = self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, *sys.path],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        assert process.stdin is not None and process.stdout is not None, "both are pipes"
        with process:
            is_ready = process.stdout.read(len(READY)) == READY
            with suppress(BrokenPipeError):
                _write(process.stdin, len(data).to_bytes(LENGTH_BYTES))
                _write(process.stdin, data)
            answer = _read(process.stdout)
            if len(answer) > ANSWER_BYTES_MAX:
                process.kill()
                return ProcessResult(0, is_ready, answer=b"")
            # Its standard input stays open until here, as the process ends when it is closed.
            return ProcessResult(process.wait(), is_ready, answer)

    def end(self) -> None:
        """Kill it. This may be called in any thread, and more than once."""
        with self._lock:
            self._is_over = True
            if self._process is not None:
                self._process.kill()


def _write(pipe: IO[bytes], data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[pipe.write(left) :]


def _read(pipe: IO[bytes]) -> bytes:
    """Return all bytes until the end, or a little more than `ANSWER_BYTES_MAX`."""
    pieces: list[bytes] = []
    length = 0
    while length <= ANSWER_BYTES_MAX and (piece := pipe.read(PIECE_BYTES)):
        pieces.append(piece)
        length += len(piece)
    return b"".join(pieces)


def _made(result: ProcessResult) -> Renditions:
    """Return the renditions in the answer. Raises Invalid, or Busy if the process did not start."""
    if not result.is_ready:
        log.error("the process that decodes pictures does not start", code=result.code)
        raise Busy
    if result.code in _ENDED_BY_LIMIT:
        log.warning("a picture took too much to decode", code=result.code)
        raise Invalid({FIELD: [TOO_COSTLY]})
    try:
        answer = msgspec.msgpack.decode(result.answer, type=DecoderAnswer)
    except msgspec.DecodeError:
        answer = DecoderAnswer()
    if answer.fault is not None:
        raise Invalid({FIELD: [Fault(answer.fault.code, answer.fault.message, **answer.fault.facts)]})
    if answer.made is None or not _is_whole(answer.made):
        log.warning("a decoder crashed on a picture", code=result.code)
        raise Invalid({FIELD: [TRUNCATED]})
    return answer.made


def _is_whole(made: Renditions) -> bool:
    """Whether these are valid renditions. A hostile picture may have taken over the process, so its answer is checked."""
    fits = 0 < made.width <= WIDTHS[-1] and 0 < made.height <= RATIO_MAX * WIDTHS[-1]
    files = made.files.values()
    return fits and sorted(made.files) == [*made_widths(made.width)] and all(map(is_webp, files))
