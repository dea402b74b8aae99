"""Lookup: one auction by its gid, read or locked."""

from __future__ import annotations

from saleroom.bidding.domain.auction import Auction, refuse_unless_author
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.storage import auctions
from saleroom.kernel.parties import Party
from saleroom.storage.database import Transaction


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


def known(auction: Auction | None) -> Auction:
    """Return the auction. Raises UnknownAuction for None."""
    if auction is None:
        raise UnknownAuction
    return auction
