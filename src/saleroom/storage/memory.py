"""What a process has read and need not read again, as it can never change.

A username is for ever its user's, and an auction at a position of its log is for ever what it was then: each change of an
auction appends to its log. So a reader asks the database for positions, and only for the rows whose position is news.
Nothing comes in here before it is committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Generic, TypeVar

from saleroom.domain.auction import Auction

NAMES_MAX = 65_536
AUCTIONS_MAX = 16_384
"""About 2 KB each, and up to 40 KB with the longest description."""

V = TypeVar("V")


class Recent(Generic[V]):
    """The values that were put in last, by number; safe in any thread."""

    def __init__(self, limit: int) -> None:
        self._values: dict[int, V] = {}
        self._limit = limit
        self._one_writes = Lock()
        self.get = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def put(self, number: int, value: V) -> None:
        """Keep `value`, and forget the one that was put in longest ago where there are too many."""
        with self._one_writes:
            self._values.pop(number, None)
            self._values[number] = value
            if len(self._values) > self._limit:
                del self._values[next(iter(self._values))]

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()


class Memory:
    """The usernames and auctions of one process; see the module for why they are never stale.

    `shown` has the version and the JSON of auctions as anyone may see them, `signer` what the service signs receipts with.
    """

    def __init__(self) -> None:
        self.names: Recent[str] = Recent(NAMES_MAX)
        self.auctions: Recent[Auction] = Recent(AUCTIONS_MAX)
        self.shown: Recent[tuple[int, bytes]] = Recent(AUCTIONS_MAX)
        self.signer: object | None = None

    def learn(self, names: Mapping[int, str], auctions: Iterable[Auction]) -> None:
        """Take in what a transaction has read, or written and committed."""
        for number, name in names.items():
            self.names.put(number, name)
        for auction in auctions:
            self.auctions.put(auction.id, auction)

    def clear(self) -> None:
        """Forget everything."""
        self.names.clear()
        self.auctions.clear()
        self.shown.clear()
