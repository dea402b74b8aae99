"""Throttling: failed logins wait longer and longer, one address registers only so many accounts an hour, and one token
places only so many bids a second where nobody else counts.

All are counted in this process. A house with several processes is that much more lenient.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from msgspec import Struct

from saleroom.domain.errors import TooManyRequests

FREE_FAILURES = 5
DELAY_SECONDS_MAX = 60
FORGET_SECONDS = 3600
ENTRIES_MAX = 100_000
_ROUNDING_SECONDS = 1e-6


class _Failures(Struct):
    count: int
    last: float


class FailedLogins:
    """Failed logins in a row per username and address.

    From the fifth on, the next try has to wait 1, 2, 4 ... seconds, at most a minute: a rival at another address delays
    nobody, and nobody is ever locked out. A success forgets them; so does an hour.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[tuple[str, str], _Failures] = OrderedDict()

    def check(self, username: str, address: str) -> None:
        """Raise TooManyRequests (fact `retryAfter`, seconds) while the delay lasts."""
        failures = self._failures.get((username, address))
        if failures is None or failures.count < FREE_FAILURES:
            return
        delay = min(2 ** min(failures.count - FREE_FAILURES, 16), DELAY_SECONDS_MAX)
        left = failures.last + delay - self._clock()
        if left > 0:
            raise TooManyRequests("Too many failed logins; try again later.", retryAfter=math.ceil(left))

    def failed(self, username: str, address: str) -> None:
        """Count a failure."""
        key, now = (username, address), self._clock()
        failures = self._failures.pop(key, None)
        if failures is None or now - failures.last > FORGET_SECONDS:
            failures = _Failures(0, now)
        self._failures[key] = _Failures(failures.count + 1, now)
        while len(self._failures) > ENTRIES_MAX:
            self._failures.popitem(last=False)

    def succeeded(self, username: str, address: str) -> None:
        """Forget the failures."""
        self._failures.pop((username, address), None)


class Registrations:
    """Registrations per address within an hour."""

    def __init__(self, per_hour: int) -> None:
        self._limit = RateLimitItemPerHour(per_hour)
        self._window = MovingWindowRateLimiter(MemoryStorage())

    def take(self, address: str) -> None:
        """Count one. Raises TooManyRequests (fact `retryAfter`, seconds)."""
        if not self._window.hit(self._limit, address):
            left = self._window.get_window_stats(self._limit, address).reset_time - time.time()
            raise TooManyRequests(
                "Too many registrations from this address; try again later.", retryAfter=max(1, math.ceil(left))
            )


class TokenRates:
    """A bucket of `burst` commands for each token, which fills by `per_second`."""

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """When each bucket will be full again, the one used longest ago first; a full bucket is as good as none."""

    def take(self, key: str) -> None:
        """Count one for the token with this digest. Raises TooManyRequests (fact `retryAfter`, seconds)."""
        now = self._clock()
        before = max(self._full_at.pop(key, now), now)
        wait = before - now - (self._burst - 1) / self._per_second
        is_over = wait > _ROUNDING_SECONDS
        self._full_at[key] = before if is_over else before + 1 / self._per_second
        while len(self._full_at) > ENTRIES_MAX or next(iter(self._full_at.values())) <= now:
            self._full_at.popitem(last=False)
        if is_over:
            raise TooManyRequests("Too many bids with this token; wait a moment.", retryAfter=math.ceil(wait))
