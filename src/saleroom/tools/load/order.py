"""Violations that the order of requests proves: a later answer never shows an earlier state.

A request is later than another if it was sent after the other's answer had come. A bid that was sent several times counts
from its first sending to its first acceptance, because a repeat gets the first answer again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from saleroom.tools.load.record import Attempt, LotRecord, Observation, Record
from saleroom.tools.load.violations import Kind, Violations


class Sighting(Struct, frozen=True, kw_only=True, gc=False):
    """A state of a lot that was true at some moment between `start` and `end`; None and -1 if the answer does not tell it."""

    start: float
    end: float
    price: int = -1
    count: int = -1
    ends: int = -1
    closed: bool = False
    over: bool = False
    """Whether the lot is past its end: from then on it takes no bid, even if the house closes it a moment later."""
    asked: int | None = None
    """Of an accepted bid: the amount that is compared with the least next bid; 0 if only a maximum rose."""
    refusal: bool = False
    about: str


class _LatestState(Struct):
    """The latest state that the lot has certainly reached; `refused` says that the price comes from a refusal."""

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


def check(
    lot: LotRecord, attempts: Sequence[Attempt], observations: Sequence[Observation], violations: Violations
) -> None:
    """Compare every sighting of a lot with the state known when its request was sent."""
    sightings = [*_observations(observations), *_attempts(lot, attempts)]
    by_end = iter(sorted(sightings, key=lambda seen: seen.end))
    waiting = next(by_end, None)
    known = _LatestState()
    for seen in sorted(sightings, key=lambda seen: seen.start):
        while waiting is not None and waiting.end <= seen.start:
            known.learn(waiting)
            waiting = next(by_end, None)
        for kind, example in _faults(lot, seen, known):
            violations.add(kind, f"{lot.gid}: {seen.about}: {example}")


def clock_offset(record: Record) -> float | None:
    """Return a lower bound of the seconds by which the house's clock is ahead of the client's; None if nothing shows it."""
    bounds = [
        (reading.house / 1e6 - reading.received, reading.house / 1e6 - reading.sent)
        for reading in record.clock_readings
    ]
    for attempt in record.attempts:
        for reply in attempt.accepted[:1]:
            if reply.bid is not None:
                start, end = _span(attempt)
                bounds.append((reply.bid.placed / 1e6 - end, reply.bid.placed / 1e6 - start))
    if not bounds:
        return None
    # If the clocks drift apart, the bounds cross, and the lower one claims less.
    return min(max(low for low, _ in bounds), *(high for _, high in bounds))


def _faults(lot: LotRecord, seen: Sighting, known: _LatestState) -> Iterator[tuple[Kind, str]]:
    if -1 < seen.price < known.price:
        kind = Kind.WRONG_REFUSAL if seen.refusal or known.refused else Kind.PRICE_FELL
        yield kind, f"price {seen.price / 1000:.3f} after {known.price / 1000:.3f} was known"
    if -1 < seen.count < known.count:
        yield Kind.PRICE_FELL, f"{seen.count} bids after {known.count} were known"
    if -1 < seen.ends < known.ends:
        yield Kind.END_MOVED_BACK, f"by {(known.ends - seen.ends) / 1e6:.6f} s"
    if known.over and seen.asked is not None:
        yield Kind.LATE_BID, "accepted when the lot was known to be over"
    elif known.closed and not seen.closed and not seen.refusal:
        yield Kind.CONTRADICTION, "open again when it was known to be closed"
    least = lot.start if known.price <= 0 else known.price + lot.step
    if seen.asked and seen.asked < least:
        yield Kind.TAKEN_TOO_LOW, f"accepted after {least / 1000:.3f} was known to be the least"


def _observations(observations: Sequence[Observation]) -> Iterator[Sighting]:
    for observation in observations:
        view = observation.view
        yield Sighting(
            start=observation.sent,
            end=observation.received,
            price=view.price or 0,
            count=view.count,
            ends=-1 if view.ends is None else view.ends,
            closed=view.status == "closed",
            about="a look",
        )


def _attempts(lot: LotRecord, attempts: Sequence[Attempt]) -> Iterator[Sighting]:
    for attempt in attempts:
        about = f"a bid of {attempt.bidder} at {attempt.price / 1000:.3f}"
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
                    asked=attempt.price if reply.bid is not None else 0,
                    about=about,
                )
        for reply in attempt.replies:
            if reply.code == "bid_too_low" and reply.minimum is not None:
                price = 0 if reply.minimum == lot.start else reply.minimum - lot.step
                yield Sighting(start=reply.sent, end=reply.received, price=price, refusal=True, about=about)
            elif reply.code == "auction_closed":
                yield Sighting(start=reply.sent, end=reply.received, over=True, refusal=True, about=about)


def _span(attempt: Attempt) -> tuple[float, float]:
    """Return the times between which an accepted bid took effect."""
    return min(r.sent for r in attempt.replies), min(r.received for r in attempt.accepted)
