"""Pages of lists that many readers ask for at the same time."""

import asyncio
from typing import Any

import msgspec
import pytest

from saleroom.bidding.api.auctions import auction_page
from saleroom.bidding.api.bids import bid_page
from saleroom.bidding.storage.listing import Filter, Sort
from saleroom.http.cursors import CursorKind, Cursors
from saleroom.storage.batching import SharedReads
from saleroom.storage.database import Database
from tests.bidding.service.people import bid, person, sells

pytestmark = pytest.mark.databases("sqlite")


class CountedCursors(Cursors):
    """Cursors that count the pages for which they were asked."""

    def __init__(self) -> None:
        self.asked = 0

    def next_page(self, of: CursorKind, place: Any | None) -> str | None:
        """Return a text that no other page has; None for the last page."""
        self.asked += 1
        return None if place is None else f"{of.name} {self.asked}"


async def test_readers_of_the_same_page_share_its_json_and_its_cursor(database: Database) -> None:
    """A page is made once for all who ask for it at the same time, and for each reader with a token of their own."""
    ada, bob = [await person(database) for _ in range(2)]
    lots = [await sells(database, ada) for _ in range(2)]
    for amount in ("100", "110"):
        assert ["accepted"] == await bid(database, (await person(database)).bids(lots[0], amount))
    reads, cursors = SharedReads(database), CountedCursors()
    listed = [(token, Filter(), Sort.NEWEST, 1, None) for token in (None, bob.token, None, None, bob.token)]
    pages = await asyncio.gather(*(reads.ask(auction_page, cursors, *each) for each in listed))
    assert 2 == cursors.asked
    assert [pages[0], pages[1], pages[0], pages[0], pages[1]] == pages
    page = msgspec.json.decode(pages[0].json)
    assert [lots[1]] == [one["gid"] for one in page["auctions"]]
    assert page["next"] == pages[0].cursor is not None

    histories = await asyncio.gather(*(reads.ask(bid_page, cursors, lots[0], None, 1, None) for _ in range(4)))
    assert 3 == cursors.asked
    history = msgspec.json.decode(histories[0].json)
    assert ["110.000"] == [one["amount"] for one in history["bids"]]
    assert [history["next"]] * 4 == [each.cursor for each in histories]
