"""Places for uploads: a bounded number, of which each user and each network has a share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from saleroom.kernel.errors import Busy, TooManyRequests
from saleroom.kernel.networks import network

RETRY_SECONDS = 5


class Sender(Struct, frozen=True):
    """The user and the network of an upload."""

    user: str
    network: str

    @classmethod
    def at(cls, user: str | None, address: str) -> Sender:
        """Return the sender for a user at an address; without a user, all of a network count as one."""
        place = network(address)
        return cls(f"user {user}" if user is not None else f"stranger at {place}", place)


class Places:
    """`most` places in all, and at most `user` and `network` of them for one user and one network.

    The last `kept` places are for senders that hold none yet. Each process counts its own. Use it in the event loop.
    """

    def __init__(self, most: int, *, user: int, network: int, kept: int) -> None:
        self._most = most
        self._user_most, self._network_most = user, network
        self._kept = kept
        self._users: Counter[str] = Counter()
        self._networks: Counter[str] = Counter()

    @contextmanager
    def taken(self, sender: Sender, count: int = 1) -> Iterator[None]:
        """Hold `count` places during the block.

        Raises TooManyRequests (fact `retry_after`, seconds) if the sender has its share, or Busy if all are taken.
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
