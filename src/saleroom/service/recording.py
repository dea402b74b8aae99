"""From a decision to the records: the steps of an auction, written together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from saleroom.domain.auction import Auction
from saleroom.domain.errors import UnknownAuction
from saleroom.domain.events import AuctionAmended, BidPlaced, Event
from saleroom.storage import auctions, bids, log
from saleroom.storage.database import Transaction

Step = tuple[Auction, Event]
"""An event, and its auction as it is right after it."""


def steps(auction: Auction, events: Iterable[Event]) -> list[Step]:
    """Return what each of `events` makes of `auction`, one after the other."""
    taken = []
    for event in events:
        auction = auction.after(event)
        taken.append((auction, event))
    return taken


def record(tx: Transaction, taken: Sequence[Step]) -> None:
    """Write what has been decided: the auctions as they are after their last step, the log, and the bids."""
    amended = any(isinstance(event, AuctionAmended) for _, event in taken)
    auctions.save(tx, (auction for auction, _ in taken), terms=amended)
    log.append(tx, taken)
    bids.add(tx, [(auction, event) for auction, event in taken if isinstance(event, BidPlaced)])


def lock_one(tx: Transaction, gid: str) -> Auction:
    """Return the auction, locked. Raises UnknownAuction."""
    found = auctions.lock(tx, [gid]).get(gid)
    if found is None:
        raise UnknownAuction
    return found


def advance(tx: Transaction, auction: Auction, events: Iterable[Event]) -> Auction:
    """Record `events` and return the auction after them."""
    taken = steps(auction, events)
    record(tx, taken)
    return taken[-1][0] if taken else auction
