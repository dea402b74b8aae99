"""Results of lots that were sold by outcry, entered afterwards (docs/rules.md, "Entering results", number by number).

A result is a call, a bid of the hall and the hammer, in this order: `bidding/domain/calling.py` decides each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from saleroom.bidding.domain import calling
from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.bidding import BidRequest, place_bid
from saleroom.bidding.domain.block_events import AuctionCalled
from saleroom.bidding.domain.errors import NothingToUndo
from saleroom.bidding.domain.events import Channel, Event
from saleroom.bidding.domain.voiding import BidBook
from saleroom.kernel.parties import Party
from saleroom.sales.domain.block import is_state
from saleroom.sales.domain.errors import (
    AbsenteeBidStands,
    AlreadyDecided,
    PriceBelowReserve,
    ResultChanged,
    UnusualPrice,
)
from saleroom.sales.domain.lots import Lot

LINE_LOTS_MAX = 100
"""The most lots of one result."""
NO_LOT = "The result was taken back, and the lot was made for it."
"""Why a lot that was made on the spot is withdrawn, unless staff give another reason. Everybody can read it."""
UNUSUAL_TIMES = 10
"""A price of so many times the estimate is more often a slip of the finger than a price."""


class Below(StrEnum):
    """What happens to a lot whose price is below the reserve: the seller decides, or it is passed."""

    CONDITIONAL = "conditional"
    PASSED = "passed"


class Result(Struct, frozen=True, kw_only=True):
    """How lots were sold: at a price to a bidder, or neither if they were passed.

    `channel` is how its bid came: in the hall or by telephone. `below` is what happens below the reserve, None to be asked.
    `is_sure` tells that an unusual price is right, and `against` is the maximum of a bid that people have decided against.
    """

    price: Decimal | None = None
    bidder: Party | None = None
    channel: Channel = Channel.FLOOR
    below: Below | None = None
    is_sure: bool = False
    against: Decimal | None = None


def stands(auction: Auction, result: Result) -> bool:
    """Return whether the lot has this result already, so that entering it changes nothing."""
    if auction.status is not Status.CLOSED:
        return False
    if result.price is None or result.bidder is None:
        return auction.unsold
    leads = auction.leader is not None and auction.leader.id == result.bidder.id
    if auction.unsold and result.below is not Below.PASSED:
        return False
    return leads and auction.current_bid == result.price


def refuse_if_decided(lot: Lot, auction: Auction, seen: str | None) -> None:
    """Raise AlreadyDecided with the lot's result, unless there is none or `seen` is its tag."""
    if auction.status is Status.CLOSED and not _is_seen(auction, seen):
        sold = not auction.unsold
        raise AlreadyDecided(
            label=lot.label,
            outcome=auction.outcome,
            price=auction.current_bid if sold else None,
            bidder=auction.leader.name if sold and auction.leader is not None else None,
            tag=auction.tag,
        )


def refuse_if_changed(lot: Lot, auction: Auction, seen: str | None) -> None:
    """Raise ResultChanged unless the lot has the result that it had at the tag `seen`."""
    if auction.status is not Status.CLOSED or not _is_seen(auction, seen):
        raise ResultChanged(label=lot.label)


def _is_seen(auction: Auction, seen: str | None) -> bool:
    return seen is not None and is_state(auction, seen)


def usual_below(lot: Lot, auction: Auction) -> Decimal:
    """Return the price from which on people are asked whether it is right."""
    estimate = lot.entry.estimate_to or lot.entry.estimate_from
    return UNUSUAL_TIMES * (estimate or auction.starting_price)


def decide(lot: Lot, auction: Auction, log: Sequence[Event], result: Result, now: datetime) -> list[Event]:
    """Return the events of a result on a lot that is neither closed nor on the block.

    `log` is its whole log. Raises UnusualPrice, AbsenteeBidStands, PriceBelowReserve, and as `calling.call` and
    `bidding.place_bid` do.
    """
    made = calling.call(auction, now)
    called = auction.after_all(made)
    if result.price is None or result.bidder is None:
        made += _cleared(lot, called, log, result, now) if _sellable(called) else []
        return [*made, *calling.pass_(auction.after_all(made), now)]
    limit = usual_below(lot, auction)
    if result.price >= limit and not result.is_sure:
        raise UnusualPrice(label=lot.label, limit=limit)
    made += _bid(lot, called, log, result, now)
    bid = auction.after_all(made)
    if bid.reserve_met is not False:
        return [*made, *calling.sell(bid, now)]
    if result.below is None:
        raise PriceBelowReserve(label=lot.label, reserve_price=auction.reserve_price)
    hammer = calling.pass_ if result.below is Below.PASSED else calling.sell_conditionally
    return [*made, *hammer(bid, now)]


def take_back(auction: Auction, log: Sequence[Event], now: datetime) -> list[Event]:
    """Return the events that take a result back: its acts are undone, the last first, until the lot is off the block.

    Bids that came online while the lot was on the block stand; then its call is not undone, and it leaves the block as a
    skipped lot does. Raises as `calling.undo`: NothingToUndo for a lot that the seller has decided on, or that was reopened.
    """
    made: list[Event] = []
    while not made or auction.block is not None:
        try:
            undone = calling.undo(auction, [*log, *made], now)
        except NothingToUndo:
            if not made:
                raise
            undone = calling.skip(auction, now)
        made += undone
        auction = auction.after_all(undone)
    return made


def made_on_the_spot(log: Sequence[Event]) -> bool:
    """Return whether the entry of its result has made a lot: it was called in the instant in which it was made."""
    return len(log) > 1 and isinstance(log[1], AuctionCalled) and log[1].at == log[0].at


def _bid(lot: Lot, called: Auction, log: Sequence[Event], result: Result, now: datetime) -> list[Event]:
    """Return the bid of the hall on a lot that was just called; nothing if its bidder leads at this price already."""
    price, bidder, leader = result.price, result.bidder, called.leader
    assert price is not None and bidder is not None, "the lot is sold"
    made: list[Event] = []
    if leader is not None and called.current_bid is not None and called.maximum is not None:
        own = leader.id == bidder.id
        if own and called.current_bid == price:
            return []
        if price < called.current_bid if own else price <= called.maximum:
            made = _cleared(lot, called, log, result, now)
        elif own:  # their bid in the hall takes the place of the one from outside it
            made = calling.retract(called, BidBook(log), leader, now)
    made += calling.ask(called.after_all(made), price, now)
    request = BidRequest(price, None, channel=result.channel)
    return [*made, *place_bid(called.after_all(made), bidder, request, now)]


def _sellable(called: Auction) -> bool:
    return called.leader is not None and called.reserve_met is not False


def _cleared(lot: Lot, called: Auction, log: Sequence[Event], result: Result, now: datetime) -> list[Event]:
    """Return the retraction of a bid that stands against a result. Raises AbsenteeBidStands unless people decided that.

    They decided on the maximum that they saw: raising it is no public event, so no tag would tell.
    """
    leader = called.leader
    assert leader is not None, "a bid stands"
    if result.against != called.maximum:
        raise AbsenteeBidStands(
            label=lot.label, bidder=leader.name, current_bid=called.current_bid, maximum=called.maximum
        )
    return calling.retract(called, BidBook(log), leader, now)
