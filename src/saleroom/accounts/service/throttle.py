"""Rate limits: failed logins and registrations of the whole house, and other requests that come too often.

Logins and registrations are counted in the database, so that all processes share one count (docs/decisions/0055). A
`RateLimit` counts in one process.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TypeVar

from msgspec import Struct

from saleroom.accounts.domain.accounts import TOKEN_LIFETIME
from saleroom.accounts.domain.errors import InvalidAuthentication, WrongCode
from saleroom.accounts.storage import rate_limits
from saleroom.accounts.storage.rate_limits import Count, digest
from saleroom.kernel.errors import Refusal, TooManyRequests
from saleroom.kernel.networks import network
from saleroom.storage.database import Database, Transaction, brief, ranked
from saleroom.storage.turns import Rank

FREE_FAILURES = 5
DELAY_SECONDS_MAX = 60
FORGET = timedelta(hours=1)
SLACK = timedelta(minutes=1)
"""By how much the clock may be set back without letting anybody off."""
RENEW = timedelta(days=1)
"""How old the note of a name's last login from a network may be until the next login renews it."""
ENTRIES_MAX = 100_000
_ROUNDING_SECONDS = 1e-6

Clock = Callable[[], datetime]
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


class _Refusals:
    """Keys that have to wait: a process refuses them again without a question to the database."""

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._until: _BoundedDict[str, float] = _BoundedDict()

    def check(self, key: str, message: str) -> None:
        """Raise TooManyRequests if the key still has to wait."""
        left = self._until.get(key, 0.0) - self._now()
        if left > 0:
            raise TooManyRequests(message, retry_after=math.ceil(left))
        self._until.pop(key, None)

    def refuse(self, key: str, left: timedelta, message: str) -> TooManyRequests:
        """Return the refusal of a key that has to wait `left`."""
        self._until[key] = self._now() + left.total_seconds()
        return TooManyRequests(message, retry_after=max(1, math.ceil(left.total_seconds())))

    def _now(self) -> float:
        return time.monotonic() if self._clock is None else self._clock().timestamp()


class _Keys(Struct, frozen=True):
    """The keys of the counts that a login is about: a name from a network has its own, beside that of the network."""

    failures: str
    welcome: str
    network: str


class _Standing(Struct, frozen=True):
    """How a name stands at a network. `left` is how long it has to wait; zero or less if it does not."""

    left: timedelta
    failures: int
    is_welcome: bool
    is_fresh: bool
    """Whether the note that it is welcome need not be renewed."""


class FailedLogins:
    """Delays after failed logins, by username and network, and a limit on all failures of a network.

    After `FREE_FAILURES` failures in a row the next try has to wait 1 second, then 2, 4 ... and at most a minute. A success or
    an hour forgets them. Failures from another network do not count, so nobody can lock a rival out.

    A network may fail `per_hour` times, with any names, and then once for each hour's share that has passed. This does not
    delay names that have logged in from there in the last 30 days, since a hall shares one address.
    """

    _MESSAGE = "Too many failed logins; try again later."

    def __init__(self, database: Database, per_hour: int, clock: Clock | None = None) -> None:
        """`clock` stands in for the database's, in tests."""
        self._database = database
        self._share = timedelta(hours=1) / per_hour
        self._burst = (per_hour - 1) * self._share
        self._clock = clock
        self._refusals = _Refusals(clock)

    @asynccontextmanager
    async def attempt(self, username: str, address: str) -> AsyncIterator[None]:
        """Count a login by how the block ends. Raises TooManyRequests before the block (fact `retry_after`, seconds)."""
        keys = _keys(username, address)
        self._refusals.check(keys.failures, self._MESSAGE)
        standing = await self._database.read(self._standing, keys)
        reserves = standing.left <= timedelta() and standing.failures >= FREE_FAILURES
        if reserves:
            standing = await self._database.write(self._reserve, keys)
        if standing.left > timedelta():
            raise self._refusals.refuse(keys.failures, standing.left, self._MESSAGE)
        try:
            yield
        except (InvalidAuthentication, WrongCode):
            await self._database.write(self._failed, keys, counts=not reserves)
            raise
        except Refusal:  # such as one that asks for a code: the try was neither right nor wrong
            if reserves:
                await self._database.write(self._give_back, keys)
            raise
        if standing.failures or not standing.is_fresh:
            await self._database.write(self._succeeded, keys)

    @ranked(Rank.LOGIN)
    @brief
    def _standing(self, tx: Transaction, keys: _Keys) -> _Standing:
        counts = rate_limits.find(tx, (keys.failures, keys.welcome, keys.network))
        return self._judged(counts, keys, self._now(tx))

    def _judged(self, counts: dict[str, Count], keys: _Keys, now: datetime) -> _Standing:
        failures, welcome, place = (counts.get(key) for key in (keys.failures, keys.welcome, keys.network))
        left, failed = timedelta(), 0
        is_welcome = welcome is not None and now - welcome.at < TOKEN_LIFETIME
        if place is not None and not is_welcome:
            left = _full_at(place.at, now) - now - self._burst
        if failures is not None and now - failures.at <= FORGET:
            failed = failures.count
            left = max(left, left_of(_delay(failed), failures.at, now))
        return _Standing(left, failed, is_welcome, welcome is not None and now - welcome.at < RENEW)

    @ranked(Rank.LOGIN)
    def _reserve(self, tx: Transaction, keys: _Keys) -> _Standing:
        """Count a try as a failure before it begins. Otherwise many tries at once, in all processes, would share one delay."""
        rate_limits.lock(tx, keys.failures)
        standing = self._standing(tx, keys)
        if standing.left <= timedelta():
            now = self._now(tx)
            rate_limits.put(tx, keys.failures, Count(standing.failures + 1, now), until=now + FORGET)
        return standing

    @ranked(Rank.LOGIN)
    def _give_back(self, tx: Transaction, keys: _Keys) -> None:
        """Take back what `_reserve` has counted. Its delay stays, as it has begun."""
        rate_limits.lock(tx, keys.failures)
        found = rate_limits.find(tx, (keys.failures,)).get(keys.failures)
        if found is not None:
            rate_limits.put(tx, keys.failures, Count(max(0, found.count - 1), found.at), until=found.at + FORGET)

    @ranked(Rank.LOGIN)
    def _failed(self, tx: Transaction, keys: _Keys, *, counts: bool) -> None:
        """Count a failure: for its network, and for the name there unless `_reserve` has counted it. Its delay begins now."""
        now = self._now(tx)
        for key in sorted((keys.failures, keys.network)):  # always in one order, so that nobody waits in a circle
            rate_limits.lock(tx, key, now)
        found = rate_limits.find(tx, (keys.failures, keys.network))
        standing = self._judged(found, keys, now)
        rate_limits.put(tx, keys.failures, Count(standing.failures + counts, now), until=now + FORGET)
        full_at = max(_full_at(found[keys.network].at, now), now)
        if full_at - now - self._burst <= timedelta():
            full_at += self._share
        rate_limits.put(tx, keys.network, Count(0, full_at), until=full_at)

    @ranked(Rank.LOGIN)
    def _succeeded(self, tx: Transaction, keys: _Keys) -> None:
        """Forget the failures, and remember that the name has logged in from this network."""
        now = self._now(tx)
        rate_limits.forget(tx, keys.failures)
        rate_limits.put(tx, keys.welcome, Count(0, now), until=now + TOKEN_LIFETIME)

    def _now(self, tx: Transaction) -> datetime:
        return tx.now() if self._clock is None else self._clock()


def take_share(tx: Transaction, counted: str, whose: str, most: int, period: timedelta) -> timedelta:
    """Count one of what somebody may do `most` times at once, and then once for each share of the period that has passed.

    Returns how long to wait for the next one; zero if this one counts. One row has it all, as that of a network has.
    """
    now, share, key = tx.now(), period / most, digest(counted, whose)
    rate_limits.lock(tx, key, now)
    full_at = rate_limits.find(tx, (key,))[key].at
    full_at = now if full_at - now > period + SLACK else max(full_at, now)  # the clock was set back: it counts as full
    left = full_at - now - (most - 1) * share
    if left > timedelta():
        return left
    rate_limits.put(tx, key, Count(0, full_at + share), until=full_at + share)
    return timedelta()


def has_logged_in(tx: Transaction, username: str, place: str) -> bool:
    """Return whether the name has logged in from this network in the last 30 days."""
    key = digest("welcome", place, username)
    found = rate_limits.find(tx, (key,)).get(key)
    return found is not None and tx.now() - found.at < TOKEN_LIFETIME


def _keys(username: str, address: str) -> _Keys:
    place = network(address)
    return _Keys(digest("failures", place, username), digest("welcome", place, username), digest("network", place))


def left_of(delay: timedelta, began: datetime, now: datetime) -> timedelta:
    """Return how much is left of a delay; zero or less for nothing. The clock was set back since one that has yet to begin."""
    return timedelta() if began - now > SLACK else began + delay - now


def _full_at(full_at: datetime, now: datetime) -> datetime:
    """Return when a network's bucket is full: within an hour, unless the clock was set back; then it counts as full."""
    return now if full_at - now > timedelta(hours=1) + SLACK else full_at


def _delay(failures: int) -> timedelta:
    """Return how long a name waits after so many failures in a row."""
    if failures < FREE_FAILURES:
        return timedelta()
    return timedelta(seconds=min(2 ** min(failures - FREE_FAILURES, 16), DELAY_SECONDS_MAX))


class Registrations:
    """Registrations per network, at most `per_hour` within any hour."""

    _MESSAGE = "Too many registrations from this address; try again later."
    _COUNTED = "registration"

    def __init__(self, database: Database, per_hour: int, clock: Clock | None = None) -> None:
        """`clock` stands in for the database's, in tests."""
        self._database = database
        self._per_hour = per_hour
        self._clock = clock
        self._refusals = _Refusals(clock)

    async def take(self, address: str) -> None:
        """Count one. Raises TooManyRequests (fact `retry_after`, seconds)."""
        place = network(address)
        self._refusals.check(place, self._MESSAGE)
        left = await self._database.write(self._take, place)
        if left > timedelta():
            raise self._refusals.refuse(place, left, self._MESSAGE)

    @ranked(Rank.LOGIN)
    def _take(self, tx: Transaction, place: str) -> timedelta:
        """Count one, or return how long to wait.

        The last `per_hour` registrations of a network stand in a ring of rows. The next one takes the place of the oldest,
        which must be an hour ago.
        """
        now = tx.now() if self._clock is None else self._clock()
        ring = digest(f"{self._COUNTED}s", place)
        rate_limits.lock(tx, ring, now)
        taken = rate_limits.find(tx, (ring,))[ring].count
        slot = digest(self._COUNTED, place, str(taken % self._per_hour))
        oldest = rate_limits.find(tx, (slot,)).get(slot)
        if oldest is not None and (left := oldest.at + timedelta(hours=1) - now) > timedelta():
            return left
        for key, count in ((ring, taken + 1), (slot, 0)):
            rate_limits.put(tx, key, Count(count, now), until=now + timedelta(hours=1))
        return timedelta()


class AccountMails(Registrations):
    """Mails about accounts that the requests of a network cause, at most `per_hour` within any hour."""

    _MESSAGE = "Too many mails from this address; try again later."
    _COUNTED = "account mail"
