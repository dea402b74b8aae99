"""Helpers for the tests of `saleroom watch`: a running watch, and a sale with a log to compare with."""

import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from tests.forking import Program
from tests.patience import SECONDS_MAX
from tests.process import BACK_SOON, PROGRAM, Client, environment

_numbers = count()


class Watcher:
    """A running `saleroom watch`, with its standard output and standard error in files."""

    def __init__(self, folder: Path, *arguments: str, **settings: str) -> None:
        own = environment(**{"test_constants": BACK_SOON} | settings)
        number = next(_numbers)
        self._out, self._err = folder / f"out-{number}", folder / f"err-{number}"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = Program([str(PROGRAM), "watch", *arguments], folder, own, out, err)

    @property
    def lines(self) -> list[str]:
        """The lines of standard output so far."""
        return self._out.read_text().splitlines()

    @property
    def errors(self) -> str:
        """The text on standard error so far."""
        return self._err.read_text()

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until `holds()`, or fail with `what`."""
        deadline = time.monotonic() + SECONDS_MAX
        while not holds():
            assert time.monotonic() < deadline, f"{what}: {self.lines} {self.errors}"
            time.sleep(0.02)

    def until_live(self, times: int = 1) -> None:
        """Wait until it has connected so many times."""
        self.until(lambda: self.errors.count("live from") >= times, f"it is not live {times} times")

    def until_shown(self, count: int) -> None:
        """Wait until it has printed so many lines."""
        self.until(lambda: len(self.lines) >= count, f"it did not print {count} lines")

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(SECONDS_MAX)


class WatchedHouse:
    """A seller, two people who bid in turn, and the log of their house."""

    def __init__(self, client: Client, folder: Path) -> None:
        self._client = client
        self._file = folder / "saleroom.db"
        self.seller, *self._bidders = (client.enter(name) for name in ("ada", "ben", "cyd"))
        self._price = 100

    def sell(self, **terms: Any) -> str:
        """Create an auction and return its gid."""
        return self._client.sell(self.seller, increment="1", **terms)

    def bid(self, gid: str, times: int) -> None:
        """Place bids."""
        for _ in range(times):
            self._price += 1
            self._bidders.reverse()
            self._client.post(f"/auctions/{gid}/bids", self._bidders[0], {"amount": str(self._price)})

    def close(self, gid: str) -> None:
        """Close an auction."""
        self._client.post(f"/auctions/{gid}/close", self.seller)

    def log(self, gid: str | None = None) -> list[str]:
        """Return the events as the database holds them, of one auction or of all, in order."""
        with closing(sqlite3.connect(self._file)) as database:
            rows = database.execute("SELECT payload FROM events WHERE version IS NOT NULL ORDER BY id").fetchall()
        events = [row[0].decode() for row in rows]
        return [event for event in events if gid is None or f'"id":"{gid}/' in event]
