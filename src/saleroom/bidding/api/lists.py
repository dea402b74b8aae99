"""The lists that are read by page, and what a place in each of them is made of."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from saleroom.bidding.storage.listing import NUMBER_MAX, Mark
from saleroom.bidding.storage.mine import Place
from saleroom.http.cursors import List

_Number = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]

AUCTIONS = List("auctions", Mark)
BIDS = List("bids", Annotated[int, Meta(ge=0, le=2**31 - 1)])
BID_ON = List("auctions with my bids", _Number)
WATCHED = List("watched auctions", _Number)
DEALINGS = List("dealings", Place)
