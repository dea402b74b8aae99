"""The results of the lots that are over, the latest first, read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.service import reading
from saleroom.bidding.storage import listing
from saleroom.bidding.storage.listing import Filter, ListPlace, Sort
from saleroom.storage.database import Database, Transaction
from saleroom.storage.patience import read_patiently

PAGE = 200
"""The most lots that are read in one transaction."""
RESULTS_MAX = 50_000
"""The most lots of one file."""


async def pages(database: Database, author: str | None) -> AsyncIterator[list[Auction]]:
    """Yield the lots that are over, of one seller or of all, some at a time. Raises DatabaseUnavailable."""
    which, place = Filter(over=True, author=author), None
    for _ in range(RESULTS_MAX // PAGE):
        found, place = await read_patiently(database, _page, which, place)
        yield found
        if place is None:
            return


def _page(tx: Transaction, which: Filter, after: ListPlace | None) -> tuple[list[Auction], ListPlace | None]:
    return reading.searched(tx, lambda tx: listing.page(tx, which, Sort.ENDING, PAGE, after))
