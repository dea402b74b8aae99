"""The house: everything a door needs, in one value that `compose.py` makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from saleroom.delivery.feed import Feed
from saleroom.doors.cursors import Cursors
from saleroom.service.accounts import Accounts
from saleroom.service.desk import Desk
from saleroom.service.photos import Photos
from saleroom.service.reading import Look, Shown
from saleroom.storage.database import Database
from saleroom.storage.sharing import Shared


@dataclass(frozen=True)
class House:
    """The parts behind every door. `https`: the house is reached over https, so cookies may insist on it."""

    database: Database
    desk: Desk
    showing: Shared[tuple[str, str | None], Shown]
    """Auctions by gid, for the holder of a token."""
    looking: Shared[Look, Any]
    """Lists and histories that many look at."""
    accounts: Accounts
    photos: Photos
    feed: Feed
    """What happens, to those who follow it."""
    cursors: Cursors
    """Where pages of lists start."""
    https: bool = False
    broker: Callable[[], str] = lambda: "off"
    """How the MQTT broker is: `connected`, `not connected`, `standing by` (another process has the relay) or `off`."""
    openapi: bytes = b"{}"
    asyncapi: bytes = b"{}"
    load_key: str | None = field(default=None, repr=False)
    """Who knows it may have test users made; None: nobody may."""
