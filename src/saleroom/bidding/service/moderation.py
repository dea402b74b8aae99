"""Moderation: what those who run the house do about a lot, or about a bid on it."""

from __future__ import annotations

import msgspec

from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain import voiding
from saleroom.bidding.domain.views import auction_view
from saleroom.bidding.domain.voiding import BidBook
from saleroom.bidding.service.lookup import lock_one
from saleroom.bidding.service.recording import advance
from saleroom.bidding.storage import bids, event_log
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


def void_bid(
    tx: Transaction, token: str, gid: str, version: int, reason: str, asked: IdempotencyKey | None = None
) -> bytes:
    """Void the bid at `version` of an open auction, and return the JSON of the auction. Other bids wait for its lock.

    Raises Unauthenticated, MissingRight, UnknownAuction, IdempotencyMismatch, and as `domain.voiding.void`.
    """
    staff = authenticate(tx, token, Right.VOID_BIDS)
    auction = lock_one(tx, gid)

    def act() -> bytes:
        book = BidBook(event_log.read(tx, auction.id))
        after = advance(tx, auction, voiding.void(auction, book, version, reason, tx.now()))
        bids.void(tx, auction.id, book.numbers[version], reason)
        return _encode(auction_view(after))

    return once(tx, staff, asked, act)
