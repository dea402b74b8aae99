"""The house's clock, estimated from outside."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

Instant = Annotated[datetime, Meta(tz=True)]
"""An instant with an offset, as a house writes it. An instant without one cannot be compared."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class HouseClock:
    """This machine's clock until the house has sent its time, and from then on the house's."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def set(self, now: datetime) -> None:
        """Set the clock to an aware instant."""
        self._ahead = (now - _EPOCH).total_seconds() - time.monotonic()

    def hear(self, comment: str) -> bool:
        """Set the clock by a comment of a stream of events: `time` and an instant. Return whether it is such a comment.

        Raises msgspec.ValidationError if it is no instant with an offset.
        """
        name, _, value = comment.partition(" ")
        if name == "time":
            self.set(msgspec.convert(value.strip(), Instant))
        return name == "time"

    def now(self) -> datetime:
        """Return the time in the house, in UTC."""
        return _EPOCH + timedelta(seconds=self._ahead + time.monotonic())
