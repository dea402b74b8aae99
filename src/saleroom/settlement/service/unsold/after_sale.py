"""Lots that were not sold: they become lots of another sale, with their photos, or go back to their consignors."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.photos import PHOTO_ID_BYTES
from saleroom.bidding.storage import photos
from saleroom.kernel.errors import Contradiction
from saleroom.kernel.identifiers import IdempotencyKey
from saleroom.sales.domain.errors import UnknownSale
from saleroom.sales.domain.lots import Lot, LotTerms
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_lot, lock_as, lock_one
from saleroom.sales.service.lots import NewLot, put_in
from saleroom.sales.storage import consignors, lots, sales
from saleroom.settlement.domain.errors import NotReturned
from saleroom.settlement.service.journal import bring_up_to_date
from saleroom.settlement.service.unsold.offering import offers_view, refuse_unless_unsold
from saleroom.settlement.storage import after_sale
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


class Relisting(Struct, frozen=True):
    """A lot of a sale, by its label, that becomes a lot of another sale, by its gid."""

    label: str
    into: str


def put_into_next(
    tx: Transaction, token: str, gid: str, new: Relisting, places: int, key: IdempotencyKey | None = None
) -> bytes:
    """Make a lot that was not sold a lot of another sale, and return the JSON of the offers of its sale.

    The new lot has the terms, the estimate, the consignor and the photos of the old one. The result of the old one is posted
    before, so that its fees are borne there.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot, LotSold, LotGone, LotOffered,
    Contradiction, and as `lots.put_in` does.
    """
    authenticate(tx, token, Right.MANAGE_SALES)
    into = new.into
    if gid == into:
        raise Contradiction.one("sale", "same_sale", "must be another sale")
    known = {one.id: one.gid for one in (sales.get(tx, gid), sales.get(tx, into)) if one is not None}
    if len(known) < 2:
        raise UnknownSale
    both = {known[number]: lock_one(tx, known[number]) for number in sorted(known)}  # in one order: none waits for ever

    def do(staff: Staff, sale: Sale, lot: Lot) -> None:
        [one] = lots.with_auctions(tx, [lot])
        assert one.auction is not None, "it is over"
        terms = LotTerms(
            name=one.auction.name,
            starting_price=one.auction.starting_price,
            description=one.auction.description,
            reserve_price=one.auction.reserve_price,
            category=one.auction.category,
        )
        said = {name: getattr(lot.entry, name) for name in ("estimate_from", "estimate_to", "tax_scheme")}
        number = lot.entry.consignor_id
        code = None if number is None else consignors.codes(tx, [number])[number]
        again = NewLot(terms=terms, consignor=code, entry=said, photos=_copies(tx, staff, one.auction))
        [made] = put_in(tx, staff, both[into], [again], {terms.category} if terms.category is not None else ())
        bring_up_to_date(tx, sale, staff.id, places)
        after_sale.add(tx, lot.id, made.id, staff.id)
        audit.note(tx, staff, Act.LOT_RELISTED, gid, {"lot": lot.label}, {"sale": into, "lot": made.label})

    return _done(tx, token, both[gid], new.label, key, do)


def give_back(tx: Transaction, token: str, gid: str, label: str, key: IdempotencyKey | None = None) -> bytes:
    """Note that a lot that was not sold went back to its consignor, and return the JSON of the offers of the sale.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot, LotSold, LotGone or LotOffered.
    """
    authenticate(tx, token, Right.MANAGE_SALES)
    sale = lock_one(tx, gid)

    def do(staff: Staff, sale: Sale, lot: Lot) -> None:
        after_sale.add(tx, lot.id, None, staff.id)
        audit.note(tx, staff, Act.LOT_RETURNED, gid, {}, {"lot": lot.label})

    return _done(tx, token, sale, label, key, do)


def undo_return(tx: Transaction, token: str, gid: str, label: str, key: IdempotencyKey | None = None) -> bytes:
    """Take back that a lot went to its consignor, and return the JSON of the offers of the sale.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot or NotReturned.
    """
    staff, sale = lock_as(tx, token, gid, Right.MANAGE_SALES)

    def do() -> bytes:
        lot = get_lot(tx, sale, label)
        if not after_sale.undo_return(tx, lot.id):
            raise NotReturned
        audit.note(tx, staff, Act.LOT_RETURNED, gid, {"lot": lot.label}, {})
        return _encode(offers_view(tx, sale))

    return once(tx, staff, key, do)


def _done(
    tx: Transaction,
    token: str,
    sale: Sale,
    label: str,
    key: IdempotencyKey | None,
    act: Callable[[Staff, Sale, Lot], None],
) -> bytes:
    """Do something once with a lot of a locked sale that was not sold, and return the JSON of the offers of the sale."""
    staff = authenticate(tx, token, Right.MANAGE_SALES)  # they may have lost it while others held the lock

    def do() -> bytes:
        lot = get_lot(tx, sale, label)
        refuse_unless_unsold(tx, sale, lot)
        act(staff, sale, lot)
        return _encode(offers_view(tx, sale))

    return once(tx, staff, key, do)


def _copies(tx: Transaction, staff: Staff, auction: Auction) -> list[str]:
    """Return the ids of copies of the photos of a lot, in their order; they share the files."""
    ids = [one.id for one in photos.of_auction(tx, auction.id)]
    own = photos.of_owner(tx, auction.author.id, ids)
    made = [
        photos.copy(tx, staff.id, own[one], secrets.token_urlsafe(PHOTO_ID_BYTES), tx.now())
        for one in ids
        if one in own
    ]
    return [one.photo.id for one in made]
