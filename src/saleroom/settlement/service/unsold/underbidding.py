"""Offers to underbidders: each lot of a sale that was not sold to who came closest, seen first and then done at once."""

from __future__ import annotations

import secrets
from datetime import datetime
from decimal import Decimal

import msgspec
from msgspec import Struct

from saleroom.accounts.domain.accounts import Account as Staff
from saleroom.accounts.domain.rights import Right
from saleroom.accounts.service.idempotency import once
from saleroom.kernel.errors import Refusal
from saleroom.kernel.identifiers import GID_BYTES, IdempotencyKey
from saleroom.sales.domain.participants import Participant
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service import results
from saleroom.sales.service.access import lock_as
from saleroom.sales.storage import lots, participants
from saleroom.sales.storage.lots import OfferedLot
from saleroom.settlement.domain.errors import PlanChanged
from saleroom.settlement.domain.unsold.offer_views import LeftOutLotView, PlannedOfferView, UnderbidderPlanView
from saleroom.settlement.domain.unsold.offers import Offer, refuse_end
from saleroom.settlement.domain.unsold.underbidding import LeftOut, Otherwise, Terms, price_for, tag_of
from saleroom.settlement.service.unsold.offering import record, refuse_unless_unsold
from saleroom.storage.database import Transaction

_encode = msgspec.json.Encoder().encode


class PlannedOffer(Struct, frozen=True):
    """A lot that is offered to somebody at a price."""

    lot: OfferedLot
    to: Participant
    paddle: int
    price: Decimal


class Plan(Struct, frozen=True):
    """What is offered, and which lots are left out, each with the reason: a refusal, or one of `LeftOut`."""

    offers: list[PlannedOffer]
    left_out: list[tuple[OfferedLot, Refusal | LeftOut]]

    @property
    def tag(self) -> str:
        """What the plan is known by: another one is not done in its place."""
        return tag_of((one.lot.lot.label, one.paddle, one.price) for one in self.offers)


class SeenPlan(Struct, frozen=True):
    """A plan that somebody has seen, by its tag, and until when its offers can be accepted."""

    otherwise: Otherwise
    until: datetime
    tag: str


def preview(tx: Transaction, token: str, gid: str, otherwise: Otherwise) -> Plan:
    """Return what would be offered to whom, and which lots are left out; nothing is done, but the sale is locked for it.

    Raises Unauthenticated, MissingRight or UnknownSale.
    """
    _, sale = lock_as(tx, token, gid, Right.MANAGE_SALES)
    return _plan(tx, sale, otherwise)


def offer_all(tx: Transaction, token: str, gid: str, seen: SeenPlan, key: IdempotencyKey | None = None) -> bytes:
    """Make the offers of a plan that somebody has seen, and return its JSON.

    Raises Unauthenticated, MissingRight, IdempotencyMismatch, UnknownSale, Contradiction for a time that no offer has, or
    PlanChanged if the plan is another one by now.
    """
    staff, sale = lock_as(tx, token, gid, Right.MANAGE_SALES)

    def do() -> bytes:
        refuse_end(seen.until, tx.now())
        plan = _plan(tx, sale, seen.otherwise)
        if plan.tag != seen.tag:
            raise PlanChanged
        for one in plan.offers:
            _make(tx, staff, sale, one, seen.until)
        return _encode(view_of(sale.gid, plan))

    return once(tx, staff, key, do)


def _make(tx: Transaction, staff: Staff, sale: Sale, one: PlannedOffer, until: datetime) -> None:
    made = Offer(
        id=0,
        gid=secrets.token_urlsafe(GID_BYTES),
        lot_id=one.lot.lot.id,
        user_id=one.to.user.id,
        price=one.price,
        offered_at=tx.now(),
        until=until,
    )
    record(tx, staff, sale, one.lot.lot, made, [one.to])


def _plan(tx: Transaction, sale: Sale, otherwise: Otherwise) -> Plan:
    """Return the plan of a locked sale, its lots in the order of calling."""
    paddles = {one.user.id: one for one in participants.with_paddles(tx, sale.id)}
    plan = Plan([], [])
    for one in lots.offered(tx, sale.id):
        auction = one.auction
        if auction is None or not auction.over or not auction.unsold or one.lot.is_withdrawn:
            continue
        if auction.leader is None or auction.current_bid is None:
            plan.left_out.append((one, LeftOut.NO_BID))
            continue
        to = paddles.get(auction.leader.id)
        if to is None or to.paddle is None:
            plan.left_out.append((one, LeftOut.NO_PADDLE))
            continue
        terms = Terms(
            highest_bid=auction.current_bid,
            reserve_price=auction.reserve_price,
            lower_estimate=one.lot.entry.estimate_from,
        )
        price = price_for(terms, otherwise)
        try:
            refuse_unless_unsold(tx, sale, one.lot)
            results.refuse_to_sell_after(tx, sale, one.lot.label, to.paddle, price)
        except Refusal as refused:
            plan.left_out.append((one, refused))
            continue
        plan.offers.append(PlannedOffer(one, to, to.paddle, price))
    return plan


def view_of(sale: str, plan: Plan) -> UnderbidderPlanView:
    """Return a plan as JSON has it."""
    return UnderbidderPlanView(
        sale=sale,
        planned_offers=[
            PlannedOfferView(
                label=one.lot.lot.label,
                lot_name=_name(one.lot),
                paddle=one.paddle,
                person_name=one.to.name or one.to.user.name,
                offer_price=f"{one.price:.3f}",
            )
            for one in plan.offers
        ],
        left_out_lots=[
            LeftOutLotView(
                label=lot.lot.label, lot_name=_name(lot), why=why.value if isinstance(why, LeftOut) else why.code
            )
            for lot, why in plan.left_out
        ],
        plan_tag=plan.tag,
    )


def _name(one: OfferedLot) -> str:
    return "" if one.auction is None else one.auction.name
