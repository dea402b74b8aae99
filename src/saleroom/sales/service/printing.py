"""Printing: paper is set by a process of its own (`typesetting.py`), one for staff and one for everybody else at a time."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import structlog

from saleroom.kernel.errors import Busy
from saleroom.sales.service import papers
from saleroom.sales.service.paper_files import DATA, FAULT, MADE, READY
from saleroom.sales.service.papers import Letterhead, Paper, PaperOrder
from saleroom.sales.storage import lots
from saleroom.storage.database import Database
from saleroom.storage.patience import read_patiently

log = structlog.get_logger()

SECONDS_MAX = 180.0
"""How long a process may live. It has 150 s of processor time, which take longer on a busy machine."""
WAITING_MAX = 4
"""How many may wait for their turn, beside the one whose paper is being made."""
WAIT_SECONDS_MAX = 10.0
PHOTOS_AT_ONCE = 50
KEPT_MAX = 8
KEPT_BYTES_MAX = 128 * 2**20
"""How much of the paper that anyone may have is kept in memory: it is the same for all until something in it changes."""
FAULT_SHOWN_MAX = 300
_KILLED = -9
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:-2]; from saleroom.sales.service.typesetting import main; main()"


class Printer:
    """Makes paper. Strangers have a turn of their own, so that they never hold up those who run a sale."""

    def __init__(self, database: Database, house: str, currency: str) -> None:
        self._database = database
        self._house = house
        self._currency = currency
        self._staff, self._public = _Turns(), _Turns()
        self._kept = _Kept()
        self._running: set[_Press] = set()
        self._is_closed = False

    async def make(self, token: str | None, gid: str, order: PaperOrder, origin: str) -> bytes:
        """Return paper as a PDF; codes on it lead to the house at `origin`.

        Raises Unauthenticated, MissingRight, UnknownSale, or Busy if too many wait or it takes too long.
        """
        await self._database.read(papers.refuse, token, gid, order.needed)
        head = Letterhead(house=self._house, currency=self._currency, origin=origin)
        async with (self._staff if order.needed is not None else self._public).turn():
            paper = await self._database.read(papers.read, token, gid, order, head)
            data = msgspec.json.encode([paper.data, paper.photos], order="sorted")
            key = hashlib.sha256(data).digest() if order.needed is None else b""
            kept = self._kept.get(key)
            if kept is not None:
                return kept
            made = await self._made(paper)
            if key:
                self._kept.put(key, made)
            return made

    def close(self) -> None:
        """Kill the processes, and refuse further paper."""
        self._is_closed = True
        for press in list(self._running):
            press.end()

    async def _made(self, paper: Paper) -> bytes:
        with tempfile.TemporaryDirectory(prefix="saleroom-paper-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            await asyncio.to_thread((folder / DATA).write_bytes, msgspec.json.encode(paper.data))
            await self._fetch(folder, paper)
            await self._run(paper.kind, folder)
            return await asyncio.to_thread((folder / MADE).read_bytes)

    async def _fetch(self, folder: Path, paper: Paper) -> None:
        """Write the photos of a paper to its folder, some at a time; one that is gone since is left out with its place."""
        names = {photo: Path(name).stem for name, photo in paper.photos.items()}
        ids = list(names)
        for start in range(0, len(ids), PHOTOS_AT_ONCE):
            some = await read_patiently(self._database, lots.narrowest, ids[start : start + PHOTOS_AT_ONCE])
            await asyncio.to_thread(_write, folder, {names[one]: data for one, data in some.items()})

    async def _run(self, kind: str, folder: Path) -> None:
        """Run the process. Cancelling kills it. Raises Busy if it fails."""
        if self._is_closed:
            raise Busy
        press = _Press()
        self._running.add(press)
        try:
            async with asyncio.timeout(SECONDS_MAX):
                is_ready, code = await asyncio.to_thread(press.run, kind, folder)
        except TimeoutError:
            is_ready, code = True, _KILLED
        finally:
            press.end()
            self._running.discard(press)
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


class _Turns:
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


class _Kept:
    """The last papers that anyone may have, by the digest of what they show."""

    def __init__(self) -> None:
        self._found: OrderedDict[bytes, bytes] = OrderedDict()

    def get(self, key: bytes) -> bytes | None:
        found = self._found.get(key)
        if found is not None:
            self._found.move_to_end(key)
        return found

    def put(self, key: bytes, made: bytes) -> None:
        self._found[key] = made
        while len(self._found) > KEPT_MAX or sum(map(len, self._found.values())) > KEPT_BYTES_MAX:
            self._found.popitem(last=False)


class _Press:
    """One process, for one paper."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run(self, kind: str, folder: Path) -> tuple[bool, int]:
        """Start it, and return at its end whether it began, and its exit code. Call it in a thread."""
        with self._lock:
            if self._is_over:
                return True, _KILLED
            # It gets no settings and no environment, as both may hold passwords of databases and brokers.
            process = self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, *sys.path, kind, str(folder)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
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


def _write(folder: Path, photos: dict[str, bytes]) -> None:
    for stem, data in photos.items():
        (folder / f"{stem}.webp").write_bytes(data)
