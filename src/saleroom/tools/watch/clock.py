"""What time it is in the house, as far as one can tell from outside."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock:
    """The house's clock: this machine's own, until the house has said what time it is."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()

    def heard(self, said: datetime) -> None:
        """Note that it is `said` in the house just now."""
        self._ahead = (said - _EPOCH).total_seconds() - time.monotonic()

    def now(self) -> datetime:
        """Return what time it is in the house, in UTC."""
        return _EPOCH + timedelta(seconds=self._ahead + time.monotonic())
