"""Lots of a sale: added, changed, withdrawn, with their photos."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs
from sqlalchemy.exc import IntegrityError

from saleroom.accounts.domain.accounts import Holder
from saleroom.accounts.domain.audit import Act
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.bidding.domain import moderation, selling
from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.categories import refuse_unknown
from saleroom.bidding.domain.photos import refuse_bad_list
from saleroom.bidding.service import photos as auction_photos
from saleroom.bidding.service.recording import advance
from saleroom.bidding.storage import photos
from saleroom.kernel.errors import Invalid
from saleroom.kernel.identifiers import GID_BYTES, IdempotencyKey
from saleroom.sales.domain import events
from saleroom.sales.domain.errors import LabelTaken, UnknownConsignor
from saleroom.sales.domain.labels import next_label
from saleroom.sales.domain.lots import (
    Entry,
    Lot,
    LotTerms,
    refuse_contradictory_estimate,
    refuse_if_withdrawn,
)
from saleroom.sales.domain.needs import (
    Need,
    Stage,
    amended,
    refuse_need_in,
    refuse_terms_of_auctions,
    refuse_to_withdraw,
)
from saleroom.sales.domain.order import refuse_to_renumber
from saleroom.sales.domain.publication import end_of_another, refuse_contradictory_lot, refuse_to_add
from saleroom.sales.domain.sale import Sale, refuse_if_over
from saleroom.sales.domain.views import LotView, lot_view
from saleroom.sales.service.access import get_lot, lock_one
from saleroom.sales.service.managing import put_up
from saleroom.sales.service.needs import given
from saleroom.sales.service.people.own_lots import refuse_consignor
from saleroom.sales.storage import consignors, lots, pledges, sales
from saleroom.storage.database import Transaction
from saleroom.storage.faults import TryAgain

_encode = msgspec.json.Encoder().encode


class NewLot(Struct, frozen=True, kw_only=True):
    """A lot to be added; without a label it gets the next number. `consignor` is a code, `photos` are ids."""

    terms: LotTerms
    need: Need | None = None
    label: str | None = None
    consignor: str | None = None
    entry: dict[str, Any] = {}
    photos: Sequence[str] = ()


def add(
    tx: Transaction,
    token: str,
    gid: str,
    new: NewLot,
    asked: IdempotencyKey | None = None,
    categories: Collection[str] = (),
) -> bytes:
    """Add a lot to a sale, at the end of its order, and return its JSON; `categories` are the house's.

    In a published sale it becomes an auction at once. Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale,
    UnknownConsignor, LabelTaken, SaleOver, StandsStill, TooManyLots, Invalid or Contradiction.
    """
    staff = authenticate(tx, token, Right.CATALOGUE)
    sale = lock_one(tx, gid)

    def act() -> bytes:
        lot = put_in(tx, staff, sale, [new], categories)[0]
        audit.note(tx, staff, Act.LOT_ADDED, gid, {}, {"label": lot.label, "name": new.terms.name})
        return _encode(_view(tx, lot))

    return once(tx, staff, asked, act)


def drafted(tx: Transaction, sale: Sale, new: Sequence[tuple[Entry, LotTerms, Need | None]]) -> list[Lot]:
    """Return new lots of a locked sale, which are no auctions yet, behind those that there are. Nothing is stored."""
    now, rank = tx.now(), lots.last_rank(tx, sale.id)
    return [
        Lot(
            id=0,
            gid=secrets.token_urlsafe(GID_BYTES),
            sale_id=sale.id,
            auction_id=None,
            rank=rank + place,
            entry=entry,
            terms=terms,
            withdrawn_for=None,
            created_at=now,
            need=need,
        )
        for place, (entry, terms, need) in enumerate(new, 1)
    ]


def put_in(tx: Transaction, staff: Holder, sale: Sale, new: Sequence[NewLot], categories: Collection[str]) -> list[Lot]:
    """Add lots to a locked sale, at the end of its order, and return them. Raises as `add`; nothing is noted."""
    taken = lots.labels(tx, sale.id)
    refuse_to_add(sale, len(taken) + len(new))
    now, known = tx.now(), set(taken)
    said = []
    for one in new:
        label = next_label(known) if one.label is None else one.label
        if label in known:
            raise LabelTaken(label=label)
        known.add(label)
        entry = structs.replace(Entry(label=label, consignor_id=_consignor(tx, one.consignor)), **one.entry)
        refuse_contradictory_estimate(entry)
        refuse_unknown(one.terms.category, categories)
        refuse_contradictory_lot(sale, one.terms, now)
        if one.need is not None:
            refuse_need_in(sale, one.need)
        said.append((entry, one.terms, one.need))
    made = drafted(tx, sale, said)
    try:
        lots.add(tx, made)
    except IntegrityError as error:
        raise TryAgain("the gid of a lot was taken") from error
    stored = lots.with_labels(tx, sale.id, [lot.label for lot in made])
    for lot, one in zip(stored, new, strict=True):
        if one.photos:
            arrange_draft(tx, staff, sale, lot, one.photos)
    return stored if sale.is_draft else _offer(tx, sale, stored)


def change(
    tx: Transaction,
    token: str,
    gid: str,
    label: str,
    changes: dict[str, Any],
    categories: Collection[str] = (),
) -> bytes:
    """Change a lot of a sale and return its JSON; `changes` are fields of the form, by their names in the domain.

    The terms of a lot with an auction can be changed before the first bid. Raises as `add`, UnknownLot, WithdrawnAlready,
    ConsignorBids, and as `selling.amend` and `photos.put_on`.
    """
    staff = authenticate(tx, token, Right.CATALOGUE)
    sale = lock_one(tx, gid)
    lot = get_lot(tx, sale, label)
    after = change_lot(tx, staff, sale, lot, changes, categories)
    before, now = (_noted(tx, one) for one in (lot, after))
    audit.note(tx, staff, Act.LOT_CHANGED, gid, {"label": lot.label, **before}, {"label": after.label, **now})
    return _encode(_view(tx, after))


def change_lot(
    tx: Transaction, staff: Holder, sale: Sale, lot: Lot, changes: dict[str, Any], categories: Collection[str]
) -> Lot:
    """Change a lot of a locked sale, and return it. Raises as `change`; nothing is noted."""
    refuse_if_over(sale)
    refuse_if_withdrawn(lot)
    after = structs.replace(lot, entry=_changed_entry(tx, staff, sale, lot, changes))
    terms = {name: value for name, value in changes.items() if name in LotTerms.__struct_fields__}
    if asked := {name: value for name, value in changes.items() if name in ("levels", "goal")}:
        after = structs.replace(after, need=amended(lot.asked, asked, pledged=pledges.last_number(tx, lot.id) > 0))
        terms["starting_price"] = min(after.asked.levels)
    if lot.terms is not None:
        if lot.need is not None:
            refuse_terms_of_auctions(changes)
        after = structs.replace(after, terms=structs.replace(lot.terms, **terms))
        refuse_unknown(terms.get("category"), categories, was=lot.terms.category)
        refuse_contradictory_lot(sale, structs.replace(lot.terms, **terms), tx.now())
        if "photos" in changes:
            arrange_draft(tx, staff, sale, lot, changes["photos"])
    elif terms or "photos" in changes:
        auction = _locked(tx, lot)
        if terms:
            auction = _amend(tx, sale, auction, terms, categories)
        if "photos" in changes:
            _put_photos(tx, staff, sale, auction, changes["photos"])
    if after != lot:
        lots.save(tx, [after])
    if _public_differs(lot, after) and not sale.is_draft:
        sales.record(tx, sale, [events.LotAmended(at=tx.now(), lot=lot.gid, label=after.label)])
    return after


def _changed_entry(tx: Transaction, staff: Holder, sale: Sale, lot: Lot, changes: dict[str, Any]) -> Entry:
    own = {name: value for name, value in changes.items() if name in _ENTRY}
    if "consignor" in changes:
        own["consignor_id"] = _consignor_of(tx, staff, lot, changes["consignor"])
    entry = structs.replace(lot.entry, **own)
    refuse_contradictory_estimate(entry)
    if entry.label != lot.label:
        refuse_to_renumber(sale)
        if lots.find(tx, sale.id, entry.label) is not None:
            raise LabelTaken(label=entry.label)
    return entry


def _public_differs(lot: Lot, after: Lot) -> bool:
    """Return whether the sale changed something of a lot that everybody sees. Its consignor is not public."""
    if lot.need is not None and (after.need, after.terms) != (lot.need, lot.terms):
        return True
    return structs.replace(after.entry, consignor_id=None) != structs.replace(lot.entry, consignor_id=None)


def withdraw(
    tx: Transaction, token: str, gid: str, label: str, reason: str, asked: IdempotencyKey | None = None
) -> bytes:
    """Withdraw a lot for good, and return its JSON. Its auction is cancelled, also with bids.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, UnknownLot, SaleOver, WithdrawnAlready or
    AuctionOver.
    """
    staff = authenticate(tx, token, Right.CATALOGUE)
    sale = lock_one(tx, gid)

    def act() -> bytes:
        now = tx.now()
        refuse_if_over(sale)
        lot = get_lot(tx, sale, label)
        refuse_if_withdrawn(lot)
        for auction in lots.lock_auctions(tx, [lot]).values():
            advance(tx, auction, moderation.cancel(auction, reason, now))
        if lot.need is not None:
            refuse_to_withdraw(lot.need, pledges.tallies(tx, [lot.id])[lot.id])
        after = structs.replace(lot, withdrawn_for=reason)
        if lot.need is not None and sale.is_draft:
            after = structs.replace(after, need=structs.replace(lot.need, stage=Stage.NEVER_OFFERED))
        lots.save(tx, [after])
        if not sale.is_draft:
            said = events.LotWithdrawn(at=now, lot=lot.gid, label=label, reason=reason)
            sales.record(tx, sale, [said])
        audit.note(tx, staff, Act.LOT_WITHDRAWN, gid, {"label": label}, {"label": label}, reason)
        return _encode(_view(tx, after))

    return once(tx, staff, asked, act)


def arrange_draft(tx: Transaction, staff: Holder, sale: Sale, lot: Lot, ids: Sequence[str]) -> None:
    """Put exactly these photos on a lot without an auction; they are the sale's owner's from then on.

    Raises Invalid (field `photos`).
    """
    refuse_bad_list(ids)
    own = lots.photos_of(tx, [lot.id])[lot.id]
    found = {one.photo.id: one for one in own}
    for owner_id in {staff.id, sale.owner.id}:
        found |= photos.of_owner(tx, owner_id, ids, lock=True)
    if not found.keys() >= set(ids):
        raise Invalid.one("photos", "unknown_photo", "must be photos that you have sent and that are still kept")
    kept = [found[one] for one in ids]
    if lots.have_other_photos(tx, lot, [one.id for one in kept]) or any(one.auction_id is not None for one in kept):
        raise Invalid.one("photos", "photo_in_use", "must not be on another lot; send the picture once more")
    photos.let_go(tx, [one.id for one in own if one.photo.id not in ids], tx.now())
    photos.take_over(tx, [one.id for one in kept], sale.owner.id)
    lots.place_photos(tx, lot, [one.id for one in kept])


def _amend(
    tx: Transaction, sale: Sale, auction: Auction, terms: dict[str, Any], categories: Collection[str]
) -> Auction:
    """Change the terms of the auction of a lot, and return it."""
    refuse_unknown(terms.get("category"), categories, was=auction.category)
    shown = auction_photos.logged(tx, auction) if "category" in terms else ()
    return advance(tx, auction, selling.amend(auction, sale.owner, terms, tx.now(), None, shown))


def _put_photos(tx: Transaction, staff: Holder, sale: Sale, auction: Auction, ids: Sequence[str]) -> None:
    """Put exactly these photos on the auction of a lot; they are the sale's owner's from then on."""
    mine = photos.of_owner(tx, staff.id, ids, lock=True)
    photos.take_over(tx, [one.id for one in mine.values() if one.auction_id is None], sale.owner.id)
    auction_photos.put_on(tx, Holder(id=sale.owner.id, username=sale.owner.name), auction, ids)


def _offer(tx: Transaction, sale: Sale, added: Sequence[Lot]) -> list[Lot]:
    """Make auctions of lots that were added to a published sale, and tell of them."""
    ends = [one.auction.ends_at for one in lots.offered(tx, sale.id) if one.auction is not None]
    plan, now = [], tx.now()
    for lot in (one for one in added if one.need is None):
        end = end_of_another(sale, ends)
        ends.append(end)
        plan.append((lot, end))
    put_up(tx, sale, plan, now)
    sales.record(tx, sale, [events.LotAdded(at=now, lot=lot.gid, label=lot.label) for lot in added])
    return lots.with_labels(tx, sale.id, [lot.label for lot in added])


def _locked(tx: Transaction, lot: Lot) -> Auction:
    return lots.lock_auctions(tx, [lot])[lot.gid]


def _consignor_of(tx: Transaction, staff: Holder, lot: Lot, code: str | None) -> int | None:
    """Return the number of the consignor whom a lot is to get. Raises UnknownConsignor, ConsignorBids or MissingRight."""
    found = _consignor(tx, code)
    if found != lot.entry.consignor_id:
        refuse_consignor(tx, lot, found)
        # Its price is owed to the consignor, so another consignor is another payee.
        if any(one.over for one in lots.lock_auctions(tx, [lot]).values()):
            staff.refuse_without(Right.SETTLE)
    return found


def _consignor(tx: Transaction, code: str | None) -> int | None:
    if code is None:
        return None
    found = consignors.find(tx, code)
    if found is None:
        raise UnknownConsignor
    return found.id


def _noted(tx: Transaction, lot: Lot) -> dict[str, str | None]:
    """Return what the audit log says of a lot."""
    view = msgspec.to_builtins(_view(tx, lot))
    return {
        name: view[name]
        for name in ("name", "startingPrice", "reservePrice", "estimateFrom", "estimateTo", "consignor")
    }


def _view(tx: Transaction, lot: Lot) -> LotView:
    one = lots.with_auctions(tx, [lot])[0]
    number = lot.entry.consignor_id
    code = None if number is None else consignors.codes(tx, [number])[number]
    return lot_view(lot, one.auction, consignor=code, staff=True, given=given(tx, [lot], staff=True).get(lot.id))


_ENTRY = frozenset({"label", "estimate_from", "estimate_to", "tax_scheme"})
"""What a form says of a lot beside the terms of its auction; the consignor comes by the code."""
