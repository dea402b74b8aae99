"""Password digests: Argon2id in a separate small pool of threads, so that many logins at once do not slow bids."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from saleroom.accounts.domain.obvious import WORDS, refuse_obvious, words_of
from saleroom.accounts.service.breached_passwords import BreachedPasswords
from saleroom.kernel.errors import Busy
from saleroom.storage.faults import HangUp
from saleroom.storage.turns import ASKER

R = TypeVar("R")

THREADS = 2
WAITING_MAX = 64
"""Logins that may wait. Further ones are refused as `busy` at once, instead of waiting for seconds."""
SHARE_MAX = (THREADS + WAITING_MAX) // 2
"""How many of these one network may have, so that others have the rest."""

HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1, type=Type.ID)


@cache
def _decoy() -> str:
    """Return the digest to verify if a user has none, so that an unknown user takes as long as a wrong password."""
    return HASHER.hash("no user has this password")


class Passwords:
    """Makes and verifies digests (Argon2id, 19 MiB, t=2, p=1, salted), unless the client has hung up before that begins."""

    def __init__(self, breached: BreachedPasswords | None = None, house: str = "") -> None:
        """`house` is its name, which no password may consist of."""
        self._breached = breached
        self._words = words_of(house, *WORDS)
        self._pool = ThreadPoolExecutor(THREADS, "passwords")
        self._under_way: Counter[str] = Counter()
        self._decoy = _decoy()

    async def digest(self, username: str, password: str, place: str = "") -> str:
        """Return the digest of a user's new password. `place` is the network that asks, or empty.

        Raises ObviousPassword, BreachedPassword or Busy.
        """
        refuse_obvious(password, self._words | words_of(username))

        def digest() -> str:
            if self._breached is not None:
                self._breached.refuse(password)
            return HASHER.hash(password)

        return await self._run(digest, place)

    async def digest_again(self, password: str) -> str:
        """Return a digest of a password that its user has already, with the parameters of today. Raises Busy."""
        return await self._run(lambda: HASHER.hash(password))

    async def verify(self, digest: str | None, password: str, place: str = "") -> bool:
        """Return whether `password` belongs to `digest`; never if that is None, after the same time. Raises Busy."""
        return await self._run(lambda: self._matches(digest, password), place)

    def is_outdated(self, digest: str) -> bool:
        """Return whether `digest` was made with other parameters than those of today."""
        return HASHER.check_needs_rehash(digest)

    def close(self) -> None:
        """Stop the threads; work that has not begun is dropped."""
        self._pool.shutdown(cancel_futures=True)

    def _matches(self, digest: str | None, password: str) -> bool:
        try:
            HASHER.verify(digest or self._decoy, password)
        except (VerificationError, InvalidHashError):
            return False
        return digest is not None

    async def _run(self, work: Callable[[], R], place: str = "") -> R:
        if self._under_way.total() >= THREADS + WAITING_MAX or (place and self._under_way[place] >= SHARE_MAX):
            raise Busy("Too many logins at once; try again in a moment.")
        self._under_way[place] += 1
        asker = ASKER.get()

        def wanted() -> R:
            if asker is not None and asker.gone:
                raise HangUp
            return work()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, wanted)
        finally:
            self._under_way[place] -= 1
            if not self._under_way[place]:
                del self._under_way[place]
