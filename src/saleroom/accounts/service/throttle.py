"""Rate limits: failed logins, registrations, and other requests that come too often.

Each process counts for itself: a house with several processes is that much more lenient (docs/decisions/0030).
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from msgspec import Struct

from saleroom.accounts.domain.errors import InvalidAuthentication, WrongCode
from saleroom.kernel.errors import TooManyRequests
from saleroom.kernel.networks import network

FREE_FAILURES = 5
DELAY_SECONDS_MAX = 60
FORGET_SECONDS = 3600
ENTRIES_MAX = 100_000
KEY_CHARACTERS_MAX = 40
"""More than a username can have. Longer names cannot exist; only their beginning is stored, to bound the memory."""
_ROUNDING_SECONDS = 1e-6

Key = TypeVar("Key")
Value = TypeVar("Value")


class _BoundedDict(OrderedDict[Key, Value]):
    """The `ENTRIES_MAX` entries that were set last."""

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > ENTRIES_MAX:
            self.popitem(last=False)


class RateLimit:
    """A token bucket for each key: `burst` at once, then `per_second`.

    The library `limits` has no token bucket, no bound on its memory and no clock that a test can turn.
    """

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._full_at: _BoundedDict[str, float] = _BoundedDict()
        """When each bucket will be full again. A full bucket need not be stored."""

    def wait(self, key: str) -> float:
        """Return the seconds until `take` succeeds; 0 if it does now."""
        now = self._clock()
        seconds = max(self._full_at.get(key, now), now) - now - (self._burst - 1) / self._per_second
        return seconds if seconds > _ROUNDING_SECONDS else 0

    def take(self, key: str) -> float:
        """Take one and return 0, or return the seconds until there is one."""
        wait, now = self.wait(key), self._clock()
        before = max(self._full_at.get(key, now), now)
        self._full_at[key] = before if wait else before + 1 / self._per_second
        while next(iter(self._full_at.values())) <= now:
            self._full_at.popitem(last=False)
        return wait


class _Failures(Struct):
    count: int
    last: float


class FailedLogins:
    """Delays after failed logins, by username and network, and a limit on all failures of a network.

    After `FREE_FAILURES` failures in a row the next try has to wait 1 second, then 2, 4 ... and at most a minute. A success or
    an hour forgets them. Failures from another network do not count, so nobody can lock a rival out.

    A network may fail `per_hour` times, with any names, and then once for each hour's share that has passed. This does not
    delay names that have logged in from there before, since a hall shares one address.
    """

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: _BoundedDict[tuple[str, str], _Failures] = _BoundedDict()
        self._networks = RateLimit(per_hour / 3600, per_hour, clock)
        self._welcome: _BoundedDict[tuple[str, str], None] = _BoundedDict()
        self._under_way: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def attempt(self, username: str, address: str) -> Iterator[None]:
        """Count a login by how the block ends. Raises TooManyRequests before the block (fact `retry_after`, seconds)."""
        self.check(username, address)
        key = _key(username, address)
        self._under_way[key] += 1
        try:
            yield
        except (InvalidAuthentication, WrongCode):
            self.failed(username, address)
            raise
        else:
            self.succeeded(username, address)
        finally:
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key]

    def check(self, username: str, address: str) -> None:
        """Raise TooManyRequests (fact `retry_after`, seconds) if a try has to wait."""
        key = _key(username, address)
        left = self._networks.wait(key[1]) if key not in self._welcome else 0.0
        failures = self._failures.get(key)
        if failures is not None and failures.count >= FREE_FAILURES:
            delay = min(2 ** min(failures.count - FREE_FAILURES, 16), DELAY_SECONDS_MAX)
            # While a try is under way the next one waits too. Otherwise many tries at once would share one delay.
            left = max(left, delay if key in self._under_way else failures.last + delay - self._clock())
        if left > 0:
            raise TooManyRequests("Too many failed logins; try again later.", retry_after=math.ceil(left))

    def failed(self, username: str, address: str) -> None:
        """Count a failure."""
        key, now = _key(username, address), self._clock()
        failures = self._failures.get(key)
        if failures is None or now - failures.last > FORGET_SECONDS:
            failures = _Failures(0, now)
        self._failures[key] = _Failures(failures.count + 1, now)
        self._networks.take(key[1])

    def succeeded(self, username: str, address: str) -> None:
        """Forget the failures, and remember that the name has logged in from this network."""
        key = _key(username, address)
        self._failures.pop(key, None)
        self._welcome[key] = None


def _key(username: str, address: str) -> tuple[str, str]:
    return username[:KEY_CHARACTERS_MAX], network(address)


class Registrations:
    """Registrations per network, at most `per_hour` within any hour."""

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
