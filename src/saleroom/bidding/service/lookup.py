"""Lookup: one auction by its gid, read or locked."""

from __future__ import annotations

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import UnknownAuction
from saleroom.bidding.storage import auctions
from saleroom.storage.database import Transaction


def get_one(tx: Transaction, gid: str) -> Auction:
    """Return the auction. Raises UnknownAuction."""
    return known(auctions.get(tx, gid))


def lock_one(tx: Transaction, gid: str) -> Auction:
    """Return the auction, locked until the transaction ends. Raises UnknownAuction."""
    return known(auctions.lock(tx, [gid]).get(gid))


def known(auction: Auction | None) -> Auction:
    """Return the auction. Raises UnknownAuction for None."""
    if auction is None:
        raise UnknownAuction
    return auction
