"""A cache of committed rows, in memory, for each process.

An area declares a `CacheKey` for each kind of values, and checks with the database that a cached value is current before use.
A version number alone does not prove that: after a failover to a standby that lacks the last commits, or after a restore,
other rows reach the same number. Nothing enters the cache before it is committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class CacheKey(Generic[V]):
    """Names one kind of cached values; at most `limit` of them are kept."""

    def __init__(self, limit: int) -> None:
        self.limit = limit


class CachedValues(Generic[V]):
    """The values that were put in last, by number; safe in any thread."""

    def __init__(self, limit: int) -> None:
        self._values: dict[int, V] = {}
        self._limit = limit
        self._writing = Lock()
        self.get = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def put(self, number: int, value: V) -> None:
        """Keep `value`; drop the oldest one if there are too many."""
        self.update({number: value})

    def update(self, values: Mapping[int, V]) -> None:
        """Keep `values`; drop the oldest ones if there are too many."""
        with self._writing:
            for number, value in values.items():
                self._values.pop(number, None)
                self._values[number] = value
                if len(self._values) > self._limit:
                    del self._values[next(iter(self._values))]

    def clear(self) -> None:
        """Drop everything."""
        self._values.clear()


class Cache:
    """The cache of one process: the values of each key, by number."""

    def __init__(self) -> None:
        self._by_key: dict[CacheKey[Any], CachedValues[Any]] = {}

    def __getitem__(self, key: CacheKey[V]) -> CachedValues[V]:
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key.setdefault(key, CachedValues(key.limit))
        return found

    def clear(self) -> None:
        """Drop everything."""
        for values in self._by_key.values():
            values.clear()
