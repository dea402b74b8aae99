"""The clerk's desk: how each bid on a lot came, which lots have left the block, and how fast the sale goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from saleroom.bidding.domain.block_events import AuctionCalled
from saleroom.bidding.domain.events import BidPlaced, Channel, Event
from saleroom.sales.domain.views import LotView

ABSENTEE = Channel.ABSENTEE.value
"""How a bid came that was placed before the lot was called, or that the house placed for an earlier maximum."""
PACE_LOTS = 20
"""The pace is that of the last lots, so many at most: the beginning of an evening is slower than its middle."""
PACE_LEAST = 5
"""So many lots make a pace: two in a row may take seconds."""
_CLOSED = "lot.closed"


class BlockMove(Struct, frozen=True):
    """A lot that left the block or came back, as the log of the sale has it: the type of the event, the lot and the time."""

    kind: str
    lot: str
    at: datetime


class DeskBid(Struct, frozen=True, rename="camel"):
    """A bid on the lot: `channel` is `online`, `floor`, `phone` or `absentee`. `voided` says why it no longer stands."""

    amount: str
    bidder: str
    channel: str
    voided: str | None


class DeskPhoto(Struct, frozen=True, rename="camel"):
    """The first photo of a lot in a width that fits the desk."""

    url: str
    width: int
    height: int


class DeskLots(Struct, frozen=True, rename="camel"):
    """What the desk shows beside the block: bids on its lot, the newest first, and the lots that were closed last.

    `per_hour` is the pace of the last lots, None while too few are closed to tell.
    """

    bids: list[DeskBid]
    photo: DeskPhoto | None
    results: list[LotView]
    per_hour: int | None


def channels(log: Iterable[Event]) -> list[str]:
    """Return how each bid of a lot came, in the order of the log; bids before the first call are absentee bids."""
    found: list[str] = []
    called = False
    for event in log:
        if isinstance(event, AuctionCalled):
            called = True
        elif isinstance(event, BidPlaced):
            if event.channel is not None:
                found.append(event.channel.value)
            else:
                found.append(Channel.ONLINE.value if called and not event.automatic else ABSENTEE)
    return found


def closed(moves: Iterable[BlockMove]) -> list[BlockMove]:
    """Return the lots that were closed and did not come back, in the order in which they were closed."""
    kept: dict[str, BlockMove] = {}
    for move in moves:
        kept.pop(move.lot, None)
        if move.kind == _CLOSED:
            kept[move.lot] = move
    return list(kept.values())


def per_hour(moves: Sequence[BlockMove]) -> int | None:
    """Return how many lots an hour the last ones of `moves` make; None if there are fewer than PACE_LEAST."""
    last = moves[-PACE_LOTS:]
    if len(last) < PACE_LEAST:
        return None
    seconds = (last[-1].at - last[0].at).total_seconds()
    return None if seconds <= 0 else round((len(last) - 1) * 3600 / seconds)
