"""After-sale offers: staff offer a lot that was not sold to somebody, who accepts or declines within a time.

A lot that is accepted is sold as by a result that staff enter: in the log of the lot, and then in the journal.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from saleroom.accounts.domain.accounts import Account as User
from saleroom.accounts.domain.audit import Act, Facts
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service import audit
from saleroom.accounts.service.accounts import authenticate
from saleroom.accounts.service.idempotency import once
from saleroom.kernel.identifiers import GID, GID_BYTES, IdempotencyKey
from saleroom.kernel.instants import instant
from saleroom.outbox.kinds import MailKind, Sign
from saleroom.outbox.message import Word
from saleroom.sales.domain.errors import LotGone, UnknownPaddle
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.participants import Participant, Standing
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service import results
from saleroom.sales.service.access import get_lot, get_one, lock_as, lock_one
from saleroom.sales.service.results import Handover
from saleroom.sales.storage import consignors, lots, participants, sales
from saleroom.sales.storage.lots import OfferedLot
from saleroom.settlement.domain.errors import LotOffered, LotSold, NobodyToOffer, OfferEnded, UnknownOffer
from saleroom.settlement.domain.unsold.offer_views import (
    GoneLotView,
    NextSaleView,
    OffersView,
    OfferView,
    OwnOffersView,
    UnsoldLotView,
)
from saleroom.settlement.domain.unsold.offers import NewOffer, Offer, OfferState, refuse_end
from saleroom.settlement.service import money_mails
from saleroom.settlement.service.billing import OfferBilling
from saleroom.settlement.service.journal import bring_up_to_date
from saleroom.settlement.storage import after_sale, offers
from saleroom.settlement.storage.after_sale import Departure
from saleroom.storage.database import Transaction

MINE = "/mine/offers"
"""The page of a person's own offers, to which mails lead."""
SALES_SHOWN = 50
People = Mapping[tuple[int, int], Participant]
"""Participants by the numbers of sale and user."""
_ACCEPTED = "The offer after the sale was accepted."
_encode = msgspec.json.Encoder().encode


def listed(tx: Transaction, token: str | None, gid: str) -> OffersView:
    """Return the lots of a sale that can be offered, and its offers. Raises Unauthenticated, MissingRight or UnknownSale."""
    return offers_view(tx, _managed(tx, token, gid))


def overview(tx: Transaction, token: str | None, gid: str) -> tuple[str, OffersView]:
    """Return the title of a sale, and what `listed` returns. Raises what `listed` raises."""
    sale = _managed(tx, token, gid)
    return sale.terms.title, offers_view(tx, sale)


def _managed(tx: Transaction, token: str | None, gid: str) -> Sale:
    authenticate(tx, token, Right.READ).refuse_without(Right.MANAGE_SALES)
    return get_one(tx, gid, staff=True)


def offer(tx: Transaction, token: str, gid: str, new: NewOffer, key: IdempotencyKey | None = None) -> bytes:
    """Offer a lot that was not sold at a price, and return the JSON of all offers of the sale.

    Nothing is offered that could not be accepted now. Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale,
    UnknownLot, LotSold, LotOffered, NobodyToOffer, Contradiction, and as `results.hand_over` does.
    """
    staff, sale = lock_as(tx, token, gid, Right.MANAGE_SALES)

    def do() -> bytes:
        now = tx.now()
        refuse_end(new.until, now)
        lot = get_lot(tx, sale, new.label)
        refuse_unless_unsold(tx, sale, lot)
        receivers = _receivers(tx, sale, lot, new.paddle)
        results.refuse_to_sell_after(tx, sale, new.label, receivers[0].paddle or 0, new.price)
        made = Offer(
            id=0,
            gid=secrets.token_urlsafe(GID_BYTES),
            lot_id=lot.id,
            user_id=None if new.paddle is None else receivers[0].user.id,
            to_all=new.paddle is None,
            price=new.price,
            offered_at=now,
            until=new.until,
        )
        record(tx, staff, sale, lot, made, receivers)
        return _encode(offers_view(tx, sale))

    return once(tx, staff, key, do)


def record(tx: Transaction, staff: User, sale: Sale, lot: Lot, made: Offer, receivers: Sequence[Participant]) -> None:
    """Keep an offer that staff has made, and tell those who get it."""
    offers.add(tx, made, staff.id)
    for one in receivers:
        money_mails.post(tx, "offer", made.gid, one.user.id, {"offer": made.gid})
    facts: Facts = {
        "lot": lot.label,
        "price": str(made.price),
        "until": instant(made.until),
        "user": made.user_id or "all",
    }
    audit.note(tx, staff, Act.OFFER_MADE, sale.gid, {}, facts)


def withdraw(tx: Transaction, token: str, gid: str, key: IdempotencyKey | None = None) -> bytes:
    """Take an offer back that nobody has answered, and return the JSON of all offers of the sale.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownOffer or OfferEnded.
    """
    staff = authenticate(tx, token, Right.MANAGE_SALES)
    sale, _ = _locked(tx, gid)

    def do() -> bytes:
        found = _open(tx, gid)
        offers.settle(tx, found.id, OfferState.WITHDRAWN)
        audit.note(tx, staff, Act.OFFER_WITHDRAWN, sale.gid, {"offer": gid, "user": found.user_id or "all"}, {})
        return _encode(offers_view(tx, sale))

    return once(tx, staff, key, do)


def mine(tx: Transaction, token: str | None, places: int) -> OwnOffersView:
    """Return the offers to the caller, the latest first. Raises Unauthenticated."""
    viewer = authenticate(tx, token, Right.READ)
    return _own(tx, viewer, places)


def answer(
    tx: Transaction, token: str, gid: str, accepted: bool, places: int, key: IdempotencyKey | None = None
) -> bytes:
    """Accept or decline an offer, and return the JSON of the caller's own offers. A lot that is accepted is theirs.

    An offer to all stays open if one of them declines it. Raises Unauthenticated, MissingRight, Barred, IdempotencyMismatch,
    UnknownOffer for one of somebody else, OfferEnded, and as `results.hand_over` does.
    """
    viewer = authenticate(tx, token, Right.BID)
    sale, known = _locked(tx, gid)
    participant = participants.find(tx, sale.id, viewer.id)
    paddle = None if participant is None else participant.paddle
    if not offers.is_for(tx, known.id, viewer.id):
        raise UnknownOffer

    def do() -> bytes:
        found = _open(tx, gid, viewer.id)
        if not accepted:
            if not found.to_all:
                offers.settle(tx, found.id, OfferState.DECLINED)
            return _encode(_own(tx, viewer, places))
        one = next(one for one in lots.offered(tx, sale.id) if one.lot.id == found.lot_id)
        _refuse_sold(one)
        if paddle is None:
            raise OfferEnded(state=OfferState.EXPIRED.value)
        results.hand_over(tx, viewer, sale, Handover(one.lot.label, paddle, _ACCEPTED, found.price))
        offers.accept(tx, found.id, viewer.id)
        bring_up_to_date(tx, sale, viewer.id, places)
        return _encode(_own(tx, viewer, places))

    return once(tx, viewer, key, do)


def _locked(tx: Transaction, gid: str) -> tuple[Sale, Offer]:
    """Lock the sale of an offer. Raises UnknownOffer."""
    found = offers.find(tx, gid)
    if found is None:
        raise UnknownOffer
    return lock_one(tx, sales.by_id(tx, found[0]).gid), found[1]


def _receivers(tx: Transaction, sale: Sale, lot: Lot, paddle: int | None) -> list[Participant]:
    """Return to whom a lot is offered: to one paddle, or to all who may bid on it. Raises UnknownPaddle or NobodyToOffer."""
    if paddle is not None:
        participant = participants.with_paddle(tx, sale.id, paddle)
        if participant is None:
            raise UnknownPaddle(paddle=paddle)
        return [participant]
    brought = consignors.by_ids(tx, [one for one in (lot.entry.consignor_id,) if one is not None])
    owners = {sale.owner.id, *(one.user_id for one in brought.values())}
    found = [
        one
        for one in participants.with_paddles(tx, sale.id)
        if one.standing in (Standing.APPROVED, Standing.LIMITED) and one.user.id not in owners
    ]
    if not found:
        raise NobodyToOffer
    return found


def _open(tx: Transaction, gid: str, viewer_id: int | None = None) -> Offer:
    """Return an offer of a locked sale. Raises OfferEnded unless it is open."""
    found = offers.find(tx, gid)
    assert found is not None, "offers are not deleted"
    state = found[1].state(tx.now(), viewer_id)
    if state is not OfferState.OPEN:
        raise OfferEnded(state=state.value)
    return found[1]


def refuse_unless_unsold(tx: Transaction, sale: Sale, lot: Lot) -> None:
    """Raise why nothing can be done with a lot of a locked sale as one that was not sold: LotSold, LotGone or LotOffered."""
    now = tx.now()
    _refuse_sold(lots.with_auctions(tx, [lot])[0])
    if lot.id in after_sale.of_sale(tx, sale.id):
        raise LotGone(label=lot.label)
    if any(one.lot_id == lot.id and one.state(now) is OfferState.OPEN for one in offers.of_sale(tx, sale.id)):
        raise LotOffered


def _refuse_sold(one: OfferedLot) -> None:
    """Raise LotSold unless a lot is over and was not sold."""
    if one.auction is None or not one.auction.over or not one.auction.unsold or one.lot.is_withdrawn:
        raise LotSold


def offers_view(tx: Transaction, sale: Sale) -> OffersView:
    """Return what can be offered, what was, and what became of other lots."""
    offered, now = lots.offered(tx, sale.id), tx.now()
    paddles = {one.user.id: one.paddle for one in participants.with_paddles(tx, sale.id)}
    found = offers.of_sale(tx, sale.id)
    gone = after_sale.of_sale(tx, sale.id)
    taken = {*gone, *(one.lot_id for one in found if one.state(now) is OfferState.OPEN)}
    unsold = [
        UnsoldLotView(
            label=one.lot.label,
            lot_name=auction.name,
            highest_bid=None if auction.current_bid is None else f"{auction.current_bid:.3f}",
            paddle=None if auction.leader is None else paddles.get(auction.leader.id),
        )
        for one in offered
        if (auction := one.auction) is not None
        and auction.over
        and auction.unsold
        and not one.lot.is_withdrawn
        and one.lot.id not in taken
    ]
    by_lot = {one.lot.id: one for one in offered}
    people = _people(tx, [(sale.id, one) for one in found])
    views = [offer_view(sale, by_lot[one.lot_id], one, people, now) for one in found]
    gone_lots = [_gone_view(by_lot[number], one) for number, one in gone.items()]
    return OffersView(
        sale=sale.gid,
        is_timed=sale.is_timed,
        lots_to_offer=unsold,
        gone_lots=gone_lots,
        next_sales=_next(tx, sale),
        offers=views,
    )


def _next(tx: Transaction, sale: Sale) -> list[NextSaleView]:
    latest = sales.newest(tx, public_only=False, limit=SALES_SHOWN)
    return [
        NextSaleView(sale=one.gid, sale_title=one.terms.title) for one in latest if not one.over and one.id != sale.id
    ]


def _gone_view(lot: OfferedLot, one: Departure) -> GoneLotView:
    return GoneLotView(
        label=lot.lot.label,
        lot_name="" if lot.auction is None else lot.auction.name,
        gone_at=instant(one.at),
        next_sale=one.sale,
        next_sale_title=one.title,
        next_label=one.label,
    )


def _own(tx: Transaction, viewer: User, places: int) -> OwnOffersView:
    found, now = offers.of_user(tx, viewer.id), tx.now()
    of_sales = sales.by_ids(tx, {sale_id for sale_id, _ in found})
    offered = {sale_id: lots.offered(tx, sale_id) for sale_id in of_sales}
    by_lot = {one.lot.id: one for some in offered.values() for one in some}
    open_in = {sale_id for sale_id, one in found if one.state(now, viewer.id) is OfferState.OPEN}
    billings = {one: OfferBilling(tx, of_sales[one], offered[one], viewer.id, places) for one in open_in}
    shown, people = [], _people(tx, found)
    for sale_id, one in found:
        lot = by_lot[one.lot_id]
        view = offer_view(of_sales[sale_id], lot, one, people, now, viewer.id)
        if one.state(now, viewer.id) is OfferState.OPEN:
            total = billings[sale_id].due(lot, one.price)
            view = msgspec.structs.replace(view, offer_total=f"{total:.3f}")
        shown.append(view)
    return OwnOffersView(offers=shown)


def _people(tx: Transaction, some: Sequence[tuple[int, Offer]]) -> People:
    """Return the participants whom these offers name, each offer with the number of its sale."""
    pairs = {(sale_id, one.user_id) for sale_id, one in some if one.user_id is not None}
    return participants.of_pairs(tx, pairs, locked=False)


def offer_view(
    sale: Sale, lot: OfferedLot, one: Offer, people: People, now: datetime, viewer_id: int | None = None
) -> OfferView:
    """Return an offer as JSON has it. One of those whom an offer to all is for does not see who has accepted it."""
    others = one.to_all and viewer_id is not None and viewer_id != one.user_id
    person = None if others or one.user_id is None else people.get((sale.id, one.user_id))
    return OfferView(
        offer=one.gid,
        sale=sale.gid,
        sale_title=sale.terms.title,
        label=lot.lot.label,
        lot_name="" if lot.auction is None else lot.auction.name,
        lot_gid=lot.lot.gid if lot.auction is None else lot.auction.gid,
        paddle=None if person is None else person.paddle,
        person_name="" if person is None else person.name or person.user.name,
        offer_price=f"{one.price:.3f}",
        offer_total=None,
        offered_at=instant(one.offered_at),
        offer_until=instant(one.until),
        offer_state=one.state(now, viewer_id).value,
        to_all=one.to_all,
    )


def _said(tx: Transaction, word: Word, sign: Sign) -> Mapping[str, Any] | None:
    """Return what the mail about an offer says; None once it has ended."""
    gid = str(word.facts.get("offer"))
    found = offers.find(tx, gid) if GID.fullmatch(gid) is not None else None
    if found is None or not (found[1].to_all or found[1].user_id == word.receiver):
        return None
    if found[1].state(tx.now()) is not OfferState.OPEN:
        return None
    sale_id, one = found
    sale = sales.by_id(tx, sale_id)
    [lot] = [lot for lot in lots.offered(tx, sale_id) if lot.lot.id == one.lot_id]
    view = offer_view(sale, lot, one, _people(tx, [found]), tx.now())
    return {
        "lot": view.lot_name,
        "sale": view.sale_title,
        "price": view.offer_price,
        "until": view.offer_until,
        "path": MINE,
        "data": {
            "offer": view.offer,
            "sale": view.sale,
            "saleTitle": view.sale_title,
            "label": view.label,
            "lotName": view.lot_name,
            "offerPrice": view.offer_price,
            "offerUntil": view.offer_until,
        },
    }


MAILS: tuple[MailKind, ...] = (money_mails.kind("offer", _said),)
