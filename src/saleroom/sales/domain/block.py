"""The block of a live sale: what the acts on it mean for the sale (docs/rules.md, "On the block").

What they do to a lot is decided in `bidding/domain/calling.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.events import Channel, Outcome
from saleroom.sales.domain import events
from saleroom.sales.domain.errors import (
    BidsUncalled,
    BlockChanged,
    LotOnBlock,
    NotLive,
    NotPublished,
    SaleNotRunning,
    StandsStill,
)
from saleroom.sales.domain.events import SaleEvent
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.sale import Sale, SaleStatus, refuse_if_over

NOBODY_CALLED = "0"
"""The tag of a block on which no lot has been."""
TAG_MAX = 100


class Act(StrEnum):
    """What the clerk or the auctioneer does."""

    CALL = "call"
    BID = "bid"
    ASK = "ask"
    WARN = "warn"
    NAME = "name"
    SELL = "sell"
    SELL_CONDITIONALLY = "sell_conditionally"
    PASS = "pass"  # the word of a clerk
    SKIP = "skip"
    RETRACT = "retract"
    UNDO = "undo"
    REOPEN = "reopen"
    DECIDE = "decide"
    PAUSE = "pause"
    RESUME = "resume"
    END = "end"
    LEVEL = "level"
    PLEDGE = "pledge"
    UNDO_PLEDGE = "undo_pledge"


class BlockAct(Struct, frozen=True, kw_only=True):
    """An act as it arrived. `seen` is the tag of the block that its sender saw; the other members are those of some acts."""

    act: Act
    seen: str | None = None
    label: str | None = None
    amount: Decimal | None = None
    paddle: int | None = None
    channel: Channel = Channel.FLOOR
    reason: str = ""
    accepted: bool = False
    pledge: int | None = None
    again: bool = False


OF_A_LOT = frozenset({Act.REOPEN, Act.DECIDE})
"""The acts on a lot that is not on the block, for those above the clerk."""
UNSEEN = OF_A_LOT | {Act.BID, Act.PLEDGE, Act.UNDO_PLEDGE, Act.PAUSE}
"""The acts that do not rest on the state of the block.

A bid rests on the ask, a pledge on the level, an undoing on the row. A pause must not fail because somebody bids meanwhile.
"""


class CalledLot(Protocol):
    """A lot that was called: an auction, or a fund-a-need."""

    @property
    def gid(self) -> str:
        """The public identifier."""

    @property
    def tag(self) -> str:
        """The identifier of its state."""

    @property
    def block(self) -> object | None:
        """Its state on the block, None if it is not there."""


def tag(last: CalledLot | None) -> str:
    """Return the identifier of the state of a block on which `last` was called last."""
    return NOBODY_CALLED if last is None else f"{last.gid}-{last.tag}"


def refuse_unless_seen(last: CalledLot | None, seen: str | None) -> None:
    """Raise BlockChanged unless `seen` is the present state of the block: somebody else has acted, or somebody has bid."""
    if last is None:
        is_present = seen == NOBODY_CALLED
    else:
        of_lot = f"{last.gid}-"
        is_present = seen is not None and seen.startswith(of_lot) and is_state(last, seen.removeprefix(of_lot))
    if not is_present:
        raise BlockChanged(tag=tag(last))


def is_state(lot: CalledLot, seen: str) -> bool:
    """Return whether no act and no bid has come on a lot since it had the tag `seen`.

    The third part of an auction's tag counts what is neither: that somebody was merged with another participant, or erased.
    """
    return lot.tag.split("-")[:2] == seen.split("-")[:2]


def refuse_another_lot(last: CalledLot | None, meant: Lot) -> None:
    """Raise BlockChanged unless the lot that a bid or a pledge is meant for was called last."""
    if last is None or last.gid != meant.gid:
        raise BlockChanged(tag=tag(last))


def refuse_unless_live(sale: Sale) -> None:
    """Raise NotLive, SaleOver, NotPublished or StandsStill unless an auctioneer can sell lots of the sale now."""
    refuse_unless_public(sale)
    if sale.status is SaleStatus.PAUSED:
        raise StandsStill


def refuse_unless_public(sale: Sale) -> None:
    """Raise NotLive, SaleOver or NotPublished unless the sale is a live one that goes on, or stands still for a while."""
    if sale.is_timed:
        raise NotLive
    refuse_if_over(sale)
    if sale.is_draft:
        raise NotPublished


def refuse_to_correct(sale: Sale) -> None:
    """Raise as `refuse_unless_live` unless the result of a lot can be corrected: also once the sale has closed."""
    if sale.is_timed or sale.status is not SaleStatus.CLOSED:
        refuse_unless_live(sale)


def called(sale: Sale, last: CalledLot | None, lot: Lot, now: datetime) -> list[SaleEvent]:
    """Return what the call of a lot means for the sale: the first one begins it. Raises LotOnBlock."""
    if last is not None and last.block is not None:
        raise LotOnBlock(lot=last.gid)
    begins = [events.SaleRunning(at=now)] if sale.status is SaleStatus.PUBLISHED else []
    return [*begins, events.LotCalled(at=now, lot=lot.gid, label=lot.label)]


def moved(lot: Lot, before: Auction, after: Auction, now: datetime, reason: str = "") -> list[SaleEvent]:
    """Return what an act on a lot, or its undoing, means for the sale: nothing as long as the lot stays where it is."""
    which = {"lot": lot.gid, "label": lot.label}
    price = None if after.unsold or after.current_bid is None else str(after.current_bid)
    if before.block is None and after.block is not None:
        return [events.LotCalled(at=now, **which)]
    if before.outcome is Outcome.CONDITIONAL and after.over:
        return [events.LotDecided(at=now, outcome=after.outcome or "", price=price, **which)]
    if before.over and not after.over:
        return [events.LotReopened(at=now, reason=reason, **which)]
    if before.block is None or after.block is not None:
        return []
    if after.outcome is not None:
        return [events.LotClosed(at=now, outcome=after.outcome, price=price, **which)]
    return [events.LotSkipped(at=now, **which)]


def ended(sale: Sale, last: CalledLot | None, left: Collection[tuple[Lot, Auction]], now: datetime) -> list[SaleEvent]:
    """Return the end of a live sale; `left` are the lots that still run, with their auctions.

    Raises SaleNotRunning before the first call, LotOnBlock, or BidsUncalled.
    """
    if sale.status is not SaleStatus.RUNNING:
        raise SaleNotRunning(status=sale.status.value)
    if last is not None and last.block is not None:
        raise LotOnBlock(lot=last.gid)
    with_bids = [lot.label for lot, auction in left if auction.leader is not None]
    if with_bids:
        raise BidsUncalled(lots=", ".join(with_bids))
    return [events.SaleClosed(at=now)]
