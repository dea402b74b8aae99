"""Recording decisions: the steps of auctions, written together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from saleroom.bidding.domain.auction import Auction, begin
from saleroom.bidding.domain.events import AuctionCreated, BidPlaced, Event
from saleroom.bidding.domain.ledger import Entry, enter
from saleroom.bidding.storage import auctions, bids, event_log
from saleroom.storage.database import Transaction

Step = tuple[Auction, Event, Entry]
"""An event, its auction right after it, and its entry in the ledger."""


def steps(auction: Auction, events: Iterable[Event]) -> list[Step]:
    """Return the steps of `auction` through `events`."""
    taken = []
    for event in events:
        auction, entry = enter(auction.after(event), event)
        taken.append((auction, event, entry))
    return taken


def begin_ledger(tx: Transaction, created: AuctionCreated, sale_id: int | None = None) -> Auction:
    """Write the auction that `created` begins, in the sale `sale_id` if there is one, and return it.

    Raises IntegrityError if its gid exists already.
    """
    auction, entry = enter(begin(0, created), created)
    auction = auctions.insert_auction(tx, structs.replace(auction, sale_id=sale_id))
    event_log.append(tx, [(auction, created, entry)])
    return auction


def begin_ledgers(tx: Transaction, created: Sequence[AuctionCreated], sale_id: int) -> list[Auction]:
    """Write the auctions of a sale that `created` begin, and return them in their order. Raises IntegrityError as above."""
    stored: list[Auction] = []
    for some in tx.in_pieces(created):
        begun = [enter(begin(0, event), event) for event in some]
        new = auctions.insert_auctions(tx, [structs.replace(auction, sale_id=sale_id) for auction, _ in begun])
        event_log.append(
            tx, [(auction, event, entry) for auction, event, (_, entry) in zip(new, some, begun, strict=True)]
        )
        stored += new
    return stored


def record(tx: Transaction, taken: Sequence[Step]) -> None:
    """Write the auctions after their last step, the log, and the bids."""
    auctions.save(tx, (auction for auction, _, _ in taken), {type(event) for _, event, _ in taken})
    event_log.append(tx, taken)
    bids.add(tx, [(auction, event) for auction, event, _ in taken if isinstance(event, BidPlaced)])


def advance(tx: Transaction, auction: Auction, events: Iterable[Event]) -> Auction:
    """Record `events` and return the auction after them."""
    taken = steps(auction, events)
    record(tx, taken)
    return taken[-1][0] if taken else auction
