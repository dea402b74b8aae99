"""The catalogue: pages of lots, and one lot for the screen of the hall."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from types import MappingProxyType

from msgspec import Struct

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.photos import Photo
from saleroom.bidding.domain.views import AuctionView, BidView, auction_view
from saleroom.bidding.service import photos
from saleroom.bidding.service.lookup import get_one, refuse_unless_seen
from saleroom.bidding.service.reading import history
from saleroom.bidding.storage import listing, mine, watches
from saleroom.bidding.storage.listing import Filter, ListPlace, Sort
from saleroom.storage.database import SharedPart, Transaction

COUNT_MAX = 1000
"""The highest number of lots that is counted: nobody reads a higher one."""
SCREEN_BIDS = 5


class Catalogue(Struct, frozen=True, kw_only=True):
    """A page of lots with the first photo of each, by gid. `count` is that of the whole list, up to COUNT_MAX + 1.

    `has_lots`: whether the house has or had any lot.
    """

    lots: list[AuctionView]
    covers: dict[str, Photo]
    next: ListPlace | None
    count: int
    has_lots: bool


class Screen(Struct, frozen=True, kw_only=True):
    """A lot for the hall: its last bids, its first photo, and the lot that comes next."""

    auction: AuctionView
    bids: list[BidView]
    cover: Photo | None
    next: AuctionView | None


class Interest(Struct, frozen=True):
    """A reader's highest bid on each lot, by gid, and the lots that the reader watches.

    `names` are those by which these lots show the reader, where that is not the username. `user_id` is None for a stranger.
    """

    amounts: Mapping[str, str] = MappingProxyType({})
    watched: frozenset[str] = frozenset()
    names: Mapping[str, str] = MappingProxyType({})
    user_id: int | None = None


class Neighbour(Struct, frozen=True):
    """A lot that stands beside another one in a list."""

    gid: str
    name: str


class Beside(Struct, frozen=True):
    """The lots before and after another one in a list; None at its ends."""

    before: Neighbour | None
    after: Neighbour | None


class InSale(Struct, frozen=True, kw_only=True):
    """What the catalogue of a sale says of a lot: its number, its estimate, and the lots before and after it.

    `is_live`: an auctioneer sells the lots, and the sale is not over.
    """

    gid: str
    title: str
    label: str
    estimate_from: Decimal | None
    estimate_to: Decimal | None
    is_live: bool
    beside: Beside


IN_SALE: SharedPart[Callable[[Transaction, Auction], InSale | None]] = SharedPart()
"""Returns the place of a lot of a sale; the area of sales provides it."""


def in_sale(tx: Transaction, gid: str) -> InSale | None:
    """Return the place of a lot in its sale; None for a lot outside sales. Raises UnknownAuction."""
    found, place = get_one(tx, gid), tx.provided(IN_SALE)
    return None if found.sale_id is None or place is None else place(tx, found)


def interest(tx: Transaction, token: str | None, gids: Collection[str]) -> Interest:
    """Return the interest of the holder of `token` in these lots; none without a token.

    Raises Unauthenticated for a dead token.
    """
    if token is None:
        return Interest()
    user_id = authenticate(tx, token, Right.READ).id
    found = mine.amounts(tx, user_id, gids)
    amounts = {gid: str(amount) for gid, (amount, _) in found.items()}
    names = {gid: name for gid, (_, name) in found.items() if name is not None}
    return Interest(amounts, watches.among(tx, user_id, gids), names, user_id)


def neighbours(tx: Transaction, gid: str) -> Beside:
    """Return the lots beside this one in its list by end. Raises UnknownAuction."""
    before, after = listing.beside(tx, get_one(tx, gid))
    return Beside(Neighbour(*before) if before else None, Neighbour(*after) if after else None)


def catalogue(tx: Transaction, which: Filter, sort: Sort, limit: int, after: ListPlace | None) -> Catalogue:
    """Return a page of lots as anyone may see them. Raises ValueError for a place in another list."""
    page = listing.page(tx, which, sort, limit, after)
    found = page.rows
    is_only_page = after is None and page.next is None
    count = len(found) if is_only_page else listing.count(tx, which, COUNT_MAX + 1)
    return Catalogue(
        lots=[auction_view(one) for one in found],
        covers=photos.covers(tx, [one.gid for one in found]) if found else {},
        next=page.next,
        count=count,
        has_lots=count > 0 or listing.count(tx, Filter(), 1) > 0,
    )


def screen(tx: Transaction, token: str | None, gid: str, author: str | None) -> Screen:
    """Return a lot for the hall, as anyone may see it. Raises UnknownAuction or TakenDown."""
    found = get_one(tx, gid)
    refuse_unless_seen(found, None)
    return Screen(
        auction=auction_view(found),
        bids=history(tx, found, None, SCREEN_BIDS, None).rows,
        cover=photos.covers(tx, [gid]).get(gid),
        next=next_open(tx, token, gid, author),
    )


def next_open(tx: Transaction, token: str | None, gid: str, author: str | None) -> AuctionView | None:
    """Return the next lot after `gid`: the one that ends soonest of the other open ones (of this author).

    Raises UnknownAuction.
    """
    get_one(tx, gid)
    found = listing.page(tx, Filter(status=Status.OPEN, author=author), Sort.ENDING, 2, None).rows
    return next((auction_view(one) for one in found if one.gid != gid), None)
