"""A house, an edge and readers as processes and threads of their own: whichever stops, each reader gets each event once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.feed.stream import following
from tests.fixtures_process import Start, Visit
from tests.mqtt.equipment import free_port
from tests.patience import SECONDS_MAX
from tests.process import Client, ServeProcess, saleroom, wait_until

READERS = 3
PAUSE_SECONDS = 0.2


class EdgeProcess(ServeProcess):
    """A running `saleroom edge`."""

    command = "edge"
    told_last = "\n  house "


class Reader:
    """A reader that comes back after each end with the id of its last event, as a browser does."""

    def __init__(self, url: str, path: str) -> None:
        self._url, self._path = url, path
        self.ids: list[str] = []
        self.events: list[str] = []
        self.ends = 0
        """How often its stream has ended or broken off."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._stopped.set()
        self._thread.join(SECONDS_MAX)

    def _run(self) -> None:
        while not self._stopped.is_set():
            headers = {"Last-Event-ID": self.ids[-1] if self.ids else "0"}
            with (
                suppress(httpx.HTTPError),
                httpx.stream("GET", self._url + self._path, headers=headers, timeout=30) as one,
            ):
                if one.status_code == 200:
                    self._read(one.iter_lines())
                    self.ends += 1
            self._stopped.wait(PAUSE_SECONDS)

    def _read(self, lines: Iterator[str]) -> None:
        told = ""
        for line in lines:
            if self._stopped.is_set():
                return
            name, _, value = line.partition(": ")
            if name == "id":
                told = value
            elif name == "data":
                self.ids.append(told)
                self.events.append(value)


@contextmanager
def readers(url: str, *paths: str) -> Iterator[list[Reader]]:
    """Let some read each path."""
    found = [Reader(url, path) for path in paths for _ in range(READERS)]
    try:
        yield found
    finally:
        for one in found:
            one.stop()


class Seller:
    """A house with one lot, on which two bid in turn."""

    def __init__(self, client: Client) -> None:
        self.client = client
        token, *self._bidders = map(client.enter, ("ada", "bob", "cyd"))
        self.gid = client.sell(token)
        self._bids = itertools.count()

    def bid(self, count: int) -> None:
        """Bid so many times; a house that is just starting is waited for."""
        for number in itertools.islice(self._bids, count):
            body = {"amount": str(100 + 10 * number)}
            self.client.post(f"/auctions/{self.gid}/bids", self._bidders[number % 2], body)


def all_have(found: list[Reader], version: int) -> bool:
    """Return whether all readers have so many events."""
    return all(len(one.ids) >= version for one in found)


def judge(found: list[Reader], gid: str, versions: int, house: str) -> None:
    """Assert that each reader has each event once and in order, with the bytes of the house."""
    with ExitStack() as stack:
        plain = stack.enter_context(httpx.Client(base_url=house))
        stream = stack.enter_context(following(_Plain(plain), f"/auctions/{gid}/events?after=0"))
        events = stream.take(versions)
    for one in found:
        assert [f"{gid}/{version}" for version in range(1, versions + 1)] == one.ids
        assert events == one.events


class _Plain:
    def __init__(self, plain: httpx.Client) -> None:
        self.plain = plain


def test_no_reader_misses_or_repeats_an_event(start: Start, visit: Visit, tmp_path: Path, database_url: str) -> None:
    """A house is restarted and killed, and then its edge: each reader of a lot and of all gets each event once."""
    ports = {"house": str(free_port()), "edge": str(free_port())}
    house = start("--port", ports["house"], database=database_url)
    at = ("--port", ports["edge"], "--house", house.url)
    with ExitStack() as stack:
        edge = EdgeProcess(tmp_path, *at)
        stack.callback(lambda: edge.kill())  # noqa: PLW0108  # that of the end
        seller = Seller(visit(house))
        seller.bid(5)
        paths = (f"/auctions/{seller.gid}/events", "/events")
        found = stack.enter_context(readers(edge.url, *paths))
        wait_until(lambda: all_have(found, 6))
        for end in (ServeProcess.terminate, ServeProcess.kill):
            end(house)
            house = start("--port", ports["house"], database=database_url)
            seller.bid(5)
        wait_until(lambda: all_have(found, 16))
        assert [0] * len(found) == [one.ends for one in found]
        for stop in (EdgeProcess.terminate, EdgeProcess.kill):
            stop(edge)
            seller.bid(3)
            edge = EdgeProcess(tmp_path, *at)
            seller.bid(2)
        wait_until(lambda: all_have(found, 26))
        judge(found, seller.gid, 26, house.url)
        assert 0 == edge.terminate()


@pytest.mark.databases("sqlite")
def test_an_edge_that_cannot_start_says_why(tmp_path: Path) -> None:
    """Without a house, or with an address that is none, the command ends with words and the remedy."""
    for arguments, code, words in (
        ((), 1, "an edge needs a house: give its address with --house"),
        (("--house", "bids.example"), 2, "--house: write http://host:port or https://host"),
        (("--house", "http://ada:pw@bids.example"), 2, "without an account"),
        (("--house", "http://bids.example/?a=1"), 2, "leave out what follows a ?"),
        (("--house", "http://127.0.0.1:1", "--host", "203.0.113.9"), 1, "cannot listen on 203.0.113.9"),
    ):
        ended = saleroom(tmp_path, "edge", *arguments)
        assert (code, True) == (ended.returncode, words in ended.stderr), ended.stderr
        assert "pw@" not in ended.stderr
    assert "Examples:" in saleroom(tmp_path, "edge", "--help").stdout
