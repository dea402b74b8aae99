"""What both ways to a house share: the plan, the way to fail, and the pauses between tries."""

from __future__ import annotations

import random
import ssl

from msgspec import Struct

RETRY_SECONDS = 1.0
RETRY_SECONDS_MAX = 10.0


class Plan(Struct, frozen=True, kw_only=True):
    """What to watch. `url` holds no account; `password` goes nowhere but to the broker."""

    url: str
    gid: str | None = None
    after: str | None = None
    states: bool = True
    """Whether lots are wanted beside events."""
    prefix: str = "saleroom/"
    user: str | None = None
    password: str | None = None
    ca_file: str | None = None


class CannotWatch(Exception):
    """It cannot be watched; the message says why and what would help."""


class Pauses:
    """How long to wait before the next try: longer each time, and never in step with others."""

    def __init__(self) -> None:
        self.least = RETRY_SECONDS
        """Seconds, as the server asks for."""
        self._failed = 0

    def reset(self) -> None:
        """It worked."""
        self._failed = 0

    def next(self, at_least: float = 0.0) -> float:
        """Return the seconds to wait."""
        spread = min(RETRY_SECONDS_MAX, self.least * 2 ** min(self._failed, 10))
        self._failed += 1
        return max(self.least, at_least) + random.uniform(0, spread)


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Make a context that trusts the system's authorities, or those in the file. Raises CannotWatch."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        reason = error.strerror or "it holds no certificate in PEM form"
        raise CannotWatch(f"the authority file {ca_file} cannot be used: {reason}") from None
