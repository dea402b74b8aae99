"""The services behind the API and the pages of auctions, and behind bids from devices, made in `area.py`."""

from __future__ import annotations

from dataclasses import dataclass

from saleroom.accounts.domain.rights import Right, Sellers
from saleroom.bidding.domain.categories import Category
from saleroom.bidding.service import watching
from saleroom.bidding.service.auctions import OfferingRules
from saleroom.bidding.service.desk import Desk
from saleroom.bidding.service.photos import Photos
from saleroom.bidding.service.reading import AuctionJson
from saleroom.bidding.service.signing import SigningKey
from saleroom.feed.feed import Feed
from saleroom.http.cursors import Cursors
from saleroom.storage.batching import SharedRead, SharedReads
from saleroom.storage.database import Database
from saleroom.storage.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class BiddingServices:
    """The services behind the API and the pages of auctions, and behind bids from devices."""

    database: Database
    tokens: Tokens
    desk: Desk
    signing_key: SigningKey
    """The key that receipts are signed with, if there is one."""
    auction_views: SharedRead[tuple[str, str | None], AuctionJson]
    """Auctions by gid, as the holder of a token may see them."""
    shared_reads: SharedReads
    """Lists and histories that many ask for. Each must be cheap, as the others of its batch wait for it."""
    photos: Photos
    feed: Feed
    cursors: Cursors
    currency: str
    """The ISO 4217 code of the currency of all amounts."""
    auctions_per_user_max: int
    """How many auctions one user may run at a time, and create in a day."""
    sellers: Sellers
    """Who may offer lots."""
    categories: tuple[Category, ...]
    """The house's categories, in the order in which pages show them."""

    @property
    def offering(self) -> OfferingRules:
        """What the house asks of those who offer lots."""
        return OfferingRules(self.sellers, self.category_names, self.auctions_per_user_max)

    @property
    def category_names(self) -> tuple[str, ...]:
        """The names that auctions may have as their category."""
        return tuple(one.name for one in self.categories)

    def category_choices(self, chosen: str) -> tuple[str, ...]:
        """Return the names to choose from: also what is chosen already (unless it is empty), even if it was given up."""
        known = self.category_names
        return known if not chosen or chosen in known else (*known, chosen)

    async def set_watched(self, token: str, gid: str, *, watched: bool) -> None:
        """Put an auction on the user's watch list, or take it off; nothing is written if that is so already.

        Raises Unauthenticated, UnknownAuction or TooManyWatched.
        """
        await self.tokens.owner(token)
        if await self.database.read(watching.is_watched, token, gid, Right.WATCH) != watched:
            await self.database.write(watching.watch if watched else watching.unwatch, token, gid)
