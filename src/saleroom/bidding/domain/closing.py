"""How an auction opens and closes by the clock, and the effect of an outage (docs/rules.md, "Closing")."""

from __future__ import annotations

from datetime import datetime, timedelta

from saleroom.bidding.domain.auction import Auction, Status
from saleroom.bidding.domain.events import (
    AuctionCancelled,
    AuctionClosed,
    AuctionExtended,
    AuctionOpened,
    Event,
    Outcome,
    Reason,
)


def open_if_due(auction: Auction, now: datetime) -> list[Event]:
    """Return the opening of a scheduled auction whose start has come, dated by that start."""
    if auction.status != Status.SCHEDULED or (auction.starts_at is not None and auction.clock(now) < auction.starts_at):
        return []
    return [AuctionOpened(at=auction.starts_at or now)]


def settle(auction: Auction, now: datetime) -> list[Event]:
    """Return the events that the clock has caused by `now`: the opening, then the close. A hidden auction is not sold.

    Both are dated by the auction's start and end, not by `now`: the result is the same for each process and at any time.
    """
    events = open_if_due(auction, now)
    auction = auction.after_all(events)
    if auction.status == Status.OPEN and auction.ends_at is not None and auction.clock(now) >= auction.ends_at:
        hidden = auction.is_hidden
        events.append(AuctionCancelled(at=auction.ends_at) if hidden else close(auction, auction.ends_at))
    return events


def close(auction: Auction, at: datetime) -> AuctionClosed:
    """Return the close at `at`: `no_bids`, `reserve_not_met`, or `sold` to the leader at the visible price."""
    if auction.leader is None:
        return AuctionClosed(at=at, outcome=Outcome.NO_BIDS, winner=None, price=None)
    if auction.reserve_met is False:
        return AuctionClosed(at=at, outcome=Outcome.RESERVE_NOT_MET, winner=None, price=None)
    return AuctionClosed(at=at, outcome=Outcome.SOLD, winner=auction.leader.name, price=auction.current_bid)


def fell_into(end: datetime, window: int, began: datetime, ended: datetime) -> bool:
    """Return whether the last `window` seconds before `end` fell into the time from `began` to `ended`, wholly or in part."""
    return end > began and ended > end - timedelta(seconds=window)


def reopen_after_outage(auction: Auction, down_since: datetime, now: datetime) -> list[Event]:
    """Return the new end of an auction whose last window fell into the outage from `down_since` to `now`.

    If its start fell into the outage as well, it opens first, as events are in order of time. The window is that of the soft
    close: an auction without one, or with a cap that has passed, ends as announced. The end moves to `now` + extension, never
    earlier than it was and never past the cap (docs/rules.md, "Outage"). A clock that stands still loses nothing.
    """
    now = auction.not_before(now)
    rule, end = auction.soft_close, auction.ends_at
    if auction.over or auction.paused_at is not None or rule is None or end is None:
        return []
    if not fell_into(end, rule.window, down_since, now):
        return []
    later = now + timedelta(seconds=rule.extension)
    if rule.cap is not None:
        later = min(later, rule.cap)
    if later <= end or later <= now:
        return []
    extended = AuctionExtended(at=now, ends_at=later, reason=Reason.OUTAGE, down_since=down_since)
    return [*open_if_due(auction, now), extended]


def follow(auction: Auction, ends_at: datetime, now: datetime) -> list[Event]:
    """Return the later end of an auction that follows others of its sale and may not end before `ends_at`.

    Without an end, over, paused, or with an end late enough, it stays as it is (docs/rules.md, "Ends that follow"). So it does
    if both ends have passed: it is dated by its own end then, and no event may come after that.
    """
    now = auction.not_before(now)
    end = auction.ends_at
    if auction.over or auction.paused_at is not None or end is None or end >= ends_at or ends_at <= now:
        return []
    return [*open_if_due(auction, now), AuctionExtended(at=now, ends_at=ends_at, reason=Reason.FOLLOWS)]
