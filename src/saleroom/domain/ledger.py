"""Replay: the log alone gives back the auction, bit by bit."""

from __future__ import annotations

from collections.abc import Iterable

from saleroom.domain.auction import Auction, begin
from saleroom.domain.events import AuctionCreated, Event


def replay(auction_id: int, events: Iterable[Event]) -> Auction:
    """Return the auction that `events`, from its creation on and in order, lead to.

    Raises ValueError where they do not start with its creation.
    """
    log = iter(events)
    first = next(log, None)
    if not isinstance(first, AuctionCreated):
        raise ValueError(f"auction {auction_id}: the log does not start with {AuctionCreated.TYPE}")
    return begin(auction_id, first).after_all(log)
