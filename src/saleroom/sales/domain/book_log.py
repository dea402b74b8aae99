"""The log of a lot compared with its lines of the book: each is a bid of the log, and no absentee bid lacks one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal

from saleroom.bidding.domain.events import BidPlaced, Channel, Event, MaximumRaised
from saleroom.sales.domain.book import BookBid


def line_faults(log: Iterable[Event], lines: Collection[BookBid]) -> Iterator[str]:
    """Yield what is wrong with the lines of a lot: `log` are the events of its auction, `lines` what the book has of it."""
    maxima: dict[int, Decimal] = {}
    entered: set[int] = set()
    raised: set[Decimal] = set()
    recorded = 0
    for event in log:
        if isinstance(event, MaximumRaised):
            raised.add(event.maximum)
        if not isinstance(event, BidPlaced):
            continue
        recorded += 1
        if not event.automatic:
            maxima[recorded] = event.maximum
            entered |= {recorded} if event.channel is Channel.ABSENTEE else set()
    for line in lines:
        if line.number not in maxima:
            yield f"the book has a line of bid {line.number}, which nobody has placed"
        elif line.maximum != maxima[line.number] and line.maximum not in raised:
            yield f"the book has bid {line.number} with a maximum that it never had"
    for number in sorted(entered - {line.number for line in lines}):
        yield f"bid {number} is an absentee bid, and the book has no line of it"
