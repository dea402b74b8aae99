"""The results of the lots that are over, the latest first, read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

from saleroom.bidding.domain.auction import Auction
from saleroom.bidding.service import reading
from saleroom.bidding.storage import listing
from saleroom.bidding.storage.listing import Filter, ListPlace, Sort
from saleroom.kernel.page import Page
from saleroom.storage.database import Database, Transaction
from saleroom.storage.patience import read_patiently

PAGE = 200
"""The most lots that are read in one transaction."""


async def pages(database: Database, author: str | None) -> AsyncIterator[list[Auction]]:
    """Yield the lots that are over, of one seller or of all, some at a time. Raises DatabaseUnavailable."""
    which = Filter(over=True, author=author)
    page = await read_patiently(database, _page, which, None)
    yield page.rows
    while page.next is not None:
        page = await read_patiently(database, _page, which, page.next)
        yield page.rows


def _page(tx: Transaction, which: Filter, after: ListPlace | None) -> Page[Auction, ListPlace]:
    return reading.searched(tx, lambda tx: listing.page(tx, which, Sort.ENDING, PAGE, after))
