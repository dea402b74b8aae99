"""A small reader of server-sent events, with only what the tests need."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import httpx
import msgspec

from tests.patience import SECONDS_MAX


class StreamServer(Protocol):
    """What serves streams: a house, or an edge."""

    plain: httpx.Client


class Stream:
    """A stream that has begun. Its first comment has been read, and also its origin if the stream gives one (`says_origin`)."""

    def __init__(self, response: httpx.Response, *, says_origin: bool) -> None:
        self.response = response
        self.ids: list[str] = []
        self.comments: list[str] = []
        self.names: list[str] = []
        self.retry = 0
        self._lines = response.iter_lines()
        while not self.comments:
            self._line()
        self.started: Any = None
        """The event with the stream's origin, if the reader has sent no id."""
        if says_origin:
            [self.started] = (msgspec.json.decode(data) for data in self.take(1))
            assert (["stream.started"], [self.started["id"]]) == (self.names, self.ids)
            self.ids.clear()

    @property
    def origin(self) -> str:
        """The id of the event after which the stream begins."""
        return str(self.started["id"])

    def take(self, count: int) -> list[str]:
        """Return the data of the next `count` events."""
        taken: list[str] = []
        while len(taken) < count:
            data = self._line()
            if data is not None:
                taken.append(data)
        return taken

    def until_comments(self, count: int) -> None:
        """Read until so many comments have come."""
        while len(self.comments) < count:
            self._line()

    def types(self, count: int) -> list[str]:
        """Return the types of the next `count` events."""
        return [msgspec.json.decode(data)["type"] for data in self.take(count)]

    def rest(self) -> list[str]:
        """Return the data of all events up to the end of the stream."""
        taken = []
        for line in self._lines:
            data = self._read(line)
            if data is not None:
                taken.append(data)
        return taken

    def _line(self) -> str | None:
        return self._read(next(self._lines))

    def _read(self, line: str) -> str | None:
        name, _, value = line.partition(": ")
        match name:
            case "":
                self.comments += [value] if line else []
            case "event":
                self.names.append(value)
            case "id":
                self.ids.append(value)
            case "retry":
                self.retry = int(value)
            case "data":
                return value
            case _:
                raise AssertionError(f"no such line is expected: {line}")
        return None


@contextmanager
def following(house: StreamServer, path: str, **headers: str) -> Iterator[Stream]:
    """Follow `path` of a house."""
    with house.plain.stream("GET", path, headers=headers, timeout=SECONDS_MAX) as response:
        assert (200, "text/event-stream") == (response.status_code, response.headers["content-type"])
        brings = "after=" in path or bool(headers.get("Last-Event-ID"))
        stream = Stream(response, says_origin=not brings)  # it closes the connection when it is collected
        yield stream


def payloads(house: StreamServer, gid: str) -> list[str]:
    """Return an auction's events as its stream sends them from the beginning. The auction must be over."""
    with following(house, f"/auctions/{gid}/events?after=0") as stream:
        return stream.rest()


def refusal(response: httpx.Response) -> tuple[int, Any]:
    """Return the status and the code of an error."""
    return response.status_code, response.json()["code"]
