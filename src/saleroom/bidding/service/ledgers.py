"""The ledger of an auction, read page by page for anyone (docs/ledger.md)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.ledger import LedgerEvent, LedgerWriter
from saleroom.bidding.storage import event_log
from saleroom.storage.database import Database, Transaction
from saleroom.storage.patience import read_patiently

PAGE = 500
"""The most events that are read in one transaction."""
Read = Callable[[Transaction, int, int, int], Sequence[LedgerEvent]]


async def lines(database: Database, auction: Auction) -> AsyncIterator[bytes]:
    """Yield the ledger as far as `auction` has it, opened if the auction is over; some lines at a time.

    While the auction runs, pages count public events only, so that the ends of pages do not reveal hidden events.
    Raises DatabaseUnavailable.
    """
    writer = LedgerWriter(auction.chain.seed if auction.over else None)
    read: Read = event_log.logged if auction.over else event_log.published
    end = auction.position if auction.over else auction.version
    for after in range(0, end, PAGE):
        page = await read_patiently(database, read, auction.id, after, min(after + PAGE, end))
        yield b"".join(writer.of(page))
