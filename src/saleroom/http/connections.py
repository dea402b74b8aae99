"""Limits on connections, in all and from one network, so that no client takes all the places."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Sequence
from functools import partial

import structlog

from saleroom.http.places import OwnPlaces, Places
from saleroom.kernel.errors import Busy
from saleroom.kernel.networks import network
from saleroom.logs import LogThrottle

log = structlog.get_logger()

TELL_SECONDS = 10.0
_TOO_MANY, _TOO_MANY_EACH = "too many in all", "too many from one network"
CONNECTIONS = "saleroom.connections"
"""In the state of the application: its `Connections`."""


class Connections:
    """Counts connections. Those of `trusted` proxies count in all only: one address may be that of many people."""

    def __init__(
        self,
        most: int,
        most_each: int,
        trusted: Sequence[str] = (),
        *,
        places: Places | None = None,
        most_here: int = sys.maxsize,
    ) -> None:
        """`places` counts those of the house; without it, this process is alone. `most_here` may be in this process."""
        self._most = most
        self._most_each = most_each
        self._most_here = most_here
        self._places = places or OwnPlaces()
        self._trusted = [ipaddress.ip_network(one) for one in trusted]
        self.count = 0
        """How many are open in this process."""
        self._refused_from = ""
        """The network that the latest refused connection came from."""
        self._throttles = {
            reason: LogThrottle(partial(self._log, reason), TELL_SECONDS) for reason in (_TOO_MANY, _TOO_MANY_EACH)
        }

    def enter(self, address: str) -> str:
        """Count one from `address`, and return the place that `leave` takes. Raises Busy. Call it in the event loop."""
        place = self._place(address)
        if self.count >= self._most_here or self._places.all() >= self._most:
            self._refuse(_TOO_MANY, place)
        if place and self._places.of(place) >= self._most_each:
            self._refuse(_TOO_MANY_EACH, place)
        self._places.add(place, 1)
        self.count += 1
        return place

    def leave(self, place: str) -> None:
        """Count one connection less."""
        self._places.add(place, -1)
        self.count -= 1

    def _place(self, address: str) -> str:
        """Return the network of an address; an empty string for a trusted proxy."""
        if not self._trusted:
            return network(address)
        try:
            known = ipaddress.ip_address(address)
        except ValueError:
            return address
        return "" if any(known in trusted for trusted in self._trusted) else network(address)

    def _refuse(self, reason: str, place: str) -> None:
        self._refused_from = place
        self._throttles[reason].count()
        raise Busy("Too many connections; close some, or try again in a moment.")

    def _log(self, reason: str, count: int) -> None:
        log.warning("connections are refused", reason=reason, network=self._refused_from, refused=count)
