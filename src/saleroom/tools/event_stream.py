"""A parser of server-sent events (HTML Standard, section 9.2, "Server-sent events")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

LINE_BYTES_MAX = 1 << 20
"""The longest line, and the longest event. An event of a house has a few hundred bytes, or with a long description 40 KiB."""
RETRY_DIGITS_MAX = 9
"""Eleven days in milliseconds. A longer number is ignored."""


@dataclass(frozen=True)
class Message:
    """An event. `id` is the last event id, None before the first; `data` is empty if only an id came.

    `name` is the value of the field `event`, which the events of the log leave out.
    """

    id: str | None
    data: str
    name: str = ""
    has_id: bool = field(default=False, compare=False)
    """Whether the id came with it, and not with one before."""


@dataclass(frozen=True)
class Comment:
    """A comment without its colon. Browsers ignore comments; a house sends its time in them."""

    text: str


class NotAnEventStream(Exception):
    """A line or an event is longer than LINE_BYTES_MAX."""


class EventStreamParser:
    """Parses one stream from chunks of bytes, wherever they are cut. `retry_ms` is the last valid value of `retry`, or None."""

    def __init__(self) -> None:
        self.retry_ms: int | None = None
        self._rest = b""
        self._id: str | None = None
        self._has_id = False
        self._data: list[str] = []
        self._name = ""
        self._size = 0
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[Message | Comment]:
        """Yield the items that `chunk` completes. Raises NotAnEventStream."""
        for line in self._lines(chunk):
            if line.startswith(":"):
                yield Comment(line[1:].removeprefix(" "))
            elif line:
                name, _, value = line.partition(":")
                self._field(name, value.removeprefix(" "))
            else:
                yield from self._dispatch()

    def _lines(self, chunk: bytes) -> Iterator[str]:
        """Cut at LF, CR LF or CR. A CR at the end waits for the next chunk, which may begin with its LF."""
        data = self._rest + chunk
        held = b"\r" if data.endswith(b"\r") else b""
        *lines, rest = data.removesuffix(held).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = rest + held
        if len(self._rest) > LINE_BYTES_MAX:
            raise NotAnEventStream
        for raw in lines:
            line = raw.decode(errors="replace")
            if self._first:
                self._first = False
                line = line.removeprefix("\ufeff")
            yield line

    def _field(self, name: str, value: str) -> None:
        match name:
            case "data":
                self._data.append(value)
                self._size += len(value) + 1
                if self._size > LINE_BYTES_MAX:
                    raise NotAnEventStream
            case "id" if "\0" not in value:
                self._id, self._has_id = value, True
            case "retry" if value.isascii() and value.isdigit() and len(value) <= RETRY_DIGITS_MAX:
                self.retry_ms = int(value)
            case "event":
                self._name = value
            case _:  # the standard says to ignore it
                pass

    def _dispatch(self) -> Iterator[Message]:
        if self._data or self._has_id:
            yield Message(self._id, "\n".join(self._data), self._name, self._has_id)
        self._data.clear()
        self._name = ""
        self._size = 0
        self._has_id = False
