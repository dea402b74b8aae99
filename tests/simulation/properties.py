"""The properties of the rules (docs/rules.md, "Properties"), each checked against one event after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.block import FLOOR
from saleroom.bidding.domain.block_events import ActUndone, AuctionCalled, AuctionDecided, AuctionReopened
from saleroom.bidding.domain.events import (
    AuctionAmended,
    AuctionCancelled,
    AuctionClosed,
    AuctionExtended,
    AuctionOpened,
    BidPlaced,
    BidVoided,
    Event,
    MaximumRaised,
    Outcome,
    ReserveMet,
)


@dataclass
class AuctionProperties:
    """One auction as its log tells it: everybody's limits, and the bids that have lifted the price."""

    named: dict[int, tuple[Decimal, int, int]] = field(default_factory=dict)
    """By the version of each bid that stands: the limit, minus the place in the log where it was named, and the bidder."""
    lifts: set[Decimal | None] = field(default_factory=set)
    closes: int = 0
    live: bool = False
    """Whether it was on the block: then acts are undone, and asks may fall."""

    @property
    def limits(self) -> dict[int, tuple[Decimal, int]]:
        """By bidder: the highest limit of bids that stand, and minus the place in the log where it was named."""
        return {bidder: (limit, place) for limit, place, bidder in sorted(self.named.values())}

    def faults(self, before: Auction, event: Event, after: Auction, now: datetime) -> Iterator[str]:
        """Yield the properties that `event` breaks; it was decided at `now` and took the auction from `before` to `after`."""
        if before.over and not isinstance(event, ActUndone | AuctionReopened | AuctionDecided):
            yield f"{event.TYPE} after the end"
        self.live = self.live or isinstance(event, AuctionCalled)
        if self.live:
            yield from _on_block(before, event, after)
            yield from _time(before, event, after, now)
            return
        self._note(before, event, after)
        yield from self._price(before, event, after)
        yield from _time(before, event, after, now)
        if isinstance(event, AuctionClosed):
            self.closes += 1
            yield from self._close(before, event)

    def move(self, source: int, target: int) -> None:
        """Give the limits of a person to another, who is the same: their participants were merged."""
        self.named = {
            version: (limit, place, target if bidder == source else bidder)
            for version, (limit, place, bidder) in self.named.items()
        }

    def _note(self, before: Auction, event: Event, after: Auction) -> None:
        if isinstance(event, BidPlaced) and not event.automatic:
            self.named[after.version] = event.maximum, -before.position, event.bidder_id
        elif isinstance(event, MaximumRaised) and before.leader is not None:
            leader = before.leader.id
            version = max(version for version, (_, _, bidder) in self.named.items() if bidder == leader)
            self.named[version] = event.maximum, -before.position, leader
        elif isinstance(event, BidVoided):
            del self.named[event.voided]

    def _price(self, before: Auction, event: Event, after: Auction) -> Iterator[str]:
        price, leader, maximum = after.current_bid, after.leader, after.maximum
        if price is None or leader is None or maximum is None:
            return
        if before.current_bid is not None and price < before.current_bid and not isinstance(event, BidVoided):
            yield f"the price fell from {before.current_bid} to {price}"
        if price > maximum:
            yield f"the price {price} is above the leader's limit {maximum}"
        if leader == after.author:
            yield "the author leads"
        if isinstance(event, MaximumRaised) and price not in (before.current_bid, before.reserve_price):
            yield "a raise of one's own limit lifted the price beyond the reserve"

    def after_decision(self, auction: Auction, literal: set[Decimal | None]) -> Iterator[str]:
        """Yield the properties that a complete decision breaks; `literal` are the requested amounts."""
        if self.live:
            return
        self.lifts |= literal | {auction.starting_price, auction.reserve_price, auction.buy_now_price}
        if auction.leader is None or auction.current_bid is None:
            return
        best = max(self.limits, key=lambda bidder: self.limits[bidder])
        if (best, self.limits[best][0]) != (auction.leader.id, auction.maximum):
            yield f"{auction.leader.id} leads at {auction.maximum}; the highest limit, {self.limits[best][0]}, is {best}'s"
        rivals = [limit for limit, _, bidder in self.named.values() if bidder != auction.leader.id]
        second = max(rivals, default=None)
        # A void may show a price that a lower rival's limit has set, if the steps of the ladder get smaller.
        within = any(auction.current_bid <= limit + auction.ladder.step_at(limit) for limit in rivals)
        if not within and auction.current_bid not in self.lifts:
            yield f"the price {auction.current_bid} is more than a step above the second limit, {second}"

    def _close(self, before: Auction, event: AuctionClosed) -> Iterator[str]:
        if self.closes > 1:
            yield "closed twice"
        price, reserve = before.current_bid, before.reserve_price
        sold = price is not None and (reserve is None or price >= reserve)
        leader = None if before.leader is None or not sold else before.leader.name
        wanted = Outcome.SOLD if sold else Outcome.NO_BIDS if price is None else Outcome.RESERVE_NOT_MET
        if (event.outcome, event.winner) != (wanted, leader):
            yield f"closed as {event.outcome} to {event.winner}, and it is {wanted} to {leader}"
        if event.price != (price if sold else None):
            yield f"the hammer price is {event.price}, and the price was {price}"


def _on_block(before: Auction, event: Event, after: Auction) -> Iterator[str]:
    """Yield the properties of the block that `event` breaks (docs/rules.md, "On the block")."""
    price, leader, maximum = after.current_bid, after.leader, after.maximum
    if not (price is None) == (leader is None) == (maximum is None):
        yield f"{leader} leads at {price}, up to {maximum}"
    if price is not None and maximum is not None and price > maximum:
        yield f"the price {price} is above the leader's limit {maximum}"
    if after.ask is not None and price is not None and after.ask <= price:
        yield f"the ask {after.ask} is not above the price {price}"
    if isinstance(event, BidPlaced) and not event.automatic and before.block is not None:
        asked = None if event.asked is None else event.asked.amount
        if asked is None or asked > event.amount:
            yield f"a bid of {asked} on the block was recorded at {event.amount}"
    if isinstance(event, ReserveMet) and event.minimum_bid != after.minimum_bid:
        yield f"the next bid was told to be {event.minimum_bid}, and it is {after.minimum_bid}"
    if isinstance(event, AuctionClosed):
        names = {Outcome.SOLD, Outcome.CONDITIONAL}
        if event.outcome in names and (leader is None or leader.name == FLOOR or event.winner != leader.name):
            yield f"sold to {event.winner}, and {leader} leads"
        if event.outcome is Outcome.SOLD and after.reserve_met is False:
            yield f"sold at {price}, below the reserve"


def _time(before: Auction, event: Event, after: Auction, now: datetime) -> Iterator[str]:
    now = max(now, before.changed_at)
    if event.at < before.changed_at:
        yield f"{event.TYPE} at {event.at} is earlier than the event before it, at {before.changed_at}"
    cap = None if after.soft_close is None else after.soft_close.cap
    if before.ends_at is not None and not isinstance(event, AuctionAmended):
        if after.ends_at is None or after.ends_at < before.ends_at:
            yield f"the end moved back from {before.ends_at} to {after.ends_at}"
        if isinstance(event, BidPlaced) and event.at >= before.ends_at:
            yield f"a bid at {event.at}, and the end was at {before.ends_at}"
    if isinstance(event, AuctionExtended) and cap is not None and event.ends_at > cap:
        yield f"the end moved past the cap to {event.ends_at}"
    if isinstance(event, BidPlaced) and before.status != Status.OPEN:
        yield f"a bid while the auction was {before.status}"
    if isinstance(event, AuctionClosed | AuctionCancelled):
        own = before.ends_at if before.ends_at is not None and before.clock(now) >= before.ends_at else now
        if event.at != own:
            yield f"{event.TYPE} as of {event.at}, and its own end was {own}"
    elif event.at != now and not (isinstance(event, AuctionOpened) and event.at == before.starts_at):
        yield f"{event.TYPE} is dated {event.at}, and was decided at {now}"
