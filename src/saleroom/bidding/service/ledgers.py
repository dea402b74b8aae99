"""The ledger of an auction, read page by page for anyone (docs/ledger.md)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.domain.ledger import LedgerEvent, LedgerWriter
from saleroom.bidding.storage import event_log
from saleroom.storage.database import Database, SharedPart, Transaction
from saleroom.storage.patience import read_patiently

OPENS: SharedPart[Callable[[Transaction, Auction], bool]] = SharedPart()
"""Whether the ledger of a lot of a sale, which is over, may be opened: the area of sales says so."""
PAGE = 500
"""The most events that are read in one transaction."""
Read = Callable[[Transaction, int, int, int], Sequence[LedgerEvent]]


async def lines(database: Database, auction: Auction) -> AsyncIterator[bytes]:
    """Yield the ledger as far as `auction` has it, opened if the auction is over for good; some lines at a time.

    While it is not opened, pages count public events only, so that the ends of pages do not reveal hidden events.
    Raises DatabaseUnavailable.
    """
    opened = auction.over and (auction.sale_id is None or await read_patiently(database, _opens, auction))
    writer = LedgerWriter(auction.chain.seed if opened else None)
    read: Read = event_log.logged if opened else event_log.published
    end = auction.position if opened else auction.version
    for after in range(0, end, PAGE):
        page = await read_patiently(database, read, auction.id, after, min(after + PAGE, end))
        yield b"".join(writer.of(page))


def _opens(tx: Transaction, auction: Auction) -> bool:
    opens = tx.provided(OPENS)
    return opens is None or opens(tx, auction)
