"""Auctions of their authors: create, amend, cancel, announce the end, close."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.domain.accounts import Account
from saleroom.accounts.domain.rights import Right, Sellers
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.accounts.storage import accounts
from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.categories import refuse_unknown
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.domain.views import auction_view
from saleroom.bidding.service.changes import counted
from saleroom.bidding.service.lookup import lock_to_change
from saleroom.bidding.service.photos import logged, put_on
from saleroom.bidding.service.reading import AuctionJson, for_author
from saleroom.bidding.service.recording import advance, begin_ledger
from saleroom.bidding.storage import auctions
from saleroom.kernel.chain import PSEUDONYMS, SEED_BYTES
from saleroom.kernel.identifiers import GID_BYTES, IdempotencyKey
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

_encode = msgspec.json.Encoder().encode


class OfferingRules(Struct, frozen=True):
    """What a house asks of those who offer lots: who they are, the categories they choose from, and how many lots each has."""

    sellers: Sellers = Sellers.EVERYONE
    categories: Collection[str] = ()
    auctions_max: int | None = None
    """How many auctions one author may run at a time and create in a day; None is for any number."""


OPEN_TO_ALL = OfferingRules()


def new_seed() -> str:
    """Return the seed of a new ledger, which nobody can guess."""
    return PSEUDONYMS + secrets.token_hex(SEED_BYTES)


def create(
    tx: Transaction,
    token: str,
    draft: Draft,
    asked: IdempotencyKey | None,
    photos: Sequence[str] = (),
    rules: OfferingRules = OPEN_TO_ALL,
) -> bytes:
    """Create an auction, with `photos` (ids) on it, and return its JSON, as its author sees it.

    Raises Unauthenticated, MissingRight, SellerNotApproved, OnlyStaffSells, IdempotencyMismatch, TooManyAuctions, or Invalid
    if the terms contradict each other or the clock, or if the lot cannot have the photos (field `photos`).
    """
    account = authenticate(tx, token, Right.SELL)
    account.refuse_to_offer(rules.sellers)

    def begin() -> bytes:
        refuse_unknown(draft.category, rules.categories)
        gid, seed = secrets.token_urlsafe(GID_BYTES), new_seed()
        if rules.auctions_max is not None:
            _refuse_too_many(tx, account, rules.auctions_max)
        event = selling.create(gid, account.party, draft, tx.now(), seed)
        try:
            auction = begin_ledger(tx, event)
        except IntegrityError as error:
            raise TryAgain("the gid was taken") from error
        if photos:
            auction = put_on(tx, account, auction, photos)
        return _shown(auction)

    return once(tx, account, asked, begin)


def amend(
    tx: Transaction,
    token: str,
    gid: str,
    changes: dict[str, Any],
    seen: Precondition | None = None,
    categories: Collection[str] = (),
) -> AuctionJson:
    """Change an auction before its first bid and return it as its author sees it; `categories` are the house's.

    Raises as `domain.selling.amend` and `refuse_unknown`, UnknownAuction, and TooManyChanges.
    """
    account = authenticate(tx, token, Right.SELL)
    auction = lock_to_change(tx, gid, account.party)
    photos = logged(tx, auction) if "category" in changes else ()
    events = selling.amend(auction, account.party, changes, tx.now(), seen, photos)
    refuse_unknown(changes.get("category"), categories, was=auction.category)
    return for_author(counted(tx, auction, advance(tx, auction, events)))


def cancel(tx: Transaction, token: str, gid: str, seen: Precondition | None = None) -> None:
    """Cancel an auction before its first bid; the row and its history stay. Raises as `domain.selling.cancel`."""
    account = authenticate(tx, token, Right.SELL)
    auction = lock_to_change(tx, gid, account.party)
    advance(tx, auction, selling.cancel(auction, account.party, tx.now(), seen))


def close(
    tx: Transaction,
    token: str,
    gid: str,
    ends_at: datetime | None,
    asked: IdempotencyKey | None,
    seen: Precondition | None = None,
) -> bytes:
    """Close an auction without an end now, or announce that it ends at `ends_at`; return its JSON.

    Raises as `domain.selling.close_now` and `announce_end`, UnknownAuction and IdempotencyMismatch.
    """
    account = authenticate(tx, token, Right.SELL)
    auction = lock_to_change(tx, gid, account.party)

    def act() -> bytes:
        author, now = account.party, tx.now()
        if ends_at is None:
            return _shown(advance(tx, auction, selling.close_now(auction, author, now, seen)))
        return _shown(advance(tx, auction, selling.announce_end(auction, author, ends_at, now, seen)))

    return once(tx, account, asked, act)


def _refuse_too_many(tx: Transaction, account: Account, most: int) -> None:
    # Two requests of one author wait for each other here, so that only one of them takes the last place.
    accounts.lock_user(tx, account.id)
    earlier = auctions.created_before_last(tx, account.id, most)
    selling.refuse_too_many(auctions.count_running(tx, account.id, most), earlier, most, tx.now())


def _shown(auction: Auction) -> bytes:
    return _encode(auction_view(auction, own=True))
