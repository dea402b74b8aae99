"""The reasons why bids were decided as they were, in words for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from saleroom.kernel.money import ZERO

Words = tuple[str | Decimal, ...]
"""A text in parts, in which amounts are numbers, so that each reader writes them in its own way."""


class BidReason(Struct, frozen=True, kw_only=True):
    """A bid, or a hidden raise of the leader's limit (`amount` None), and the `words` on why it was decided so.

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
    words: Words

    @property
    def why(self) -> str:
        """The words, with amounts as on the wire."""
        return said(self.words)


def said(words: Words, money: Callable[[Decimal], str] = str) -> str:
    """Return `words` as text, with amounts written by `money`."""
    return "".join(money(part) if isinstance(part, Decimal) else part for part in words)


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
                words=words + _reserve(before, event) + (() if event.automatic else _extended(made)),
            )
        elif isinstance(event, MaximumRaised) and before.leader is not None:
            yield _raised(before, event, made, number)


def conclusion(auction: Auction, money: Callable[[Decimal], str] = str) -> str:
    """Return how `auction` ended, or that it is not over, with amounts written by `money`."""
    return said(_conclusion(auction), money)


def _conclusion(auction: Auction) -> Words:
    match auction.status:
        case Status.CANCELLED:
            return (_cancelled(auction),)
        case Status.CLOSED if auction.outcome is Outcome.SOLD and auction.leader is not None:
            return f"sold to {auction.leader.name} at ", auction.current_bid or ZERO
        case Status.CLOSED if auction.outcome is Outcome.CONDITIONAL and auction.leader is not None:
            price = auction.current_bid or ZERO
            return f"below the reserve: the seller decides on the bid of {auction.leader.name}, ", price
        case Status.CLOSED if auction.outcome is Outcome.RESERVE_NOT_MET:
            reserve, price = auction.reserve_price or ZERO, auction.current_bid or ZERO
            return "not sold: the reserve of ", reserve, " was not met, the highest bid was ", price
        case Status.CLOSED:
            return ("not sold: every bid was voided",) if auction.bid_count else ("not sold: nobody bid",)
    return (f"not over: it is {auction.status}",)


def _cancelled(auction: Auction) -> str:
    if auction.cancelled_for is not None:
        return f"cancelled by the house: {auction.cancelled_for}"
    if auction.is_hidden and auction.closed_at == auction.ends_at:
        return "cancelled at its end, as the house had taken it down"
    return "cancelled by its author before any bid"


def _automatic(bid: BidPlaced, made: Sequence[Event]) -> Words:
    """Return why the house bid for the leader, which is always because of a request."""
    request = next(each for each in made if isinstance(each, BidPlaced) and not each.automatic)
    if request.leading:
        return (f"goes up to the whole maximum, which {request.bidder} outbids",)
    if request.maximum == bid.maximum:
        return (f"{request.bidder} asks for as much: at a tie the earlier keeps the lead",)
    return f"holds off {request.bidder}'s ", request.amount


def _asked(before: Auction, bid: BidPlaced, made: Sequence[Event]) -> Words:
    """Return why a request was decided so."""
    if isinstance(made[-1], AuctionClosed):
        return ("bought at the buy-now price",)
    if before.leader is None or before.maximum is None:
        return ("leads, as every bid before was voided",) if before.bid_count else ("leads as the first bid",)
    if bid.leading:
        return f"outbids the maximum of {before.leader.name}, ", before.maximum
    if bid.maximum == before.maximum:
        return (f"ties with the maximum of {before.leader.name}: the earlier keeps the lead",)
    answer = next(each for each in made if isinstance(each, BidPlaced) and each.automatic)
    return f"held off by {answer.bidder}'s automatic bid at ", answer.amount


def _raised(before: Auction, event: MaximumRaised, made: Sequence[Event], number: int) -> BidReason:
    words: Words = ("raises the own maximum from ", before.maximum or ZERO)
    if any(isinstance(each, ReserveMet) for each in made):
        words += ("; the price is lifted to the reserve of ", before.reserve_price or ZERO)
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
        words=words,
    )


def _reserve(before: Auction, bid: BidPlaced) -> Words:
    if not bid.leading or not bid.reserve_met or before.reserve_met or before.reserve_price is None:
        return ()
    if bid.amount == before.reserve_price:
        return "; lifted to the reserve of ", bid.amount
    return "; the reserve of ", before.reserve_price, " is met"


def _extended(made: Sequence[Event]) -> Words:
    return tuple(f"; soft close extended to {instant(e.ends_at)}" for e in made if isinstance(e, AuctionExtended))
