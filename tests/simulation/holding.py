"""Holds the sale of a seed: its draft is made and published, and its first guests are let in, before anything happens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec import structs

from saleroom.bidding.domain.events import SoftClose
from saleroom.kernel.parties import Party
from saleroom.sales.domain.lots import Entry, Lot, LotTerms
from saleroom.sales.domain.needs import Need
from saleroom.sales.domain.sale import Kind, Names, Registration, Sale, SaleTerms
from saleroom.sales.service import managing
from saleroom.sales.service.people import participants
from saleroom.sales.service.people.participants import Newcomer
from saleroom.sales.storage import lots, sales
from saleroom.storage.database import Transaction
from tests.bidding.domain.oracle import DEFAULT_TIERS, Oracle, Terms
from tests.bidding.domain.playing import T0, at, ladder, money
from tests.histories import PEOPLE
from tests.simulation.block_oracle import LiveOracle
from tests.simulation.desk_entries import NEED, need_of
from tests.simulation.evenings import GUESTS, Evening, evening
from tests.simulation.model import ModelAuction
from tests.simulation.need_model import NeedModel
from tests.simulation.plan_entries import CLERKS, STAFF
from tests.simulation.sale_model import SALE, SaleModel
from tests.simulation.world import World


def hold_evening(world: World, tx: Transaction) -> None:
    """Publish the sale of the seed, and tell the model of it."""
    plan, model = evening(world.plan.seed), world.judge.model
    draft = Sale(
        id=0, gid=SALE, owner=Party(world.users[STAFF], PEOPLE[STAFF]), terms=_terms(plan), created_at=tx.now()
    )
    stored = sales.add(tx, draft)
    in_order = [_lot(stored, rank, one) for rank, one in enumerate(plan.lots, 1)]
    if plan.live:
        place, levels = need_of(world.plan.seed)
        in_order.insert(place, _need(stored, len(in_order) + 1, levels))
    lots.add(tx, [structs.replace(lot, rank=rank) for rank, lot in enumerate(in_order, 1)])
    managing.publish(tx, world.tokens[STAFF], SALE)
    sale = model.sale = SaleModel(
        model,
        plan.live,
        plan.names,
        plan.registration,
        plan.limit,
        plan.spacing * 1_000_000 if plan.following else None,
        None if plan.opens is None else int(plan.opens * 1_000_000),
        events=[("sale.published",)],
    )
    for number, terms in enumerate(plan.lots, 1):
        gid = f"lot-{number}"
        world.gids[number] = gid
        oracle = LiveOracle(terms) if plan.live else Oracle(_opening(terms, plan))
        model.auctions[gid] = ModelAuction(STAFF, oracle, 0)
        sale.labels[gid] = str(number)
    sale.order = [lot.gid for lot in in_order]
    if plan.live:
        sale.labels[NEED], sale.needs[NEED] = str(len(in_order)), NeedModel(need_of(world.plan.seed)[1])
    if not plan.live:
        sale.settle(0)
    for limit, (who, paddle) in zip(plan.limits, GUESTS.items(), strict=True):
        newcomer = Newcomer(name=f"Guest {who}", paddle=paddle, limit=None if limit is None else money(limit))
        known = participants.admit(tx, world.tokens[CLERKS[0]], SALE, newcomer)
        model.people[known.participant.user.id] = who
        model.decided("admit", (world.tokens[CLERKS[0]], SALE, newcomer), known, tx.now())


def _need(sale: Sale, number: int, levels: tuple[int, ...]) -> Lot:
    lot = _lot(sale, number, Terms(min(levels), None, None, None, None, None, DEFAULT_TIERS))
    return structs.replace(lot, gid=NEED, need=Need(levels=tuple(money(level) for level in levels)))


def _opening(terms: Terms, plan: Evening) -> Terms:
    starts = None if plan.opens is None else int(plan.opens * 1_000_000)
    return Terms(terms.starting, terms.reserve, None, terms.soft_close, starts, terms.ends, terms.tiers)


def _terms(plan: Evening) -> SaleTerms:
    first = plan.lots[0]
    soft = first.soft_close
    said: dict[str, Any] = {
        "title": "An evening",
        "kind": Kind.LIVE if plan.live else Kind.TIMED,
        "starts_at": T0 + timedelta(days=1) if first.ends is None else at(first.ends),
        "opens_at": None if plan.opens is None else T0 + timedelta(seconds=plan.opens),
        "spacing": plan.spacing,
        "soft_close": None if soft is None else SoftClose(soft.window, soft.extension, None),
        "following": plan.following,
        "ladder": ladder(first.tiers),
        "names": Names(plan.names),
        "registration": Registration(plan.registration),
        "limit_default": None if plan.limit is None else money(plan.limit),
    }
    return SaleTerms(**said)


def _lot(sale: Sale, rank: int, terms: Terms) -> Lot:
    reserve = None if terms.reserve is None else money(terms.reserve)
    return Lot(
        id=0,
        gid=f"lot-{rank}",
        sale_id=sale.id,
        auction_id=None,
        rank=rank,
        entry=Entry(label=str(rank)),
        terms=LotTerms(name=f"Lot {rank}", starting_price=money(terms.starting), reserve_price=reserve),
        withdrawn_for=None,
        created_at=sale.created_at,
    )
