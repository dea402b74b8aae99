"""Selling a lot from the block: the acts of the clerk and the auctioneer (docs/rules.md, "On the block", number by number).

A bid that the clerk takes is placed as every other (`bidding.py`), with its channel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from saleroom.bidding.domain.auction import (
    Auction,
    Status,
    begin,
    refuse_if_over,
    refuse_if_taken_down,
)
from saleroom.bidding.domain.block import FLOOR
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
from saleroom.bidding.domain.closing import close, open_if_due
from saleroom.bidding.domain.errors import (
    AskTooLow,
    AuctionNotStarted,
    BelowReserve,
    BidStands,
    EndsByItself,
    NeedsPaddle,
    NoBidStands,
    NotClosed,
    NotConditional,
    NothingToUndo,
    NotLeading,
    NotOfFloor,
    NotOnBlock,
    OnBlock,
    OwnAuction,
    TakenDown,
)
from saleroom.bidding.domain.events import (
    AuctionClosed,
    AuctionCreated,
    BidPlaced,
    BidVoided,
    Channel,
    Event,
    Outcome,
)
from saleroom.bidding.domain.pausing import refuse_if_paused
from saleroom.bidding.domain.voiding import BidBook
from saleroom.kernel.money import ZERO
from saleroom.kernel.parties import Party

_NEXT_STAGE = {Stage.CALLED: Stage.FAIR_WARNING, Stage.FAIR_WARNING: Stage.FINAL_CALL}


def call(auction: Auction, now: datetime) -> list[Event]:
    """Put a lot on the block; the bids that it has set the first ask.

    Raises AuctionOver, TakenDown, Paused, EndsByItself, AuctionNotStarted or OnBlock.
    """
    now = auction.not_before(now)
    _refuse_to_touch(auction, now)
    if auction.ends_at is not None:
        raise EndsByItself(ends_at=auction.ends_at)
    opening = open_if_due(auction, now)
    if auction.after_all(opening).status is Status.SCHEDULED:
        raise AuctionNotStarted(starts_at=auction.starts_at)
    if auction.block is not None:
        raise OnBlock
    return [*opening, AuctionCalled(at=now, minimum_bid=auction.minimum_bid)]


def ask(auction: Auction, price: Decimal, now: datetime) -> list[Event]:
    """Ask for another price, higher or lower; nothing if it is the present ask.

    Raises as `refuse_off_block`, or AskTooLow unless it is above the price.
    """
    now = auction.not_before(now)
    refuse_off_block(auction, now)
    if price <= (auction.current_bid or ZERO):
        raise AskTooLow(current_bid=auction.current_bid)
    return [] if price == auction.ask else [AskSet(at=now, minimum_bid=price)]


def warn(auction: Auction, now: datetime) -> list[Event]:
    """Give fair warning, then the final call; nothing after that. Raises as `refuse_off_block`."""
    now = auction.not_before(now)
    refuse_off_block(auction, now)
    assert auction.stage is not None, "it is on the block"
    following = _NEXT_STAGE.get(auction.stage)
    return [] if following is None else [AuctionWarned(at=now, stage=following)]


def name_bidder(auction: Auction, book: BidBook, bidder: Party, now: datetime) -> list[Event]:
    """Name the bidder of the floor's bid that leads; `book` has read the whole log.

    Raises as `refuse_off_block`, OwnAuction, or NotOfFloor.
    """
    now = auction.not_before(now)
    refuse_off_block(auction, now)
    bid = book.leading_bid()
    if auction.leader is None or auction.leader.name != FLOOR or bid is None:
        raise NotOfFloor
    if bidder.id == auction.author.id:
        raise OwnAuction
    price = auction.current_bid or ZERO
    return [BidderNamed(at=now, named=bid.version, amount=price, bidder=bidder.name, bidder_id=bidder.id)]


def sell(auction: Auction, now: datetime) -> list[Event]:
    """Let the hammer fall: the lot is sold to the leader.

    Raises as `refuse_off_block`, NoBidStands, NeedsPaddle or BelowReserve.
    """
    now = auction.not_before(now)
    _refuse_to_sell(auction, now)
    if auction.reserve_met is False:
        raise BelowReserve(current_bid=auction.current_bid)
    return [close(auction, now)]


def sell_conditionally(auction: Auction, now: datetime) -> list[Event]:
    """Let the hammer fall below the reserve: the seller decides whether it is sold. Above it the lot is sold at once.

    Raises as `refuse_off_block`, NoBidStands or NeedsPaddle.
    """
    now = auction.not_before(now)
    _refuse_to_sell(auction, now)
    if auction.reserve_met is not False:
        return [close(auction, now)]
    return [_closed(auction, Outcome.CONDITIONAL, now)]


def pass_(auction: Auction, now: datetime) -> list[Event]:
    """Take the lot off the block without a sale. Raises as `refuse_off_block`, or BidStands if it can be sold."""
    now = auction.not_before(now)
    refuse_off_block(auction, now)
    if auction.leader is not None and auction.reserve_met is not False:
        raise BidStands(current_bid=auction.current_bid)
    return [close(auction, now)]


def skip(auction: Auction, now: datetime) -> list[Event]:
    """Take the lot off the block, to be called later; its bids stand. A hidden lot can be skipped too.

    Raises AuctionOver, Paused or NotOnBlock, or NeedsPaddle while the floor leads a lot that is not hidden: nobody would know
    later who that was. Nothing else frees the block of a hidden one; its bid is named, or taken back, once it is called again.
    """
    now = auction.not_before(now)
    refuse_if_over(auction, now)
    refuse_if_paused(auction)
    _refuse_unless_on_block(auction)
    if not auction.is_hidden:
        _refuse_unknown_bidder(auction)
    return [AuctionSkipped(at=now)]


def retract(auction: Auction, book: BidBook, bidder: Party, now: datetime) -> list[Event]:
    """Take the leader's bid back: no bid stands, and its price is asked for again; `book` has read the whole log.

    Raises as `refuse_off_block`, or NotLeading.
    """
    now = auction.not_before(now)
    refuse_off_block(auction, now)
    bid = book.leading_bid()
    if auction.leader is None or auction.leader.id != bidder.id or bid is None or auction.current_bid is None:
        raise NotLeading
    name, price = auction.leader.name, auction.current_bid
    return [BidRetracted(at=now, retracted=bid.version, bidder=name, amount=price, minimum_bid=price)]


def undo(auction: Auction, log: Sequence[Event], now: datetime, *, by_old_rule: bool = False) -> list[Event]:
    """Undo the last act on the lot since it was called, also the hammer; `log` is its whole log.

    The price and the leader are decided again without a bid, a name or a retraction. A call, an ask or a warning is not
    undone once a bid has come. After a bid or a void that came since, the ask follows the increments; `by_old_rule` a void
    changed nothing. Raises AuctionOver for a lot that was cancelled, TakenDown, Paused or NothingToUndo.
    """
    now = auction.not_before(now)
    if auction.status is Status.CANCELLED:
        refuse_if_over(auction, now)
    refuse_if_taken_down(auction)
    refuse_if_paused(auction)
    book = BidBook(log)
    act = _last_act(log)
    if act is None:
        raise NothingToUndo
    overtaken = book.last_bid > act.version
    if overtaken and isinstance(act.event, AuctionCalled | AskSet | AuctionWarned):
        raise NothingToUndo
    before = _auction_after(log[: min(book.places.get(act.version, (act.index,)))])
    redecided = isinstance(act.event, BidPlaced | BidderNamed | BidRetracted)
    after = book.without(auction, act.version) if redecided else auction
    stage, asked = before.stage, before.ask
    price = after.current_bid
    voided_since = not by_old_rule and any(isinstance(each, BidVoided) for each in log[act.index :])
    outdated = overtaken or voided_since or (asked is not None and price is not None and asked <= price)
    if stage is not None and outdated:
        stage, asked = Stage.CALLED, after.least_above(price)
    return [
        ActUndone(
            at=now,
            undone=act.version,
            act=act.event.TYPE,
            stage=stage,
            current_bid=price,
            current_bidder=None if after.leader is None else after.leader.name,
            current_bid_at=after.current_bid_at,
            minimum_bid=after.least_above(price) if asked is None else asked,
            reserve_met=after.reserve_met,
            leader_id=None if after.leader is None else after.leader.id,
            maximum=after.maximum,
        )
    ]


def undo_as(recorded: Event, auction: Auction, log: Sequence[Event], now: datetime) -> list[Event]:
    """Decide an undone act of a log again. In old logs the ask of before stands again even if a bid was voided since."""
    earlier = undo(auction, log, now, by_old_rule=True)
    return earlier if earlier == [recorded] else undo(auction, log, now)


def reopen(auction: Auction, reason: str, now: datetime) -> list[Event]:
    """Take the hammer back after another lot was called: the lot can be called again, and its bids stand.

    Raises TakenDown, Paused, NotClosed, or EndsByItself for a lot that the clock has closed.
    """
    now = auction.not_before(now)
    refuse_if_taken_down(auction)
    refuse_if_paused(auction)
    if auction.status is not Status.CLOSED:
        raise NotClosed
    if auction.ends_at is not None:
        raise EndsByItself(ends_at=auction.ends_at)
    return [AuctionReopened(at=now, reason=reason)]


def decide(auction: Auction, now: datetime, *, accepted: bool) -> list[Event]:
    """Return the seller's decision on a bid below the reserve. Raises TakenDown or NotConditional."""
    now = auction.not_before(now)
    refuse_if_taken_down(auction)
    if auction.outcome is not Outcome.CONDITIONAL or auction.leader is None:
        raise NotConditional
    if not accepted:
        return [AuctionDecided(at=now, outcome=Outcome.RESERVE_NOT_MET, winner=None, price=None)]
    winner, price = auction.leader.name, auction.current_bid
    return [AuctionDecided(at=now, outcome=Outcome.SOLD, winner=winner, price=price)]


def refuse_off_block(auction: Auction, now: datetime) -> None:
    """Raise AuctionOver, TakenDown, Paused or NotOnBlock unless the lot is on the block and can be sold."""
    if auction.block is not None and auction.is_hidden:
        refuse_if_over(auction, now)
        raise TakenDown("The lot on the block was taken down: skip it, then call the next one.")
    _refuse_to_touch(auction, now)
    _refuse_unless_on_block(auction)


def _refuse_unless_on_block(auction: Auction) -> None:
    if auction.block is None:
        raise NotOnBlock


def _refuse_to_touch(auction: Auction, now: datetime) -> None:
    refuse_if_over(auction, now)
    refuse_if_taken_down(auction)
    refuse_if_paused(auction)


def _refuse_to_sell(auction: Auction, now: datetime) -> None:
    refuse_off_block(auction, now)
    if auction.leader is None:
        raise NoBidStands
    _refuse_unknown_bidder(auction)


def _refuse_unknown_bidder(auction: Auction) -> None:
    if auction.leader is not None and auction.leader.name == FLOOR:
        raise NeedsPaddle


def _closed(auction: Auction, outcome: Outcome, now: datetime) -> AuctionClosed:
    assert auction.leader is not None, "a bid stands"
    return AuctionClosed(at=now, outcome=outcome, winner=auction.leader.name, price=auction.current_bid)


class _Act(Struct, frozen=True):
    """An act on the block: its event, at `index` of the log, with its version."""

    index: int
    version: int
    event: Event


def _last_act(log: Sequence[Event]) -> _Act | None:
    """Return the last act since the lot was called last that was neither undone nor voided."""
    acts: list[_Act] = []
    for act in _versions(log):
        match act.event:
            case AuctionCalled():
                acts = [act]
            case AuctionReopened() | AuctionDecided():
                acts = []
            case AskSet() | AuctionWarned() | BidderNamed() | BidRetracted() | AuctionSkipped() | AuctionClosed():
                acts.append(act)
            case BidPlaced() if act.event.channel not in (None, Channel.ABSENTEE):
                acts.append(act)
            case ActUndone():
                acts = [each for each in acts if each.version != act.event.undone]
    voided = BidBook(log).voided
    return next((act for act in reversed(acts) if act.version not in voided), None)


def _versions(log: Sequence[Event]) -> Iterator[_Act]:
    version = 0
    for index, event in enumerate(log):
        version += event.PUBLIC
        yield _Act(index, version, event)


def _auction_after(log: Sequence[Event]) -> Auction:
    first = log[0]
    assert isinstance(first, AuctionCreated), "a log begins with the creation"
    return begin(0, first).after_all(log[1:])
