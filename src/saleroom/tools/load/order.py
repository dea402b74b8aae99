"""What the order of requests proves: a later answer never shows an earlier state.

A request is later than another where it was sent when the other's answer had come. A bid that was sent more than once counts
from its first sending to its first acknowledgement, as a repeat tells the first answer again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from saleroom.tools.load.record import Attempt, Lot, Read, Record
from saleroom.tools.load.violations import Kind, Violations


class Sighting(Struct, frozen=True, kw_only=True, gc=False):
    """A state of a lot that held at some moment between `start` and `end`; None and -1 where the answer did not tell."""

    start: float
    end: float
    price: int = -1
    count: int = -1
    ends: int = -1
    closed: bool = False
    over: bool = False
    """Refused as closed, or shown so: from its end on a lot takes no bid, and the closer comes by a moment later."""
    ask: int | None = None
    """Of an accepted bid: what the least next bid is held against; 0 where only a maximum rose."""
    refusal: bool = False
    about: str


class _Known(Struct):
    """The furthest state that is known to have been reached; `refused` says that a refusal told the price."""

    price: int = -1
    count: int = -1
    ends: int = -1
    closed: bool = False
    over: bool = False
    refused: bool = False

    def learn(self, seen: Sighting) -> None:
        if seen.price > self.price:
            self.price, self.refused = seen.price, seen.refusal
        self.count = max(self.count, seen.count)
        self.ends = max(self.ends, seen.ends)
        self.closed = self.closed or seen.closed
        self.over = self.over or seen.over or seen.closed


def check(lot: Lot, attempts: Sequence[Attempt], reads: Sequence[Read], violations: Violations) -> None:
    """Hold every sighting of a lot against all that was known when its request was sent."""
    sightings = [*_reads(reads), *_attempts(lot, attempts)]
    by_end = iter(sorted(sightings, key=lambda seen: seen.end))
    waiting = next(by_end, None)
    known = _Known()
    for seen in sorted(sightings, key=lambda seen: seen.start):
        while waiting is not None and waiting.end <= seen.start:
            known.learn(waiting)
            waiting = next(by_end, None)
        for kind, example in _faults(lot, seen, known):
            violations.add(kind, f"{lot.gid}: {seen.about}: {example}")


def clock_offset(record: Record) -> float | None:
    """Return by how many seconds the house's clock is ahead of the client's at least; None where nothing tells."""
    bounds = [(tick.house / 1e6 - tick.received, tick.house / 1e6 - tick.sent) for tick in record.ticks]
    for attempt in record.attempts:
        for reply in attempt.accepted[:1]:
            if reply.bid is not None:
                start, end = _span(attempt)
                bounds.append((reply.bid.placed / 1e6 - end, reply.bid.placed / 1e6 - start))
    if not bounds:
        return None
    # Where clocks drift apart the bounds cross, and the lower one claims less.
    return min(max(low for low, _ in bounds), *(high for _, high in bounds))


def _faults(lot: Lot, seen: Sighting, known: _Known) -> Iterator[tuple[Kind, str]]:
    if -1 < seen.price < known.price:
        kind = Kind.WRONG_REFUSAL if seen.refusal or known.refused else Kind.PRICE_FELL
        yield kind, f"price {seen.price / 1000:.3f} where {known.price / 1000:.3f} was known"
    if -1 < seen.count < known.count:
        yield Kind.PRICE_FELL, f"{seen.count} bids where {known.count} were known"
    if -1 < seen.ends < known.ends:
        yield Kind.END_MOVED_BACK, f"by {(known.ends - seen.ends) / 1e6:.6f} s"
    if known.over and seen.ask is not None:
        yield Kind.LATE_BID, "accepted when the lot was known to be over"
    elif known.closed and not seen.closed and not seen.refusal:
        yield Kind.CONTRADICTION, "open again when it was known to be closed"
    least = lot.start if known.price <= 0 else known.price + lot.step
    if seen.ask and seen.ask < least:
        yield Kind.TAKEN_TOO_LOW, f"accepted where {least / 1000:.3f} was known to be the least"


def _reads(reads: Sequence[Read]) -> Iterator[Sighting]:
    for read in reads:
        view = read.view
        yield Sighting(
            start=read.sent,
            end=read.received,
            price=view.price or 0,
            count=view.count,
            ends=-1 if view.ends is None else view.ends,
            closed=view.status == "closed",
            about="a look",
        )


def _attempts(lot: Lot, attempts: Sequence[Attempt]) -> Iterator[Sighting]:
    for attempt in attempts:
        about = f"a bid of {attempt.bidder} at {attempt.ask / 1000:.3f}"
        for reply in attempt.accepted[:1]:
            start, end = _span(attempt)
            view = reply.view
            if view is not None:
                yield Sighting(
                    start=start,
                    end=end,
                    price=view.price or 0,
                    count=view.count,
                    ends=-1 if view.ends is None else view.ends,
                    ask=attempt.ask if reply.bid is not None else 0,
                    about=about,
                )
        for reply in attempt.replies:
            if reply.code == "bid_too_low" and reply.minimum is not None:
                price = 0 if reply.minimum == lot.start else reply.minimum - lot.step
                yield Sighting(start=reply.sent, end=reply.received, price=price, refusal=True, about=about)
            elif reply.code == "auction_closed":
                yield Sighting(start=reply.sent, end=reply.received, over=True, refusal=True, about=about)


def _span(attempt: Attempt) -> tuple[float, float]:
    """Return the seconds between which an accepted bid took effect."""
    return min(r.sent for r in attempt.replies), min(r.received for r in attempt.accepted)
