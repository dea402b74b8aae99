"""Thousands of subscribers in one process: sockets that read server-sent events, by epoll, and hardly cost anything."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence
from itertools import chain
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from bench import BenchError

AT_ONCE = 100
"""Connections that are opened before their answers are read; the server's backlog has room for more."""
SECONDS_MAX = 60.0
_READ_BYTES = 64 * 1024
_LITTLE_BYTES = 4096
_EVENT_ENDS = b"\n\n"


def _answered(opened: socket.socket) -> None:
    """Wait until the server starts its answer. Raises BenchError if it refuses."""
    head = opened.recv(_LITTLE_BYTES)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise BenchError(f"a subscriber is refused: {head[:200]!r}")
    opened.setblocking(False)


class Subscribers:
    """`living` sockets that read all that comes on `path`, and `stalled` ones that read nothing after the head.

    Every second one sends the next of `cookies`, while there are any.
    """

    def __init__(self, url: str, path: str, living: int, stalled: int = 0, cookies: Sequence[str] = ()) -> None:
        address = urlsplit(url)
        self._where = (address.hostname or "", address.port or 80)
        self._head = f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAccept: text/event-stream\r\n"
        self._cookies = chain.from_iterable(("", f"Cookie: {cookie}\r\n") for cookie in cookies)
        self._poll = select.epoll()
        self._living: dict[int, socket.socket] = {}
        self._tails: dict[int, bytes] = {}
        """The bytes of an incomplete event, by socket; most events come in one piece."""
        self.cut = 0
        """How many of the living ones the server has disconnected."""
        try:
            self.stalled = self._connected(stalled, receive_bytes=_LITTLE_BYTES)
            for each in self._connected(living):
                self._living[each.fileno()] = each
                self._poll.register(each.fileno(), select.EPOLLIN)
        except BaseException:
            self.close()
            raise

    def all_have(self, mark: bytes) -> list[float]:
        """Read until each living one has the event with `mark`; return the monotonic times, sorted.

        Raises BenchError where they do not within a minute.
        """
        waiting = set(self._living)
        times: list[float] = []
        deadline = time.monotonic() + SECONDS_MAX
        while waiting:
            if time.monotonic() > deadline:
                raise BenchError(f"{len(waiting)} subscribers had no event within {SECONDS_MAX:g} s")
            for number, _ in self._poll.poll(1.0):
                found = self._read(number, mark)
                if found is None:
                    waiting.discard(number)
                elif found and number in waiting:
                    times.append(time.monotonic())
                    waiting.remove(number)
        return times

    def read_for(self, seconds: float) -> None:
        """Read for `seconds`."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for number, _ in self._poll.poll(left):
                self._read(number, None)

    def close(self) -> None:
        """Hang up."""
        self._poll.close()
        for each in (*self._living.values(), *getattr(self, "stalled", ())):
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._living)

    def _connected(self, count: int, receive_bytes: int | None = None) -> list[socket.socket]:
        """Return sockets on which the server has started its answer."""
        opened: list[socket.socket] = []
        try:
            while len(opened) < count:
                new = [self._opened(receive_bytes) for _ in range(min(AT_ONCE, count - len(opened)))]
                opened += new
                for each in new:
                    _answered(each)
        except BaseException:
            for each in opened:
                each.close()
            raise
        return opened

    def _opened(self, receive_bytes: int | None) -> socket.socket:
        opened = socket.socket()
        if receive_bytes is not None:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        opened.settimeout(SECONDS_MAX)
        opened.connect(self._where)
        opened.sendall(f"{self._head}{next(self._cookies, '')}\r\n".encode())
        return opened

    def _read(self, number: int, mark: bytes | None) -> bool | None:
        """Read what has come. Return whether the event with `mark` is complete; None if the server hung up."""
        try:
            data = self._living[number].recv(_READ_BYTES)
        except ConnectionError:
            data = b""
        if not data:
            self._poll.unregister(number)
            self._living.pop(number).close()
            self.cut += 1
            return None
        if mark is None:
            return False
        data = self._tails.pop(number, b"") + data
        at = data.find(mark)
        if at >= 0 and data.find(_EVENT_ENDS, at) >= 0:
            return True
        self._tails[number] = data if at >= 0 else data[-len(mark) :]
        return False
