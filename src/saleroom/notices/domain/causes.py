"""Causes: which events of the log are word, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from saleroom.bidding.domain.block_events import (
    ActUndone,
    AuctionCalled,
    AuctionDecided,
    AuctionReopened,
    BidderNamed,
    BidRetracted,
)
from saleroom.bidding.domain.events import (
    AuctionCancelled,
    AuctionClosed,
    AuctionHidden,
    AuctionShown,
    BidPlaced,
    BidVoided,
    Event,
    Outcome,
)


class Entry(Struct, frozen=True, kw_only=True):
    """An event of the log with its number there, and the lot that it is about, which is `hidden` now or not.

    `consignor_id` is the user who brought the lot to its sale, if somebody with an account did.
    """

    number: int
    auction_id: int
    gid: str
    author_id: int
    event: Event
    hidden: bool = False
    consignor_id: int | None = None

    @property
    def seller_id(self) -> int:
        """Who hears what a seller hears: the consignor, or the author if there is none with an account."""
        return self.author_id if self.consignor_id is None else self.consignor_id


class Due(Struct, frozen=True, kw_only=True):
    """A word that follows from an event.

    `receiver` None stands for all who have bid on the lot, with `watchers` also for all who watch it; but not for `without`.
    It goes by `channel` once it is for one receiver. `key` tells it from other words of its kind; empty stands for the event.
    """

    kind: str
    number: int
    auction_id: int
    gid: str
    at: datetime
    receiver: int | None
    without: frozenset[int] = frozenset()
    watchers: bool = False
    facts: Mapping[str, Any] = {}
    channel: str = "mail"
    key: str = ""

    @property
    def cause(self) -> str:
        """What caused it: nobody is told twice of one cause by words of one kind."""
        return self.key or str(self.number)


Leaders = dict[int, int]
"""The leading bidder of each auction, by number."""


def _after_bid(entry: Entry, event: BidPlaced, leaders: Leaders) -> Iterator[Due]:
    if not event.leading:
        return
    before = leaders.get(entry.auction_id)
    leaders[entry.auction_id] = event.bidder_id
    if before is not None and before != event.bidder_id:
        yield _due(entry, "outbid", before, {"amount": str(event.amount)})


def _after_void(entry: Entry, event: BidVoided, leaders: Leaders) -> Iterator[Due]:
    before = leaders.pop(entry.auction_id, None)
    if event.leader_id is not None:
        leaders[entry.auction_id] = event.leader_id
        if event.leader_id != before:
            yield _due(entry, "leading", event.leader_id)
    yield _due(entry, "voided", None, {"amount": str(event.amount), "reason": event.reason})


def _after_close(entry: Entry, event: AuctionClosed | AuctionDecided, leaders: Leaders) -> Iterator[Due]:
    """Of a bid below the reserve the seller alone hears, until they have decided."""
    if event.outcome is Outcome.CONDITIONAL:
        yield _due(entry, "decision_asked", entry.seller_id, {"price": str(event.price)})
        return
    winner = leaders.get(entry.auction_id) if event.winner is not None else None
    facts = {"price": None if event.price is None else str(event.price), "winner": event.winner}
    if winner is not None:
        yield _due(entry, "won", winner, facts)
    yield _due(entry, "sold" if winner is not None else "not_sold", entry.seller_id, facts)
    yield _due(entry, "not_won", None, facts, without=frozenset(() if winner is None else (winner,)))


def _after_name(entry: Entry, event: BidderNamed, leaders: Leaders) -> Iterator[Due]:
    leaders[entry.auction_id] = event.bidder_id
    return iter(())


def _after_retraction(entry: Entry, event: BidRetracted, leaders: Leaders) -> Iterator[Due]:
    leaders.pop(entry.auction_id, None)
    return iter(())


def _after_undoing(entry: Entry, event: ActUndone, leaders: Leaders) -> Iterator[Due]:
    """Those who were told that the lot is sold, or not, hear that it is open again."""
    leaders.pop(entry.auction_id, None)
    if event.leader_id is not None:
        leaders[entry.auction_id] = event.leader_id
    if event.act == AuctionClosed.TYPE:
        yield _due(entry, "reopened", entry.seller_id)
        yield _due(entry, "reopened", None)


def _after_reopening(entry: Entry, event: AuctionReopened, leaders: Leaders) -> Iterator[Due]:
    yield _due(entry, "reopened", entry.seller_id, {"reason": event.reason})
    yield _due(entry, "reopened", None, {"reason": event.reason})


def _after_call(entry: Entry, event: AuctionCalled, leaders: Leaders) -> Iterator[Due]:
    yield _due(entry, "called", entry.seller_id)
    yield _followers_due(entry, "called")


def _after_hide(entry: Entry, event: AuctionHidden, leaders: Leaders) -> Iterator[Due]:
    """The reason is for the seller alone."""
    yield _due(entry, "hidden", entry.seller_id, {"reason": event.hidden_for})
    yield _followers_due(entry, "hidden")


def _after_show(entry: Entry, event: AuctionShown, leaders: Leaders) -> Iterator[Due]:
    yield _due(entry, "shown", entry.seller_id)
    yield _followers_due(entry, "shown")


def _after_cancel(entry: Entry, event: AuctionCancelled, leaders: Leaders) -> Iterator[Due]:
    """The seller hears nothing of what they did themselves."""
    leaders.pop(entry.auction_id, None)
    facts = {"reason": event.reason}
    if event.reason is not None or entry.hidden:
        yield _due(entry, "cancelled", entry.seller_id, facts)
    yield _followers_due(entry, "cancelled", facts)


def _followers_due(entry: Entry, kind: str, facts: Mapping[str, Any] | None = None) -> Due:
    """Return a word for all who bid on the lot or watch it, but for its seller."""
    return _due(entry, kind, None, facts, without=frozenset((entry.seller_id,)), watchers=True)


def _due(
    entry: Entry,
    kind: str,
    receiver: int | None,
    facts: Mapping[str, Any] | None = None,
    *,
    without: frozenset[int] = frozenset(),
    watchers: bool = False,
) -> Due:
    return Due(
        kind=kind,
        number=entry.number,
        auction_id=entry.auction_id,
        gid=entry.gid,
        at=entry.event.at,
        receiver=receiver,
        without=without,
        watchers=watchers,
        facts=facts or {},
    )


CAUSES: Mapping[type[Event], Callable[[Entry, Any, Leaders], Iterator[Due]]] = {
    BidPlaced: _after_bid,
    BidVoided: _after_void,
    BidderNamed: _after_name,
    BidRetracted: _after_retraction,
    ActUndone: _after_undoing,
    AuctionCalled: _after_call,
    AuctionReopened: _after_reopening,
    AuctionDecided: _after_close,
    AuctionClosed: _after_close,
    AuctionHidden: _after_hide,
    AuctionShown: _after_show,
    AuctionCancelled: _after_cancel,
}
"""What follows from each kind of event; from the others nothing does."""

TYPES = tuple(kind.TYPE for kind in CAUSES)


def words_due(entries: Iterable[Entry], leaders: Mapping[int, int]) -> list[Due]:
    """Return the words that follow from events of the log, which are in order.

    `leaders` are the leading bidders before the first of them.
    """
    now = dict(leaders)
    return [due for entry in entries for due in CAUSES[type(entry.event)](entry, entry.event, now)]
