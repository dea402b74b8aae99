"""The options and the pauses between tries, which watching over HTTP and over MQTT share."""

from __future__ import annotations

import random
import ssl

from msgspec import Struct

from saleroom.tools.errors import ToolError

RETRY_SECONDS = 1.0
RETRY_SECONDS_MAX = 10.0


class WatchOptions(Struct, frozen=True, kw_only=True):
    """The sale to watch. `url` holds no account; `password` is sent to the broker only."""

    url: str
    gid: str | None = None
    evening: str | None = None
    """The sale of many lots, by gid."""
    after: str | None = None
    states: bool = True
    """Whether lots are wanted beside events."""
    prefix: str = "saleroom/"
    user: str | None = None
    password: str | None = None
    ca_file: str | None = None
    currency: str | None = None


class Pauses:
    """How long to wait before the next try: longer each time, and never in step with other clients."""

    def __init__(self) -> None:
        self.least = RETRY_SECONDS
        """Seconds that the server asks for."""
        self._failures = 0

    def reset(self) -> None:
        """Start again from the shortest pause, after a success."""
        self._failures = 0

    def next(self, at_least: float = 0.0) -> float:
        """Return the seconds to wait."""
        spread = min(RETRY_SECONDS_MAX, self.least * 2 ** min(self._failures, 10))
        self._failures += 1
        return max(self.least, at_least) + random.uniform(0, spread)


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Return a context that trusts the system's authorities, or those in the file. Raises ToolError."""
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        reason = error.strerror or "it holds no certificate in PEM form"
        raise ToolError(f"the authority file {ca_file} cannot be used: {reason}") from None
