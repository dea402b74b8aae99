"""Moderation: what those who run the house do about a lot, or about a bid on it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain import moderation, voiding
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.views import AuctionView, auction_view
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.service.lookup import get_one, lock_one, moderates, voids
from saleroom.bidding.service.recording import advance
from saleroom.bidding.storage import auctions, bids, event_log
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.storage.database import Transaction


class VoidableBid(Struct, frozen=True):
    """A bidder's own bid that stands; automatic bids go with it."""

    version: int
    bidder: str
    amount: Decimal
    at: datetime


class ModeratedLot(Struct, frozen=True, kw_only=True):
    """A lot as staff see it, the newest bids that stand first, and whether they may hide it or void bids."""

    auction: AuctionView
    bids: list[VoidableBid]
    moderates: bool
    voids: bool
    can_hide: bool
    can_show: bool


_encode = msgspec.json.Encoder().encode


def void_bid(
    tx: Transaction, token: str, gid: str, version: int, reason: str, asked: IdempotencyKey | None = None
) -> bytes:
    """Void the bid at `version` of an open auction, and return the JSON of the auction. Other bids wait for its lock.

    Raises Unauthenticated, MissingRight, UnknownAuction, IdempotencyMismatch, BidsThere, and as `domain.voiding.void`.
    """
    authenticate(tx, token, Right.VOID_BIDS)
    auction = lock_one(tx, gid)
    staff = authenticate(tx, token, Right.VOID_BIDS)  # they may have lost it while others held the lock

    def act() -> bytes:
        book = BidBook(event_log.read(tx, auction.id))
        book.refuse_bidder(staff.id)
        after = advance(tx, auction, voiding.void(auction, book, version, reason, tx.now()))
        bids.void(tx, auction.id, book.numbers[version], reason)
        audit.note(tx, staff, Act.BID_VOIDED, gid, _standing(auction), {"voided": version, **_standing(after)}, reason)
        return _encode(auction_view(after))

    return once(tx, staff, asked, act)


def hide(tx: Transaction, token: str, gid: str, reason: str, asked: IdempotencyKey | None = None) -> bytes:
    """Hide an auction, and return its JSON as staff see it.

    Raises Unauthenticated, MissingRight, UnknownAuction, IdempotencyMismatch, and as `domain.moderation.hide`.
    """
    return _decide(tx, token, gid, asked, Act.LOT_HIDDEN, reason)


def show(tx: Transaction, token: str, gid: str, asked: IdempotencyKey | None = None) -> bytes:
    """Show a hidden auction again, and return its JSON. Raises as `hide`, and as `domain.moderation.show`."""
    return _decide(tx, token, gid, asked, Act.LOT_SHOWN)


def cancel(tx: Transaction, token: str, gid: str, reason: str, asked: IdempotencyKey | None = None) -> bytes:
    """Cancel an auction that is not over, and return its JSON. Raises as `hide`, and as `domain.moderation.cancel`."""
    return _decide(tx, token, gid, asked, Act.SALE_CANCELLED, reason)


def overview(tx: Transaction, token: str | None, gid: str, right: Right = Right.MODERATE_LOTS) -> ModeratedLot:
    """Return an auction with what the caller, who has this `right`, may do about it.

    Raises Unauthenticated, MissingRight or UnknownAuction.
    """
    staff = authenticate(tx, token, right)
    auction = get_one(tx, gid)
    standing = [] if auction.over or not voids(staff) else list(BidBook(event_log.read(tx, auction.id)).open_bids())
    return ModeratedLot(
        auction=auction_view(auction, staff=True),
        bids=[VoidableBid(version, bid.bidder, bid.amount, bid.at) for version, bid in reversed(standing)],
        moderates=moderates(staff),
        voids=voids(staff),
        can_hide=not auction.is_hidden,
        can_show=auction.is_hidden and (auction.withheld or not auction.over),
    )


def _decide(tx: Transaction, token: str, gid: str, asked: IdempotencyKey | None, what: Act, reason: str = "") -> bytes:
    authenticate(tx, token, Right.MODERATE_LOTS)
    auction = lock_one(tx, gid)
    staff = authenticate(tx, token, Right.MODERATE_LOTS)  # as in `void_bid`

    def act() -> bytes:
        now = tx.now()
        if auction.over and what is not Act.SALE_CANCELLED:
            after = _withhold(tx, auction, reason) if what is Act.LOT_HIDDEN else _restore(tx, auction)
            audit.note(tx, staff, what, gid, _visible(auction), _visible(after), reason)
            return _encode(auction_view(after, staff=True))
        if what is Act.LOT_HIDDEN:
            events = moderation.hide(auction, reason, now)
        elif what is Act.LOT_SHOWN:
            events = moderation.show(auction, now)
        else:
            events = moderation.cancel(auction, reason, now)
        after = advance(tx, auction, events)
        audit.note(tx, staff, what, gid, _visible(auction), _visible(after), reason)
        return _encode(auction_view(after, staff=True))

    return once(tx, staff, asked, act)


def _withhold(tx: Transaction, auction: Auction, reason: str) -> Auction:
    """Hide an auction that is over. Its ledger has ended, so no event says it; brokers let go of its state."""
    moderation.refuse_to_withhold(auction)
    event_log.LOG.end_retention(tx, auction.id)
    return auctions.withhold(tx, auction, reason)


def _restore(tx: Transaction, auction: Auction) -> Auction:
    moderation.refuse_to_restore(auction)
    return auctions.withhold(tx, auction, None)


def _standing(auction: Auction) -> Facts:
    """Return what a void changes, without names of users."""
    price = None if auction.current_bid is None else str(auction.current_bid)
    return {"price": price, "leader": None if auction.leader is None else auction.leader.id}


def _visible(auction: Auction) -> Facts:
    return {"status": auction.status.value, "hidden": auction.is_hidden}
