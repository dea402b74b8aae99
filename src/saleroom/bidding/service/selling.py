"""Seller's forms: a preview of a lot, which writes nothing, and an amendment of terms and photos at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from saleroom.accounts.domain.rights import Right, Sellers
from saleroom.accounts.service.accounts import authenticate
from saleroom.bidding.domain import selling
from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.categories import refuse_unknown
from saleroom.bidding.domain.photos import Photo
from saleroom.bidding.domain.preconditions import Precondition
from saleroom.bidding.domain.selling import Draft
from saleroom.bidding.domain.views import AuctionView, auction_view
from saleroom.bidding.service import auctions as use_cases
from saleroom.bidding.service import drafts, photos
from saleroom.bidding.service.auctions import OfferingRules
from saleroom.bidding.service.lookup import get_one, get_own
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.storage.database import Transaction


class Offer(Struct, frozen=True):
    """A lot with all its terms for its seller: as it is, or as a preview."""

    auction: Auction
    view: AuctionView
    photos: list[Photo]


class Amendment(Struct, frozen=True):
    """Changes to a lot and its photos from then on. `seen` is the state that they are for; None for any."""

    changes: dict[str, Any]
    photo_ids: Sequence[str]
    seen: Precondition | None = None


def refuse_to_offer(tx: Transaction, token: str | None, sellers: Sellers) -> None:
    """Raise as `service.auctions.create` if the holder of `token` may not offer lots in a house with these sellers."""
    authenticate(tx, token, Right.SELL).refuse_to_offer(sellers)


def preview(
    tx: Transaction,
    token: str | None,
    draft: Draft,
    photo_ids: Sequence[str],
    rules: OfferingRules,
) -> Offer:
    """Return the lot that `draft` would become. Raises as `service.auctions.create`."""
    account = authenticate(tx, token, Right.SELL)
    account.refuse_to_offer(rules.sellers)
    refuse_unknown(draft.category, rules.categories)
    event = selling.create("preview", account.party, draft, tx.now())
    return _offer(begin(0, event), photos.own(tx, token or "", photo_ids))


def publish(
    tx: Transaction,
    token: str,
    draft_gid: str,
    draft: Draft,
    asked: IdempotencyKey | None,
    photo_ids: Sequence[str],
    rules: OfferingRules,
) -> bytes:
    """Create an auction and delete its draft, both or neither. Returns and raises as `service.auctions.create`."""
    made = use_cases.create(tx, token, draft, asked, tuple(photo_ids), rules)
    drafts.remove(tx, token, draft_gid)
    return made


def preview_amended(
    tx: Transaction,
    token: str | None,
    gid: str,
    wanted: Amendment,
    categories: Collection[str] = (),
) -> Offer:
    """Return the lot that an amendment would make of this one. Raises as `service.auctions.amend`."""
    account = authenticate(tx, token, Right.SELL)
    found = get_one(tx, gid)
    events = selling.amend(found, account.party, wanted.changes, tx.now(), wanted.seen)
    refuse_unknown(wanted.changes.get("category"), categories, was=found.category)
    return _offer(found.after_all(events), photos.own(tx, token or "", wanted.photo_ids))


def offered(tx: Transaction, token: str | None, gid: str) -> Offer:
    """Return a lot to its author. Raises Unauthenticated, UnknownAuction or NotAuthor."""
    found = get_own(tx, gid, authenticate(tx, token, Right.SELL).party)
    return _offer(found, photos.of_lot(tx, gid))


def refuse_unless_amendable(tx: Transaction, token: str | None, gid: str) -> None:
    """Raise as `domain.selling.amend` does if the holder of `token` may not change or cancel the lot."""
    selling.refuse_unless_amendable(get_one(tx, gid), authenticate(tx, token, Right.SELL).party, tx.now())


def amend(
    tx: Transaction,
    token: str,
    gid: str,
    wanted: Amendment,
    categories: Collection[str] = (),
) -> None:
    """Change a lot's terms and its photos, both or neither, and delete the draft of these changes.

    Raises as `service.auctions.amend` and `photos.arrange`.
    """
    use_cases.amend(tx, token, gid, wanted.changes, wanted.seen, categories)
    photos.arrange(tx, token, gid, wanted.photo_ids)
    drafts.remove(tx, token, gid)


def _offer(auction: Auction, pictures: list[Photo]) -> Offer:
    return Offer(auction, auction_view(auction, own=True), pictures)
