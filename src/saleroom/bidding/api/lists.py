"""The lists that come by page, and the form of a place in each."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from saleroom.bidding.storage.listing import ListPlace
from saleroom.bidding.storage.mine import RankPlace
from saleroom.http.cursors import CursorKind
from saleroom.storage.schema import NUMBER_MAX


class JsonPage(Struct, frozen=True):
    """A page of a list as JSON, and the cursor of the next one; None on the last.

    The read makes both: all who ask for the same at the same time share them (`storage/batching.py`).
    """

    json: bytes
    cursor: str | None


_Number = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]

AUCTIONS = CursorKind("auctions", ListPlace)
BIDS = CursorKind("bids", Annotated[int, Meta(ge=0, le=2**31 - 1)])
BID_ON = CursorKind("auctions with my bids", _Number)
WATCHED = CursorKind("watched auctions", _Number)
DEALINGS = CursorKind("dealings", RankPlace)
