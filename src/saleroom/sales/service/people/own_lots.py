"""Nobody bids on a lot that they have consigned: so no lot gets a consignor who has bid on it.

The admission of bids refuses a consignor; this refuses to make one of a bidder. It locks the consignors, then the auctions, so
that neither a bid nor the other half of the same change passes it by.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.storage import bidder_names, bids, event_log
from saleroom.sales.domain.errors import ConsignorBids
from saleroom.sales.domain.lots import Lot
from saleroom.sales.storage import consignors, lots
from saleroom.sales.storage.lots import OfferedLot
from saleroom.storage.database import Transaction


def refuse_consignor(tx: Transaction, lot: Lot, consignor_id: int | None) -> None:
    """Raise ConsignorBids if the account of a consignor, whom a lot of a locked sale is to get, has bid on it."""
    if consignor_id is None:
        return
    user = consignors.lock(tx, [consignor_id])[consignor_id]
    if user is not None:
        _refuse(tx, [lot], user)


def refuse_account(tx: Transaction, consignor_id: int, user_id: int | None) -> None:
    """Raise ConsignorBids if the user, who is to become this consignor, has bid on one of the consignor's lots."""
    consignors.lock(tx, [consignor_id])
    if user_id is not None:
        _refuse(tx, lots.of_consignor(tx, consignor_id), user_id)


def bidding_consignors(tx: Transaction, some: Collection[OfferedLot]) -> dict[str, set[str]]:
    """Return the codes of all consignors who have bid on one of these lots, by the label of the lot."""
    by_user: dict[int, set[str]] = {}
    for code, user_id in consignors.users_of(tx).items():
        by_user.setdefault(user_id, set()).add(code)
    found: dict[str, set[str]] = {}
    labels = {one.auction.id: one.lot.label for one in some if one.auction is not None}
    for auction_id, user_id in _bidders(tx, [one.auction for one in some if one.auction is not None], by_user):
        found.setdefault(labels[auction_id], set()).update(by_user[user_id])
    return found


def _refuse(tx: Transaction, some: Sequence[Lot], user_id: int) -> None:
    locked = lots.lock_auctions(tx, some)
    labels = {locked[one.gid].id: one.label for one in some if one.gid in locked}
    found = sorted(labels[auction_id] for auction_id, _ in _bidders(tx, locked.values(), {user_id}))
    if found:
        raise ConsignorBids(lots=", ".join(found))


def _bidders(tx: Transaction, some: Collection[Auction], users: Collection[int]) -> set[tuple[int, int]]:
    """Return who of these users has a bid that stands. That of the floor is a user's once it is named, also when outbid."""
    if not some or not users:
        return set()
    numbers = [one.id for one in some]
    leading = {(one.id, one.leader.id) for one in some if one.leader is not None and one.leader.id in users}
    found = leading | bids.bidders(tx, numbers, users)
    # The rows of named bids stay those of the floor, so the logs of these few lots say whether they stand.
    named = bidder_names.named(tx, numbers, users) - found
    books = {auction_id: BidBook(event_log.read(tx, auction_id)) for auction_id, _ in named}
    return found | {(auction_id, user_id) for auction_id, user_id in named if books[auction_id].standing_of(user_id)}
