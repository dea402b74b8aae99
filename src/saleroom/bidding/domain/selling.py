"""The author's part: create, amend, arrange photos, cancel, announce the end, close."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec import Struct, structs

from saleroom.bidding.domain.auction import (
    TERMS,
    Auction,
    Status,
    refuse_if_over,
    refuse_if_taken_down,
    refuse_unless_author,
)
from saleroom.bidding.domain.closing import close, open_if_due
from saleroom.bidding.domain.errors import (
    AuctionNotStarted,
    AuctionStarted,
    EndsByItself,
    HasBids,
    TooManyAuctions,
)
from saleroom.bidding.domain.events import (
    AuctionAmended,
    AuctionCancelled,
    AuctionCreated,
    AuctionOpened,
    Event,
    PhotosArranged,
    ShownPhoto,
    SoftClose,
)
from saleroom.bidding.domain.increments import DEFAULT_LADDER, Ladder
from saleroom.bidding.domain.pausing import refuse_if_paused
from saleroom.bidding.domain.preconditions import Precondition, refuse_if_changed
from saleroom.kernel.errors import Contradiction, Fault
from saleroom.kernel.parties import Party

DEFAULT_SOFT_CLOSE = SoftClose(window=120, extension=120)
"""The soft close of an auction unless its author chooses another: two minutes for two minutes, without a cap."""
LATELY = timedelta(hours=24)
"""How far back created auctions count for `refuse_too_many`, over or not."""


class Draft(Struct, frozen=True, kw_only=True):
    """The terms of an auction to be created. Each field by itself is valid already, as forms check it."""

    name: str
    starting_price: Decimal
    description: str = ""
    reserve_price: Decimal | None = None
    buy_now_price: Decimal | None = None
    soft_close: SoftClose | None = DEFAULT_SOFT_CLOSE
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    increment: Ladder = DEFAULT_LADDER
    category: str | None = None


def create(gid: str, author: Party, draft: Draft, now: datetime, seed: str = "") -> AuctionCreated:
    """Return the event that begins an auction. `gid` and `seed` (see `kernel/chain.py`) are random.

    Raises Contradiction if the terms contradict each other or the clock.
    """
    _refuse_contradictions(draft, now)
    scheduled = draft.starts_at is not None and draft.starts_at > now
    return AuctionCreated(
        at=now,
        gid=gid,
        author=author.name,
        author_id=author.id,
        increment=draft.increment.tiers,
        status=Status.SCHEDULED if scheduled else Status.OPEN,
        seed=seed,
        minimum_bid=draft.starting_price,
        reserve_met=None if draft.reserve_price is None else False,
        **{name: getattr(draft, name) for name in TERMS},
    )


def refuse_too_many(running: int, earlier: datetime | None, most: int, now: datetime) -> None:
    """Raise TooManyAuctions if an author may not create one more.

    `running` of theirs are scheduled or open, and at most `most` may be. At most as many may be created within `LATELY`, so
    that creating and cancelling does not pile them up. `earlier` is when the author created the `most`-th last one, if any.
    """
    if running >= most or (earlier is not None and earlier > now - LATELY):
        raise TooManyAuctions(limit=most)


def amend(
    auction: Auction,
    author: Party,
    changes: dict[str, Any],
    now: datetime,
    seen: Precondition | None = None,
    photos: Sequence[ShownPhoto] = (),
) -> list[Event]:
    """Return what `changes` (some of `TERMS`, by name) make of an auction before its first bid, which shows `photos`.

    Without a change in effect there is no event. Raises NotAuthor, AuctionOver, HasBids, PreconditionFailed, TermsChanged,
    AuctionStarted or Contradiction.
    """
    now = auction.not_before(now)
    opening, auction = _before_first_bid(auction, author, now, seen)
    refuse_if_paused(auction)
    draft = _draft(auction, changes)
    if draft.starts_at != auction.starts_at and auction.status != Status.SCHEDULED:
        raise AuctionStarted(starts_at=auction.starts_at)
    if draft == _draft(auction, {}):
        return opening
    _refuse_contradictions(draft, now)
    if draft == _draft(auction, {"category": draft.category}):
        return [*opening, PhotosArranged(at=now, photos=tuple(photos), category=draft.category)]
    event = _amended(auction, changes, now)
    # A start moved into the past opens the auction now: events are in order of time.
    return [*opening, event, *(AuctionOpened(at=now) for _ in open_if_due(auction.after(event), now))]


def arrange(
    auction: Auction, author: Party, photos: Sequence[ShownPhoto], now: datetime, seen: Precondition | None = None
) -> list[Event]:
    """Return what happens when the author chooses exactly `photos`, other than those shown, before the first bid.

    Raises NotAuthor, AuctionOver, HasBids, PreconditionFailed or TermsChanged.
    """
    now = auction.not_before(now)
    opening, _ = _before_first_bid(auction, author, now, seen)
    refuse_if_paused(auction)
    return [*opening, PhotosArranged(at=now, photos=tuple(photos), category=auction.category)]


def cancel(auction: Auction, author: Party, now: datetime, seen: Precondition | None = None) -> list[Event]:
    """Return the cancellation of an auction before its first bid.

    Raises NotAuthor, AuctionOver, HasBids, PreconditionFailed or TermsChanged.
    """
    now = auction.not_before(now)
    opening, _ = _before_first_bid(auction, author, now, seen)
    return [*opening, AuctionCancelled(at=now)]


def announce_end(
    auction: Auction, author: Party, ends_at: datetime, now: datetime, seen: Precondition | None = None
) -> list[Event]:
    """Return the announcement of the end of an auction that had none.

    Raises NotAuthor, AuctionOver, EndsByItself, PreconditionFailed, TermsChanged, or Contradiction if `ends_at` contradicts
    the clock, start or cap.
    """
    now = auction.not_before(now)
    opening, auction = _without_end(auction, author, now, seen)
    changes: dict[str, Any] = {"ends_at": ends_at}
    _refuse_contradictions(_draft(auction, changes), now)
    return [*opening, _amended(auction, changes, now)]


def close_now(auction: Auction, author: Party, now: datetime, seen: Precondition | None = None) -> list[Event]:
    """Return the close of an auction without an end by its author.

    Raises NotAuthor, AuctionOver, EndsByItself, PreconditionFailed, TermsChanged, TakenDown or AuctionNotStarted.
    """
    now = auction.not_before(now)
    opening, auction = _without_end(auction, author, now, seen)
    refuse_if_taken_down(auction)
    if auction.status == Status.SCHEDULED:
        raise AuctionNotStarted(starts_at=auction.starts_at)
    return [*opening, close(auction, now)]


def refuse_unless_amendable(auction: Auction, author: Party, now: datetime, seen: Precondition | None = None) -> None:
    """Raise NotAuthor, AuctionOver, HasBids, PreconditionFailed or TermsChanged if `author` may not change the auction."""
    _before_first_bid(auction, author, now, seen)
    refuse_if_paused(auction)


def _before_first_bid(
    auction: Auction, author: Party, now: datetime, seen: Precondition | None
) -> tuple[list[Event], Auction]:
    refuse_unless_author(auction, author)
    refuse_if_over(auction, now)
    if auction.leader is not None:
        raise HasBids
    refuse_if_changed(auction, seen)
    opening = open_if_due(auction, now)
    return opening, auction.after_all(opening)


def _without_end(
    auction: Auction, author: Party, now: datetime, seen: Precondition | None
) -> tuple[list[Event], Auction]:
    refuse_unless_author(auction, author)
    refuse_if_over(auction, now)
    if auction.ends_at is not None:
        raise EndsByItself(ends_at=auction.ends_at)
    refuse_if_paused(auction)
    refuse_if_changed(auction, seen)
    opening = open_if_due(auction, now)
    return opening, auction.after_all(opening)


def _draft(auction: Auction, changes: dict[str, Any]) -> Draft:
    terms: dict[str, Any] = {name: getattr(auction, name) for name in TERMS}
    return Draft(**(terms | changes))


def _amended(auction: Auction, changes: dict[str, Any], now: datetime) -> AuctionAmended:
    changed = structs.replace(auction, **changes)
    terms = {name: getattr(changed, name) for name in TERMS}
    return AuctionAmended(at=now, minimum_bid=changed.minimum_bid, reserve_met=changed.reserve_met, **terms)


def _refuse_contradictions(draft: Draft, now: datetime) -> None:
    """Raise Contradiction with every fault. The end of a running auction is ahead, otherwise the auction would be over."""
    faults: dict[str, list[Fault]] = {}

    def fault(field: str, code: str, message: str) -> None:
        faults.setdefault(field, []).append(Fault(code, message))

    if draft.reserve_price is not None and draft.reserve_price < draft.starting_price:
        fault("reserve_price", "below_starting_price", "must be at least the starting price")
    if draft.buy_now_price is not None:
        if draft.buy_now_price < draft.starting_price:
            fault("buy_now_price", "below_starting_price", "must be at least the starting price")
        if draft.reserve_price is not None and draft.buy_now_price < draft.reserve_price:
            fault("buy_now_price", "below_reserve_price", "must be at least the reserve price")
    if draft.ends_at is not None:
        if draft.ends_at <= now:
            fault("ends_at", "not_in_future", "must be in the future")
        if draft.starts_at is not None and draft.ends_at <= draft.starts_at:
            fault("ends_at", "not_after_start", "must be after the start")
        cap = None if draft.soft_close is None else draft.soft_close.cap
        if cap is not None and cap < draft.ends_at:
            fault("soft_close", "cap_before_end", "its cap must not be before the end")
    if faults:
        raise Contradiction(faults)
