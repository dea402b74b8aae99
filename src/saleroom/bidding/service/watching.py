"""Watching: the user's list of lots."""

from __future__ import annotations

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.errors import TooManyWatched
from saleroom.bidding.domain.views import AuctionView
from saleroom.bidding.service.lookup import get_one, view_for
from saleroom.bidding.storage import auctions, watches
from saleroom.kernel.page import Page, page_of
from saleroom.storage.database import Transaction, brief

WATCHED_MAX = 1000
"""Auctions that one user may watch."""


def watch(tx: Transaction, token: str, gid: str) -> None:
    """Put an auction on the user's list, unless it is on it. Raises Unauthenticated, UnknownAuction or TooManyWatched."""
    account, auction = _user_and_lot(tx, token, gid, Right.WATCH)
    if watches.exists(tx, account.id, auction.id):
        return
    accounts.lock_user(tx, account.id)
    if watches.count(tx, account.id) >= WATCHED_MAX:
        raise TooManyWatched(limit=WATCHED_MAX)
    watches.add(tx, account.id, auction.id, tx.now())


def unwatch(tx: Transaction, token: str, gid: str) -> None:
    """Take an auction off the user's list, if it is on it. Raises Unauthenticated or UnknownAuction."""
    account, auction = _user_and_lot(tx, token, gid, Right.WATCH)
    watches.remove(tx, account.id, auction.id)


def watched(tx: Transaction, token: str, limit: int, before: int | None) -> Page[AuctionView, int]:
    """Return a page of the user's list, the last one added first. Raises Unauthenticated."""
    account = authenticate(tx, token, Right.READ)
    page = page_of(watches.newest(tx, account.id, limit + 1, before), limit, lambda row: row[0])
    found = {one.id: one for one in auctions.by_ids(tx, [auction_id for _, auction_id in page.rows])}
    return page.with_rows([_view(found[auction_id], account) for _, auction_id in page.rows])


@brief
def is_watched(tx: Transaction, token: str | None, gid: str, right: Right = Right.READ) -> bool:
    """Return whether the holder of `token` watches an auction; False without a token. Raises as `watch` does."""
    if token is None:
        return False
    account, auction = _user_and_lot(tx, token, gid, right)
    return watches.exists(tx, account.id, auction.id)


def _user_and_lot(tx: Transaction, token: str, gid: str, right: Right) -> tuple[Account, Auction]:
    return authenticate(tx, token, right), get_one(tx, gid)


def _view(one: Auction, account: Account) -> AuctionView:
    return view_for(one, account)
