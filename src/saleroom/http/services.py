"""The house: everything a door needs, in one value that `compose.py` makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

from saleroom.accounts.service.accounts import Accounts
from saleroom.bidding.service import watching
from saleroom.bidding.service.desk import Desk
from saleroom.bidding.service.photos import Photos
from saleroom.bidding.service.reading import Look, Shown
from saleroom.bidding.service.signing import SigningKey
from saleroom.feed.feed import Feed
from saleroom.http.cursors import Cursors
from saleroom.storage.batching import Shared
from saleroom.storage.database import Database, Transaction

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class House:
    """The parts behind every door. `https`: the house is reached over https, so cookies may insist on it."""

    database: Database
    desk: Desk
    signing_key: SigningKey
    showing: Shared[tuple[str, str | None], Shown]
    """Auctions by gid, for the holder of a token."""
    looking: Shared[Look, Any]
    """Lists and histories that many look at; only what is cheap, as they wait for each other."""
    knowing: Shared[str, int]
    """Users' numbers, by token."""
    owing: Shared[str, int]
    """How many events are still to be delivered, whatever the question."""
    accounts: Accounts
    photos: Photos
    feed: Feed
    """What happens, to those who follow it."""
    cursors: Cursors
    """Where pages of lists start."""
    auctions_per_user_max: int
    """How many auctions one user may run at a time, and create in a day."""
    https: bool = False
    broker: Callable[[], str] = lambda: "off"
    """How the MQTT broker is: `connected`, `not connected`, `standing by` (another process has the relay) or `off`."""
    openapi: bytes = b"{}"
    asyncapi: bytes = b"{}"
    load_key: str | None = field(default=None, repr=False)
    """Who knows it may have test users made; None: nobody may."""

    async def write(
        self, use_case: Callable[Concatenate[Transaction, str, P], R], token: str, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run a use case that needs a token in a transaction that may write.

        Raises Unauthenticated before that where the token is dead, and as `Database.write` does. All who wait share the
        read that finds it out, so that dead tokens never take the turn of somebody who bids.
        """
        await self.knowing.ask(token)
        return await self.database.write(use_case, token, *args, **kwargs)

    async def watch(self, token: str, gid: str, *, watched: bool) -> None:
        """Have an auction on one's list, or off it; where it is so already, nothing is written.

        Raises Unauthenticated or UnknownAuction.
        """
        await self.knowing.ask(token)
        if await self.database.read(watching.is_watched, token, gid) != watched:
            await self.database.write(watching.watch if watched else watching.unwatch, token, gid)
