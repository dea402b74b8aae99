"""The answers of a house, counted by route and status; and a log line for refusals of input, rights and rates."""

from __future__ import annotations

from collections import Counter

import structlog
from starlette.types import Scope

from saleroom.kernel.networks import network
from saleroom.logs import LogThrottle

log = structlog.get_logger()

ROUTE = "saleroom.route"
"""In the scope of a request: the path of its route, such as `/auctions/{gid}`. Without it the address is unknown, or
the guard refused the request."""
OTHER = "other"
"""In place of the route of a request without one."""
_REFUSED = (400, 401, 403, 405, 413, 415, 429, 431)
"""What is refused before any rule of a sale is asked: input, rights and rates."""


class Outcomes:
    """Counts the answers of one process. Call it in the event loop."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()
        """The answers by route and status. Their number is bounded: unknown addresses share one name."""
        self._untold: Counter[str] = Counter()
        self._refused_from = ""
        self._throttle = LogThrottle(self._log)

    def count(self, scope: Scope, status: int) -> None:
        """Take note of an answer."""
        route: str = scope.get(ROUTE, OTHER)
        self.counts[route, status] += 1
        if status in _REFUSED:
            self._untold[f"{status} {route}"] += 1
            self._refused_from = network((scope.get("client") or ("unknown",))[0])
            self._throttle.count()

    def _log(self, refused: int) -> None:
        """Log refusals without anything that a client wrote: people type passwords into addresses too."""
        log.warning(
            "requests were refused", refused=refused, routes=dict(self._untold), latest_network=self._refused_from
        )
        self._untold.clear()
