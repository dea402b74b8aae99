"""Lookup: one auction by its gid, read or locked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import UNSET, structs

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.rights import Right, rights_of
from saleroom.bidding.domain.auction import Auction, refuse_unless_author
from saleroom.bidding.domain.errors import LotOfSale, TakenDown, UnknownAuction
from saleroom.bidding.domain.events import Outcome
from saleroom.bidding.domain.views import AuctionView, auction_view
from saleroom.bidding.storage import auctions
from saleroom.kernel.parties import Party
from saleroom.storage.database import Transaction

R = TypeVar("R")


def get_one(tx: Transaction, gid: str) -> Auction:
    """Return the auction. Raises UnknownAuction."""
    return known(auctions.get(tx, gid))


def lock_one(tx: Transaction, gid: str) -> Auction:
    """Return the auction, locked until the transaction ends. Raises UnknownAuction."""
    return known(auctions.lock(tx, [gid]).get(gid))


def get_own(tx: Transaction, gid: str, author: Party) -> Auction:
    """Return the author's auction. Raises UnknownAuction or NotAuthor."""
    auction = get_one(tx, gid)
    refuse_unless_author(auction, author)
    return auction


def lock_own(tx: Transaction, gid: str, author: Party) -> Auction:
    """Return the author's auction, locked until the transaction ends. Raises UnknownAuction or NotAuthor.

    The author never changes and is read before the lock, so a stranger's request neither waits for a lot nor holds up its bids.
    """
    get_own(tx, gid, author)
    return lock_one(tx, gid)


def lock_to_change(tx: Transaction, gid: str, author: Party) -> Auction:
    """Do the same for an auction whose author alone decides about it. Raises UnknownAuction, NotAuthor or LotOfSale."""
    if get_own(tx, gid, author).sale_id is not None:
        raise LotOfSale
    return lock_one(tx, gid)


def sees(auction: Auction, viewer: Holder | None) -> bool:
    """Return whether `viewer` may see the auction: all may, unless it is hidden; then its author, its winner and staff."""
    return sees_hidden(auction, viewer) if auction.is_hidden else True


def sees_hidden(auction: Auction, viewer: Holder | None) -> bool:
    """Return whether `viewer` may see the auction also while it is hidden."""
    return viewer is not None and (viewer.id == auction.author.id or has_won(auction, viewer) or moderates(viewer))


def has_won(auction: Auction, viewer: Holder) -> bool:
    """Return whether `viewer` has bought the lot."""
    return auction.outcome is Outcome.SOLD and auction.leader is not None and auction.leader.id == viewer.id


def view_for(auction: Auction, viewer: Holder | None, *, staff: bool = False) -> AuctionView:
    """Return the auction as `viewer` may see it. A winner sees the name of the lot, also if it is hidden since."""
    if viewer is not None and viewer.id == auction.author.id:
        return auction_view(auction, own=True, staff=staff)
    if not staff and viewer is not None and has_won(auction, viewer):
        return structs.replace(auction_view(auction, staff=True), hidden_for=UNSET)
    return auction_view(auction, staff=staff)


def moderates(viewer: Holder) -> bool:
    """Return whether `viewer` may hide lots."""
    return Right.MODERATE_LOTS in rights_of(viewer.role, viewer.scopes)


def voids(viewer: Holder) -> bool:
    """Return whether `viewer` may void bids."""
    return Right.VOID_BIDS in rights_of(viewer.role, viewer.scopes)


def refuse_unless_seen(auction: Auction, viewer: Holder | None) -> None:
    """Raise TakenDown if the auction is hidden from `viewer`."""
    if not sees(auction, viewer):
        raise TakenDown


def if_shown(tx: Transaction, gid: str, read: Callable[[Transaction, str], R]) -> R:
    """Return what `read` returns for an auction that anyone may see. Raises UnknownAuction or TakenDown."""
    refuse_unless_seen(get_one(tx, gid), None)
    return read(tx, gid)


def known(auction: Auction | None) -> Auction:
    """Return the auction. Raises UnknownAuction for None."""
    if auction is None:
        raise UnknownAuction
    return auction
