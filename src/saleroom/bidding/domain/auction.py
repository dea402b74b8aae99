"""An auction as a value, and how each event changes it.

States: scheduled -> open -> closed; scheduled or open -> cancelled (docs/rules.md, "States").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs

from saleroom.bidding.domain.block import Block, block_changes
from saleroom.bidding.domain.block_events import (
    ActUndone,
    AskSet,
    AuctionCalled,
    AuctionDecided,
    AuctionReopened,
    AuctionSkipped,
    AuctionWarned,
    BidderNamed,
    BidRetracted,
    Stage,
)
from saleroom.bidding.domain.errors import AuctionOver, NotAuthor, TakenDown
from saleroom.bidding.domain.events import (
    AuctionAmended,
    AuctionCancelled,
    AuctionClosed,
    AuctionCreated,
    AuctionExtended,
    AuctionHidden,
    AuctionOpened,
    AuctionPaused,
    AuctionResumed,
    AuctionShown,
    BidPlaced,
    BidVoided,
    Event,
    MaximumRaised,
    Outcome,
    PhotosArranged,
    ReserveMet,
    SoftClose,
    Terms,
)
from saleroom.bidding.domain.increments import Ladder
from saleroom.kernel.chain import Chain
from saleroom.kernel.parties import Party


class Status(StrEnum):
    """The state of an auction."""

    SCHEDULED = "scheduled"
    OPEN = "open"
    CLOSED = "closed"
    CANCELLED = "cancelled"


_MICROSECOND = timedelta(microseconds=1)
TAG_DIGITS = 16
"""Digits of the head in a tag: enough that nobody finds another head with the same digits."""
OVER = (Status.CLOSED, Status.CANCELLED)


class Auction(Struct, frozen=True, kw_only=True):
    """One auction; all money has three decimals, all instants are UTC.

    `current_bid` is P, `leader` L and `maximum` M of docs/rules.md (`maximum` >= `current_bid`). `version` numbers the public
    events without gaps, `position` all of them, the private ones too; `changed_at` is the instant of the last.
    `taken_down` is the reason for which staff hide it, None while it is shown; `cancelled_for` that of a cancellation by staff.
    `withheld` is whether they hide it since it is over, which is beside its ledger.
    `sale_id` is the sale that it belongs to, as a number; None for an auction outside sales. It is beside the ledger too.
    `paused_at` is when its clock stopped, None while it goes. `block` is there while the auctioneer of a live sale sells it.
    `terms_version` is the version of the last change to its terms or photos. `id` is the store's number, `chain` the end of its
    ledger (`ledger.enter` moves it on).
    """

    id: int
    gid: str
    name: str
    description: str
    author: Party
    starting_price: Decimal
    reserve_price: Decimal | None
    buy_now_price: Decimal | None
    ladder: Ladder
    soft_close: SoftClose | None
    starts_at: datetime | None
    ends_at: datetime | None
    created_at: datetime
    changed_at: datetime
    status: Status
    outcome: Outcome | None = None
    current_bid: Decimal | None = None
    leader: Party | None = None
    current_bid_at: datetime | None = None
    maximum: Decimal | None = None
    bid_count: int = 0
    version: int = 1
    terms_version: int = 1
    position: int = 1
    chain: Chain = Chain()
    category: str | None = None
    taken_down: str | None = None
    cancelled_for: str | None = None
    renamed: int = 0
    withheld: bool = False
    sale_id: int | None = None
    paused_at: datetime | None = None
    block: Block | None = None

    @property
    def over(self) -> bool:
        """Whether it is closed or cancelled."""
        return self.status in OVER

    @property
    def is_hidden(self) -> bool:
        """Whether staff hide it."""
        return self.taken_down is not None

    @property
    def unsold(self) -> bool:
        """Whether it ended without a sale, so that its lot can be offered again. A bid below the reserve may still be one."""
        return self.over and self.outcome not in (Outcome.SOLD, Outcome.CONDITIONAL)

    @property
    def closed_at(self) -> datetime | None:
        """When it was closed, bought or cancelled, which is its last event; None while it is not over."""
        return self.changed_at if self.over else None

    @property
    def tag(self) -> str:
        """The identifier of its public state: the version, and the first digits of the head.

        After a failover that lost commits, a version can occur again with other contents. The head tells them apart.
        A third part counts changes that are no events: an erased person, and to be hidden or shown after its end.
        """
        renamed = f"-{self.renamed}" if self.renamed else ""
        return f"{self.version}-{self.chain.head[:TAG_DIGITS]}{renamed}"

    @property
    def minimum_bid(self) -> Decimal | None:
        """The least next bid: the ask on the block, otherwise S or P + inc(P); None once it is over or exceeds 20 digits."""
        return None if self.over else self.least_at(self.current_bid)

    @property
    def stage(self) -> Stage | None:
        """How far it is from the hammer; None unless it is on the block."""
        if self.block is None:
            return None
        return self.block.stage if self.block.bids == self.bid_count else Stage.CALLED

    @property
    def ask(self) -> Decimal | None:
        """The price that the auctioneer asks for; None unless it is on the block."""
        return None if self.block is None else self.minimum_bid

    @property
    def reserve_met(self) -> bool | None:
        """Whether the price has reached the reserve; None without a reserve."""
        return self.met_at(self.current_bid)

    @property
    def due_at(self) -> datetime | None:
        """The next instant at which it changes by itself: its start, then its end; None while its clock stands still."""
        if self.over or self.paused_at is not None:
            return None
        return self.starts_at if self.status == Status.SCHEDULED else self.ends_at

    def least_above(self, price: Decimal | None) -> Decimal | None:
        """Return the least bid that would follow `price` (None: no bid yet)."""
        return self.starting_price if price is None else self.ladder.next_above(price)

    def least_at(self, price: Decimal | None) -> Decimal | None:
        """Return the least next bid if the price is `price` without another bid: an ask that was set stays, if it is above."""
        ask = self.block.ask if self.block is not None and self.block.bids == self.bid_count else None
        # A raised maximum may have lifted the price to the reserve, which is no bid.
        return ask if ask is not None and (price is None or price < ask) else self.least_above(price)

    def met_at(self, price: Decimal | None) -> bool | None:
        """Return whether `price` reaches the reserve; None without a reserve."""
        return None if self.reserve_price is None else price is not None and price >= self.reserve_price

    def not_before(self, now: datetime) -> datetime:
        """Return `now`, or the instant of the last event if the clock was set back: events are in order of time."""
        return max(now, self.changed_at)

    def clock(self, now: datetime) -> datetime:
        """Return what its clock shows at `now`: the instant at which it was paused, as long as it is."""
        return now if self.paused_at is None else self.paused_at

    def after(self, event: Event) -> Auction:
        """Return this auction once `event` has happened."""
        changes = _CHANGES[type(event)](self, event)
        changes["changed_at"] = event.at
        changes["position"] = self.position + 1
        if event.PUBLIC:
            changes["version"] = self.version + 1
        return structs.replace(self, **changes)

    def after_all(self, events: Iterable[Event]) -> Auction:
        """Return this auction once all of `events` have happened, in order."""
        auction = self
        for event in events:
            auction = auction.after(event)
        return auction


def begin(auction_id: int, event: AuctionCreated) -> Auction:
    """Return the auction that `event` began, under the store's number `auction_id`."""
    return Auction(
        id=auction_id,
        gid=event.gid,
        author=Party(event.author_id, event.author),
        ladder=Ladder(event.increment),
        created_at=event.at,
        changed_at=event.at,
        status=Status(event.status),
        chain=Chain(event.seed),
        **_terms(event),
    )


def refuse_unless_author(auction: Auction, user: Party) -> None:
    """Raise NotAuthor unless the auction is the user's own."""
    if user.id != auction.author.id:
        raise NotAuthor


def refuse_if_over(auction: Auction, now: datetime, received_at: datetime | None = None) -> None:
    """Raise AuctionOver if the auction is over, or if its end has come and the closer has not closed it yet.

    The facts say when it closed, when the request was received (if that was noted) and decided, and how long after the
    announced end.
    """
    end = auction.ends_at
    late = None if end is None or auction.clock(now) < end else (now - end) // _MICROSECOND
    if auction.over or late is not None:
        closed = auction.closed_at or end  # the closer dates it by its end
        raise AuctionOver(
            ends_at=end, closed_at=closed, received_at=received_at, decided_at=now, late_microseconds=late
        )


def refuse_if_taken_down(auction: Auction) -> None:
    """Raise TakenDown if staff hide the auction."""
    if auction.is_hidden:
        raise TakenDown


def _terms(event: Terms) -> dict[str, Any]:
    return {name: getattr(event, name) for name in TERMS}


TERMS = (
    "name",
    "description",
    "starting_price",
    "reserve_price",
    "buy_now_price",
    "soft_close",
    "starts_at",
    "ends_at",
    "category",
)
"""The terms that an author sets and may amend, by their names in the auction and in its events."""


def _amended(auction: Auction, event: AuctionAmended) -> dict[str, Any]:
    return {**_terms(event), "terms_version": auction.version + 1}


def _arranged(auction: Auction, event: PhotosArranged) -> dict[str, Any]:
    return {"terms_version": auction.version + 1, "category": event.category}


def _opened(auction: Auction, event: AuctionOpened) -> dict[str, Any]:
    return {"status": Status.OPEN}


def _bid(auction: Auction, event: BidPlaced) -> dict[str, Any]:
    if not event.leading:
        return {"bid_count": auction.bid_count + 1}
    return {
        "bid_count": auction.bid_count + 1,
        "current_bid": event.amount,
        "current_bid_at": event.at,
        "leader": Party(event.bidder_id, event.bidder),
        "maximum": event.maximum,
    }


def _raised(auction: Auction, event: MaximumRaised) -> dict[str, Any]:
    return {"maximum": event.maximum}


def _reserve_met(auction: Auction, event: ReserveMet) -> dict[str, Any]:
    return {"current_bid": event.amount}


def _voided(auction: Auction, event: BidVoided) -> dict[str, Any]:
    asks_again = None if auction.block is None else Block(Stage.CALLED, None, auction.bid_count)
    return {**_standing(event), "block": asks_again}


def _standing(event: BidVoided | ActUndone) -> dict[str, Any]:
    leader = None
    if event.leader_id is not None and event.current_bidder is not None:
        leader = Party(event.leader_id, event.current_bidder)
    return {
        "current_bid": event.current_bid,
        "current_bid_at": event.current_bid_at,
        "leader": leader,
        "maximum": event.maximum,
    }


def _extended(auction: Auction, event: AuctionExtended) -> dict[str, Any]:
    return {"ends_at": event.ends_at}


def _paused(auction: Auction, event: AuctionPaused) -> dict[str, Any]:
    return {"paused_at": event.at}


def _resumed(auction: Auction, event: AuctionResumed) -> dict[str, Any]:
    rule = auction.soft_close
    return {
        "paused_at": None,
        "starts_at": event.starts_at,
        "ends_at": event.ends_at,
        "soft_close": None if rule is None else structs.replace(rule, cap=event.cap),
    }


def _closed(auction: Auction, event: AuctionClosed) -> dict[str, Any]:
    return {"status": Status.CLOSED, "outcome": event.outcome, "block": None}


def _cancelled(auction: Auction, event: AuctionCancelled) -> dict[str, Any]:
    return {"status": Status.CANCELLED, "cancelled_for": event.reason, "paused_at": None, "block": None}


def _on_block(auction: Auction, event: Event) -> dict[str, Any]:
    return block_changes(event, auction.ask, auction.bid_count)


def _undone(auction: Auction, event: ActUndone) -> dict[str, Any]:
    ask = None if event.minimum_bid == auction.least_above(event.current_bid) else event.minimum_bid
    block = None if event.stage is None else Block(event.stage, ask, auction.bid_count)
    return {**_standing(event), "block": block, "status": Status.OPEN, "outcome": None}


def _reopened(auction: Auction, event: AuctionReopened) -> dict[str, Any]:
    return {"status": Status.OPEN, "outcome": None}


def _hidden(auction: Auction, event: AuctionHidden) -> dict[str, Any]:
    return {"taken_down": event.hidden_for}


def _shown(auction: Auction, event: AuctionShown) -> dict[str, Any]:
    return {"taken_down": None}


_CHANGES: dict[type[Event], Callable[[Auction, Any], dict[str, Any]]] = {
    AuctionAmended: _amended,
    PhotosArranged: _arranged,
    AuctionOpened: _opened,
    BidPlaced: _bid,
    MaximumRaised: _raised,
    ReserveMet: _reserve_met,
    BidVoided: _voided,
    AuctionExtended: _extended,
    AuctionPaused: _paused,
    AuctionResumed: _resumed,
    AuctionHidden: _hidden,
    AuctionShown: _shown,
    AuctionClosed: _closed,
    AuctionCancelled: _cancelled,
    AuctionCalled: _on_block,
    AskSet: _on_block,
    AuctionWarned: _on_block,
    BidderNamed: _on_block,
    BidRetracted: _on_block,
    AuctionSkipped: _on_block,
    ActUndone: _undone,
    AuctionReopened: _reopened,
    AuctionDecided: _on_block,
}
