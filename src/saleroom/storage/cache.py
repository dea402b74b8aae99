"""What a process has read and need not read again, as the database still says the same.

An auction is what its log has made of it, and its chain (`kernel/chain.py`) names that whole log: no other log has the same
hashes. So a reader asks the database for positions and chains, and reads only the rows where one of them is news. A position
alone would not do: after a failover to a standby that lacks the last commits, or a restored backup, the same position is
reached once more by other events. For the same reason nothing here is found by a number that another row may get.
Nothing comes in here before it is committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Generic, TypeVar

from saleroom.bidding.domain.auction import Auction

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
    """The auctions that one process remembers; see the module for why they are never stale.

    `shown` has the head and the JSON of auctions as anyone may see them, `signer` what the service signs receipts with.
    """

    def __init__(self) -> None:
        self.auctions: Recent[Auction] = Recent(AUCTIONS_MAX)
        self.shown: Recent[tuple[str, bytes]] = Recent(AUCTIONS_MAX)
        self.signer: object | None = None

    def learn(self, auctions: Iterable[Auction]) -> None:
        """Take in what a transaction has read, or written and committed."""
        for auction in auctions:
            self.auctions.put(auction.id, auction)

    def clear(self) -> None:
        """Forget everything."""
        self.auctions.clear()
        self.shown.clear()
