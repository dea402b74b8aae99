"""Throttling: failed logins wait longer and longer, one address has only so many of them, and registers only so many accounts,
an hour, and one token places only so many bids a second where nobody else counts.

All are counted in this process. A house with several processes is that much more lenient (docs/decisions/0030).
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from msgspec import Struct

from saleroom.accounts.domain.errors import InvalidAuthentication
from saleroom.kernel.errors import TooManyRequests
from saleroom.kernel.networks import network

FREE_FAILURES = 5
DELAY_SECONDS_MAX = 60
FORGET_SECONDS = 3600
ENTRIES_MAX = 100_000
KEY_CHARACTERS_MAX = 40
"""More than a username has: names that cannot exist may look alike, and do not fill the memory."""
_ROUNDING_SECONDS = 1e-6


class Buckets:
    """A bucket of `burst` for each key, which fills by `per_second`."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """When each bucket will be full again, the one used longest ago first; a full bucket is as good as none."""

    def wait(self, key: str) -> float:
        """Return the seconds until there is one to take; 0 where there is."""
        now = self._clock()
        seconds = max(self._full_at.get(key, now), now) - now - (self._burst - 1) / self._per_second
        return seconds if seconds > _ROUNDING_SECONDS else 0

    def take(self, key: str) -> float:
        """Take one, or return the seconds until there is one."""
        wait, now = self.wait(key), self._clock()
        before = max(self._full_at.pop(key, now), now)
        self._full_at[key] = before if wait else before + 1 / self._per_second
        while len(self._full_at) > ENTRIES_MAX or next(iter(self._full_at.values())) <= now:
            self._full_at.popitem(last=False)
        return wait


class _Failures(Struct):
    count: int
    last: float


class FailedLogins:
    """Failed logins in a row per username and network, and all of a network's.

    From the fifth in a row on, the next try has to wait 1, 2, 4 ... seconds, at most a minute: a rival at another address
    delays nobody, and nobody is ever locked out. A success forgets them; so does an hour.

    A network that has failed `per_hour` times, whatever the names, may fail once more each time an hour's share has passed.
    Names that have logged in from there before are not held up by that: a hall shares one address.
    """

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[tuple[str, str], _Failures] = OrderedDict()
        self._networks = Buckets(per_hour / 3600, per_hour, clock)
        self._welcome: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._under_way: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def attempt(self, username: str, address: str) -> Iterator[None]:
        """Count a login by how the block ends. Raises TooManyRequests before it (fact `retry_after`, seconds)."""
        self.check(username, address)
        key = _key(username, address)
        self._under_way[key] += 1
        try:
            yield
        except InvalidAuthentication:
            self.failed(username, address)
            raise
        else:
            self.succeeded(username, address)
        finally:
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key]

    def check(self, username: str, address: str) -> None:
        """Raise TooManyRequests (fact `retry_after`, seconds) while a delay lasts, or another try in it is under way."""
        key = _key(username, address)
        left = self._networks.wait(key[1]) if key not in self._welcome else 0.0
        failures = self._failures.get(key)
        if failures is not None and failures.count >= FREE_FAILURES:
            delay = min(2 ** min(failures.count - FREE_FAILURES, 16), DELAY_SECONDS_MAX)
            # Many at once would else all be within one delay.
            left = max(left, delay if key in self._under_way else failures.last + delay - self._clock())
        if left > 0:
            raise TooManyRequests("Too many failed logins; try again later.", retry_after=math.ceil(left))

    def failed(self, username: str, address: str) -> None:
        """Count a failure."""
        key, now = _key(username, address), self._clock()
        failures = self._failures.pop(key, None)
        if failures is None or now - failures.last > FORGET_SECONDS:
            failures = _Failures(0, now)
        self._failures[key] = _Failures(failures.count + 1, now)
        self._networks.take(key[1])
        while len(self._failures) > ENTRIES_MAX:
            self._failures.popitem(last=False)

    def succeeded(self, username: str, address: str) -> None:
        """Forget the failures, and know the name from now on."""
        key = _key(username, address)
        self._failures.pop(key, None)
        self._welcome.pop(key, None)
        self._welcome[key] = None
        while len(self._welcome) > ENTRIES_MAX:
            self._welcome.popitem(last=False)


def _key(username: str, address: str) -> tuple[str, str]:
    return username[:KEY_CHARACTERS_MAX], network(address)


class Registrations:
    """Registrations per address within an hour."""

    def __init__(self, per_hour: int) -> None:
        self._limit = RateLimitItemPerHour(per_hour)
        self._window = MovingWindowRateLimiter(MemoryStorage())

    def take(self, address: str) -> None:
        """Count one. Raises TooManyRequests (fact `retry_after`, seconds)."""
        place = network(address)
        if not self._window.hit(self._limit, place):
            left = self._window.get_window_stats(self._limit, place).reset_time - time.time()
            raise TooManyRequests(
                "Too many registrations from this address; try again later.", retry_after=max(1, math.ceil(left))
            )


class TokenRates:
    """A bucket of `burst` commands for each token, which fills by `per_second`."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._buckets = Buckets(per_second, burst, clock)

    def take(self, key: str) -> None:
        """Count one for the token with this digest. Raises TooManyRequests (fact `retry_after`, seconds)."""
        if wait := self._buckets.take(key):
            raise TooManyRequests("Too many bids with this token; wait a moment.", retry_after=math.ceil(wait))
