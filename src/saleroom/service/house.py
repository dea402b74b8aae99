"""The house: everything a door needs, in one value that `compose.py` makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from saleroom.service.accounts import Accounts
from saleroom.service.desk import Desk
from saleroom.storage.database import Database


@dataclass(frozen=True)
class House:
    """The parts behind every door. `https`: the house is reached over https, so cookies may insist on it."""

    database: Database
    desk: Desk
    accounts: Accounts
    https: bool = False
    broker: Callable[[], str] = lambda: "off"
    """How the MQTT broker is: `connected`, `not connected`, `standing by` (another process has the relay) or `off`."""
    openapi: bytes = b"{}"
    load_key: str | None = field(default=None, repr=False)
    """Who knows it may have test users made; None: nobody may."""
