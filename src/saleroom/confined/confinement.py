"""The house's side of confined work: each piece in a process of its own, in turn, which is killed if it takes too long.

Readers of pictures, spreadsheets and XML are large programs that read files of strangers. In a separate process, one can
neither delay nor crash the house, and the kernel limits its memory and time (program.py).
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, TypeVar

import msgspec
import structlog
from msgspec import Struct

from saleroom.confined.program import LENGTH_BYTES, READY, Answer, FaultRecord
from saleroom.kernel.errors import Busy, Fault, Invalid

log = structlog.get_logger()

ANSWER_BYTES_MAX = 64 * 2**20
PIECE_BYTES = 1 << 20
START = "import sys; sys.path[:] = sys.argv[4:]; from saleroom.confined.program import main; main()"
_ENDED_BY_LIMIT = (-9, -24)
"""SIGKILL and SIGXCPU from the kernel: the house itself kills a process only if it gives up the work."""
_OWN_NAMES = ("self", "code", "message")
"""The parameters of a fault, which are no facts."""
T = TypeVar("T")


class TooCostly(Exception):
    """The work takes more memory or time than it may."""


class Crash(Exception):
    """The process crashed on the file, or its answer is none."""


class Work(Struct, frozen=True):
    """What is done with a file: by a function, such as `saleroom.sales.service.files.sheets:read`, and within which limits.

    `memory_bytes` are address space without the file; Python and the libraries take some 60 MB of it. A process may live for
    `seconds`, as its processor time takes longer on a busy machine.
    """

    function: str
    cpu_seconds: int
    memory_bytes: int
    seconds: float


class ProcessResult(Struct, frozen=True):
    """The end of a process: its exit code, whether it began to work, and its output after that."""

    code: int
    is_ready: bool
    answer: bytes


class Confinement:
    """Does work on files, one at a time."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._turn = asyncio.Lock()
        self._running: set[Process] = set()
        self._is_closed = False

    async def do(self, work: Work, data: bytes, read: Callable[[bytes], T], file: int | None = None) -> T:
        """Return what the work makes of `data`, as `read` reads it from MessagePack. Cancelling kills the process.

        `file` is the number of an open file that is too large to be sent: the process has it open by the same number.

        Raises Invalid as the work does, TooCostly, Crash, or Busy if the house closes or no process starts.
        """
        async with self._turn:
            result = await self._run(work, data, file)
            # A long answer takes a while to decode, so the thread does it.
            return await asyncio.get_running_loop().run_in_executor(self._thread, _made, work, result, read)

    def close(self) -> None:
        """Kill the running process, and refuse further work."""
        self._is_closed = True
        for process in self._running:
            process.end()
        self._thread.shutdown(cancel_futures=True)

    async def _run(self, work: Work, data: bytes, file: int | None) -> ProcessResult:
        if self._is_closed:
            raise Busy
        process = Process(work, file)
        self._running.add(process)
        try:
            async with asyncio.timeout(work.seconds):
                found = await asyncio.get_running_loop().run_in_executor(self._thread, process.run, data)
        except TimeoutError:
            log.warning("confined work took too long", function=work.function, seconds=work.seconds)
            raise TooCostly from None
        finally:
            process.end()
            self._running.discard(process)
        if self._is_closed:
            raise Busy
        return found


class Process:
    """One process, for one file."""

    def __init__(self, work: Work, file: int | None = None) -> None:
        self._work = work
        self._files = () if file is None else (file,)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run(self, data: bytes) -> ProcessResult:
        """Start it and return its answer. Call it in a thread."""
        work = self._work
        with self._lock:
            if self._is_over:
                return ProcessResult(0, is_ready=False, answer=b"")
            limits = (str(work.cpu_seconds), str(work.memory_bytes))
            process = self._process = started(START, work.function, *limits, files=self._files)
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


def whole(kind: type[T]) -> Callable[[bytes], T]:
    """Return what reads a short value of this kind from MessagePack."""
    return msgspec.msgpack.Decoder(kind).decode


def one_by_one(kind: type[T]) -> Callable[[Iterable[msgspec.Raw]], list[T]]:
    """Return what reads the values of a long list, which came as `msgspec.Raw`, each by itself.

    The decoder keeps Python's lock until it is done, and the event loop waits for that lock: 20,000 values at once took 100 ms.
    """
    decode = msgspec.msgpack.Decoder(kind).decode
    return lambda sent: [decode(one) for one in sent]


def started(program: str, *arguments: str, files: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """Start a Python that runs a program, with these arguments and then the paths of modules, and with these files open.

    It gets no settings and no environment, as both may hold passwords of databases and brokers.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", "-c", program, *arguments, *sys.path],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,
        pass_fds=files,
    )


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


def _made(work: Work, result: ProcessResult, read: Callable[[bytes], T]) -> T:
    """Return what was made. A hostile file may have taken over the process, so its answer is checked. Raises as `do`."""
    if not result.is_ready:
        log.error("the process for confined work does not start", function=work.function, code=result.code)
        raise Busy
    answer = _answer(result)
    if result.code in _ENDED_BY_LIMIT or (answer is not None and answer.is_too_costly):
        log.warning("confined work took too much", function=work.function, code=result.code)
        raise TooCostly
    if answer is not None and answer.faults:
        raise Invalid({field: [_fault(one) for one in every] for field, every in answer.faults.items()})
    with suppress(msgspec.MsgspecError):
        if answer is not None:
            return read(answer.made)
    log.warning("confined work crashed", function=work.function, code=result.code)
    raise Crash


def _answer(result: ProcessResult) -> Answer | None:
    try:
        return msgspec.msgpack.decode(result.answer, type=Answer)
    except msgspec.MsgspecError:
        return None


def _fault(one: FaultRecord) -> Fault:
    return Fault(one.code, one.message, **{name: fact for name, fact in one.facts.items() if name not in _OWN_NAMES})
