"""A bounded number of places for what comes in slowly, of which one user and one network have a share each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from saleroom.kernel.errors import Busy, TooManyRequests
from saleroom.kernel.networks import network

RETRY_SECONDS = 5


class Sender(Struct, frozen=True):
    """Who sends, and from which network."""

    user: str
    network: str

    @classmethod
    def at(cls, user: str | None, address: str) -> Sender:
        """Return a user at an address; those who are not logged in count as one for each network."""
        place = network(address)
        return cls(f"user {user}" if user is not None else f"stranger at {place}", place)


class Places:
    """So many places in all, and at most so many of one user and of one network.

    The last `kept` are for those who have none yet. Each process counts its own. Call it in the event loop.
    """

    def __init__(self, most: int, *, user: int, network: int, kept: int) -> None:
        self._most = most
        self._user_most, self._network_most = user, network
        self._kept = kept
        self._users: Counter[str] = Counter()
        self._networks: Counter[str] = Counter()

    @contextmanager
    def taken(self, sender: Sender, count: int = 1) -> Iterator[None]:
        """Hold `count` places for as long as the block lasts.

        Raises TooManyRequests (fact `retry_after`, seconds) where the sender has its share, or Busy where all are taken.
        """
        if self._users[sender.user] + count > self._user_most:
            self._refuse("Too many photos of yours at once; wait until some of them have arrived.")
        if self._networks[sender.network] + count > self._network_most:
            self._refuse("Too many photos from your network at once; wait until some of them have arrived.")
        is_new = not self._users[sender.user] and not self._networks[sender.network]
        if self._users.total() + count > self._most - (0 if is_new else self._kept):
            raise Busy("Too many photos at once; try again in a moment.")
        counted = ((self._users, sender.user), (self._networks, sender.network))
        for counter, key in counted:
            counter[key] += count
        try:
            yield
        finally:
            for counter, key in counted:
                counter[key] -= count
                if not counter[key]:
                    del counter[key]

    @staticmethod
    def _refuse(message: str) -> None:
        raise TooManyRequests(message, retry_after=RETRY_SECONDS)
