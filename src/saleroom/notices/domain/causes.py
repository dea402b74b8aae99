"""Causes: which events of the log are word, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from saleroom.bidding.domain.events import AuctionClosed, BidPlaced, BidVoided, Event


class Entry(Struct, frozen=True, kw_only=True):
    """An event of the log with its number there, and the lot that it is about."""

    number: int
    auction_id: int
    gid: str
    author_id: int
    event: Event


class Due(Struct, frozen=True, kw_only=True):
    """A word that follows from an event. `receiver` None stands for all who have bid on the lot, but for those in `without`."""

    kind: str
    number: int
    auction_id: int
    gid: str
    at: datetime
    receiver: int | None
    without: frozenset[int] = frozenset()
    facts: Mapping[str, Any] = {}


Leaders = dict[int, int]
"""The leading bidder of each auction, by number."""


def _after_bid(entry: Entry, event: BidPlaced, leaders: Leaders) -> Iterator[Due]:
    if not event.leading:
        return
    before = leaders.get(entry.auction_id)
    leaders[entry.auction_id] = event.bidder_id
    if before is not None and before != event.bidder_id:
        yield _due(entry, "outbid", before)


def _after_void(entry: Entry, event: BidVoided, leaders: Leaders) -> Iterator[Due]:
    before = leaders.pop(entry.auction_id, None)
    if event.leader_id is not None:
        leaders[entry.auction_id] = event.leader_id
        if event.leader_id != before:
            yield _due(entry, "leading", event.leader_id)
    yield _due(entry, "voided", None, {"amount": str(event.amount), "reason": event.reason})


def _after_close(entry: Entry, event: AuctionClosed, leaders: Leaders) -> Iterator[Due]:
    winner = leaders.get(entry.auction_id) if event.winner is not None else None
    facts = {"price": None if event.price is None else str(event.price), "winner": event.winner}
    if winner is not None:
        yield _due(entry, "won", winner, facts)
    yield _due(entry, "sold" if winner is not None else "not_sold", entry.author_id, facts)
    yield _due(entry, "not_won", None, facts, without=frozenset(() if winner is None else (winner,)))


def _due(
    entry: Entry,
    kind: str,
    receiver: int | None,
    facts: Mapping[str, Any] | None = None,
    *,
    without: frozenset[int] = frozenset(),
) -> Due:
    return Due(
        kind=kind,
        number=entry.number,
        auction_id=entry.auction_id,
        gid=entry.gid,
        at=entry.event.at,
        receiver=receiver,
        without=without,
        facts=facts or {},
    )


CAUSES: Mapping[type[Event], Callable[[Entry, Any, Leaders], Iterator[Due]]] = {
    BidPlaced: _after_bid,
    BidVoided: _after_void,
    AuctionClosed: _after_close,
}
"""What follows from each kind of event; from the others nothing does."""

TYPES = tuple(kind.TYPE for kind in CAUSES)


def words_due(entries: Iterable[Entry], leaders: Mapping[int, int]) -> list[Due]:
    """Return the words that follow from events of the log, which are in order.

    `leaders` are the leading bidders before the first of them.
    """
    now = dict(leaders)
    return [due for entry in entries for due in CAUSES[type(entry.event)](entry, entry.event, now)]
