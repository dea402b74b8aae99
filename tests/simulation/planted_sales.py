"""Faults in the rules of sales, as people make them; `planted.py` has the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from msgspec import structs

from saleroom.bidding.domain import auction as auction_as_value
from saleroom.bidding.domain import bidding, calling, voiding
from saleroom.bidding.domain.auction import refuse_if_over
from saleroom.bidding.domain.block_events import ActUndone, AuctionSkipped, Stage
from saleroom.bidding.domain.events import Outcome
from saleroom.sales.domain import block as block_of_sale
from saleroom.sales.domain import clocks
from saleroom.sales.domain.block import Act
from saleroom.sales.domain.participants import Standing
from saleroom.sales.service import ordering
from saleroom.sales.service.live import block
from saleroom.sales.service.people import admission as admission_of_sales
from tests.simulation.planted import plant
from tests.simulation.world import PROCESS

admission: Any = admission_of_sales
auctions_as_values: Any = auction_as_value


@plant(5)
@contextmanager
def any_ask() -> Iterator[None]:
    """An online bid at another ask is taken."""
    place = bidding.place_bid

    def anything(auction: Any, bidder: Any, request: Any, now: Any) -> Any:
        lot = auction if request.channel is not None else structs.replace(auction, block=None)
        return place(lot, bidder, request, now)

    with patch.object(bidding, "place_bid", anything):
        yield


@plant(2)
@contextmanager
def after_the_hammer() -> Iterator[None]:
    """A bid after the hammer is taken."""

    def late(auction: Any, now: Any, received_at: Any = None) -> None:
        if auction.ends_at is not None or auction.outcome is None:
            refuse_if_over(auction, now, received_at)

    with patch.object(bidding, "refuse_if_over", late):
        yield


@plant(17)
def sold_to_the_floor() -> Any:
    """A lot is sold without a paddle."""
    return patch.object(calling, "_refuse_unknown_bidder", lambda auction: None)


@plant(5)
@contextmanager
def sold_below_the_reserve() -> Iterator[None]:
    """A lot is sold below its reserve, and the seller is not asked."""

    def sell(auction: Any, now: Any) -> Any:
        now = auction.not_before(now)
        calling._refuse_to_sell(auction, now)
        return [calling._closed(auction, Outcome.SOLD, now)]

    with patch.dict(block._SIMPLE, {Act.SELL_CONDITIONALLY: sell}):
        yield


@plant(2)
def undone_bid_leads() -> Any:
    """An undone bid goes on leading."""
    return patch.object(voiding.BidBook, "without", lambda self, auction, version: auction)


@plant(2)
@contextmanager
def revived_by_a_retraction() -> Iterator[None]:
    """A retraction revives the bid before."""
    retract = calling.retract

    def reviving(auction: Any, book: Any, bidder: Any, now: Any) -> Any:
        event: Any = retract(auction, book, bidder, now)[0]
        again = book.without(auction, event.retracted)
        leader = again.leader
        return [
            ActUndone(
                at=event.at,
                undone=event.retracted,
                act="bid.placed",
                stage=Stage.CALLED,
                current_bid=again.current_bid,
                current_bidder=None if leader is None else leader.name,
                current_bid_at=again.current_bid_at,
                minimum_bid=again.least_above(again.current_bid),
                reserve_met=again.reserve_met,
                leader_id=None if leader is None else leader.id,
                maximum=again.maximum,
            )
        ]

    with patch.object(calling, "retract", reviving):
        yield


@plant(2)
def stale_act() -> Any:
    """A clerk acts on a state of the block that is gone."""
    return patch.object(block_of_sale, "refuse_unless_seen", lambda last, seen: None)


@plant(5)
def repeated_act() -> Any:
    """A repeated act of a clerk is done twice."""
    return patch.object(block, "once", lambda tx, staff, key, do: do())


@plant(2)
@contextmanager
def bids_lost_by_a_skip() -> Iterator[None]:
    """A skipped lot loses its bids."""
    changes = auctions_as_values.block_changes

    def losing(event: Any, ask: Any, bids: int) -> Any:
        gone = ("current_bid", "current_bid_at", "leader", "maximum") if isinstance(event, AuctionSkipped) else ()
        return {**changes(event, ask, bids), **dict.fromkeys(gone)}

    with patch.object(auctions_as_values, "block_changes", losing):
        yield


@plant(2)
@contextmanager
def two_on_the_block() -> Iterator[None]:
    """A lot is called while another one is on the block."""
    called = block_of_sale.called

    def another(sale: Any, last: Any, lot: Any, now: Any) -> Any:
        return called(sale, None, lot, now)

    with patch.object(block_of_sale, "called", another):
        yield


@plant(11)
@contextmanager
def limit_for_each_lot() -> Iterator[None]:
    """A limit ignores the other lots."""
    refuse = admission.refuse_beyond

    def alone(limit: Any, exposure: Any, lot_id: int, asked: Any) -> None:
        refuse(limit, structs.replace(exposure, by_lot={lot_id: exposure.on(lot_id)}), lot_id, asked)

    with patch.object(admission, "refuse_beyond", alone):
        yield


@plant(11)
@contextmanager
def exposure_of_before() -> Iterator[None]:
    """The exposure is counted outside the transaction that decides."""
    read = admission.participants.commitments

    def before(tx: Any, sale_ids: Any, user_ids: Any) -> Any:
        known = PROCESS.get(SimpleNamespace()).__dict__.setdefault("owed", {})
        fresh = read(tx, sale_ids, user_ids)
        found = {key: known.get(key, fresh.get(key, {})) for key in {*known, *fresh}}
        known.update({(sale, user): fresh.get((sale, user), {}) for sale in sale_ids for user in user_ids})
        return found

    with patch.object(admission.participants, "commitments", before):
        yield


@plant(2)
@contextmanager
def declined_may_bid() -> Iterator[None]:
    """A declined paddle may bid."""
    refuse = admission.refuse_to_bid

    def admit(sale: Any, participant: Any) -> None:
        if participant is None or participant.standing is not Standing.DECLINED:
            refuse(sale, participant)

    with patch.object(admission, "refuse_to_bid", admit):
        yield


@plant(4)
def ends_stay() -> Any:
    """Ends do not follow those before them."""
    return patch.object(clocks, "earliest_ends", lambda in_order, spacing: iter(()))


@plant(4)
def numbers_change_in_a_running_sale() -> Any:
    """Lots get other numbers while people bid by them."""
    return patch.object(ordering, "refuse_to_renumber", lambda sale: None)
