"""Presses: each paper is set by a process of its own (`typesetting.py`), in a folder of its own, in turn."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import structlog

from saleroom.confined.confinement import started
from saleroom.kernel.errors import Busy
from saleroom.sales.service.paper.paper_files import DATA, FAULT, MADE, READY

log = structlog.get_logger()

SECONDS_MAX = 180.0
"""How long a process may live. It has 150 s of processor time, which take longer on a busy machine."""
WAITING_MAX = 4
"""How many may wait for their turn, beside the one whose paper is being made."""
WAIT_SECONDS_MAX = 10.0
FAULT_SHOWN_MAX = 300
_KILLED = -9
_PROGRAM = "import sys; sys.path[:] = sys.argv[4:]; import importlib; importlib.import_module(sys.argv[1]).main()"


class Press:
    """Sets paper by the program of a module, whose `main` gets the kind and the folder as its second and third arguments."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._running: set[_Process] = set()
        self._is_closed = False

    async def make(self, kind: str, data: Any, fill: Callable[[Path], Awaitable[None]] | None = None) -> bytes:
        """Return paper as a PDF; `fill` writes further files to its folder. Cancelling kills the process. Raises Busy."""
        with tempfile.TemporaryDirectory(prefix="saleroom-paper-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            await asyncio.to_thread((folder / DATA).write_bytes, msgspec.json.encode(data))
            if fill is not None:
                await fill(folder)
            await self._run(kind, folder)
            return await asyncio.to_thread((folder / MADE).read_bytes)

    def close(self) -> None:
        """Kill the processes, and refuse further paper."""
        self._is_closed = True
        for process in list(self._running):
            process.end()

    async def _run(self, kind: str, folder: Path) -> None:
        if self._is_closed:
            raise Busy
        process = _Process(self._module)
        self._running.add(process)
        try:
            async with asyncio.timeout(SECONDS_MAX):
                is_ready, code = await asyncio.to_thread(process.run, kind, folder)
        except TimeoutError:
            is_ready, code = True, _KILLED
        finally:
            process.end()
            self._running.discard(process)
        if self._is_closed:
            raise Busy
        fault = await asyncio.to_thread(_fault, folder)
        if code < 0:
            log.warning("some paper took too much to set", kind=kind, code=code)
            raise Busy("This takes too long to set; ask for fewer lots at a time, with `lots`.")
        if code or not is_ready:
            log.error("the process that prints failed", kind=kind, code=code, fault=fault)
            raise Busy("The paper could not be set; the log of the house has the reason.")
        if fault:
            log.warning("some paper does not keep PDF/UA", kind=kind, fault=fault)


class Turns:
    """One at a time, and few who wait for a while."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold the only place. Raises Busy if too many wait, or it takes too long to get it."""
        if self._waiting >= WAITING_MAX:
            raise Busy("Other paper is being made; try again in a moment.")
        self._waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS_MAX):
                await self._lock.acquire()
        except TimeoutError:
            raise Busy("Other paper is being made; try again in a moment.") from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._lock.release()


class _Process:
    """One process, for one paper."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run(self, kind: str, folder: Path) -> tuple[bool, int]:
        """Start it, and return at its end whether it began, and its exit code. Call it in a thread."""
        with self._lock:
            if self._is_over:
                return True, _KILLED
            process = self._process = started(_PROGRAM, self._module, kind, str(folder))
        assert process.stdout is not None, "it is a pipe"
        with process:
            # Its standard input stays open until here, as the process ends when it is closed.
            return process.stdout.read(len(READY)) == READY, process.wait()

    def end(self) -> None:
        """Kill it. This may be called in any thread, and more than once."""
        with self._lock:
            self._is_over = True
            if self._process is not None:
                self._process.kill()


def _fault(folder: Path) -> str:
    file = folder / FAULT
    return file.read_text(errors="replace")[:FAULT_SHOWN_MAX] if file.exists() else ""
