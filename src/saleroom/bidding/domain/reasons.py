"""The reasons why bids were decided as they were, in words for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.events import (
    AuctionClosed,
    AuctionExtended,
    BidPlaced,
    Event,
    MaximumRaised,
    Outcome,
    ReserveMet,
)
from saleroom.kernel.instants import instant


class BidReason(Struct, frozen=True, kw_only=True):
    """A bid, or a hidden raise of the leader's limit (`amount` None), and `why` it was decided so.

    `index` is that of its event, from 0; `limit` is the maximum behind the bid.
    """

    index: int
    at: datetime
    received_at: datetime | None
    bidder: str
    amount: Decimal | None
    limit: Decimal
    automatic: bool
    leading: bool
    why: str


def reasons(before: Auction, made: Sequence[Event], index: int) -> Iterator[BidReason]:
    """Yield the reasons of the bids among `made`, the events of one decision on `before`; the first has this `index`."""
    for number, event in enumerate(made, index):
        if isinstance(event, BidPlaced):
            words = _automatic(event, made) if event.automatic else _asked(before, event, made)
            yield BidReason(
                index=number,
                at=event.at,
                received_at=event.received_at,
                bidder=event.bidder,
                amount=event.amount,
                limit=event.maximum,
                automatic=event.automatic,
                leading=event.leading,
                why="; ".join([words, *_reserve(before, event), *(() if event.automatic else _extended(made))]),
            )
        elif isinstance(event, MaximumRaised) and before.leader is not None:
            yield _raised(before, event, made, number)


def conclusion(auction: Auction) -> str:
    """Return how `auction` ended, or that it is not over."""
    match auction.status:
        case Status.CANCELLED:
            return "cancelled by its author before any bid"
        case Status.CLOSED if auction.outcome is Outcome.SOLD and auction.leader is not None:
            return f"sold to {auction.leader.name} at {auction.current_bid}"
        case Status.CLOSED if auction.outcome is Outcome.RESERVE_NOT_MET:
            return f"not sold: the reserve of {auction.reserve_price} was not met, the highest bid was {auction.current_bid}"
        case Status.CLOSED:
            return "not sold: nobody bid"
    return f"not over: it is {auction.status}"


def _automatic(bid: BidPlaced, made: Sequence[Event]) -> str:
    """Return why the house bid for the leader, which is always because of a request."""
    request = next(each for each in made if isinstance(each, BidPlaced) and not each.automatic)
    if request.leading:
        return f"goes up to the whole maximum, which {request.bidder} outbids"
    if request.maximum == bid.maximum:
        return f"{request.bidder} asks for as much: at a tie the earlier keeps the lead"
    return f"holds off {request.bidder}'s {request.amount}"


def _asked(before: Auction, bid: BidPlaced, made: Sequence[Event]) -> str:
    """Return why a request was decided so."""
    if isinstance(made[-1], AuctionClosed):
        return "bought at the buy-now price"
    if before.leader is None:
        return "leads as the first bid"
    if bid.leading:
        return f"outbids the maximum of {before.leader.name}, {before.maximum}"
    if bid.maximum == before.maximum:
        return f"ties with the maximum of {before.leader.name}: the earlier keeps the lead"
    answer = next(each for each in made if isinstance(each, BidPlaced) and each.automatic)
    return f"held off by {answer.bidder}'s automatic bid at {answer.amount}"


def _raised(before: Auction, event: MaximumRaised, made: Sequence[Event], number: int) -> BidReason:
    words = f"raises the own maximum from {before.maximum}"
    if any(isinstance(each, ReserveMet) for each in made):
        words += f"; the price is lifted to the reserve of {before.reserve_price}"
    assert before.leader is not None, "only a leader raises"
    return BidReason(
        index=number,
        at=event.at,
        received_at=event.received_at,
        bidder=before.leader.name,
        amount=None,
        limit=event.maximum,
        automatic=False,
        leading=True,
        why=words,
    )


def _reserve(before: Auction, bid: BidPlaced) -> Iterator[str]:
    if bid.leading and bid.reserve_met and not before.reserve_met:
        lifted = bid.amount == before.reserve_price
        yield f"lifted to the reserve of {bid.amount}" if lifted else f"the reserve of {before.reserve_price} is met"


def _extended(made: Sequence[Event]) -> Iterator[str]:
    for event in made:
        if isinstance(event, AuctionExtended):
            yield f"soft close extended to {instant(event.ends_at)}"
