"""Instants as JSON has them: RFC 3339 in UTC, with microseconds."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache


@lru_cache(maxsize=8192)
def instant(at: datetime) -> str:
    """Return `at` (UTC) as text, always with six decimals of a second."""
    return f"{at.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def maybe_instant(at: datetime | None) -> str | None:
    """Return `at` as text, None for None."""
    return None if at is None else instant(at)
