"""The JSON shapes of answers, paging, and the few helpers that all endpoints share."""

from __future__ import annotations

from msgspec import Struct

from saleroom.bidding.domain.views import AuctionView, BidView
from saleroom.bidding.service.reading import MyBid


class PhotoFileView(Struct, frozen=True):
    """A photo in one width."""

    width: int
    url: str


class PhotoView(Struct, frozen=True):
    """A photo; its size is that of the widest file."""

    id: str
    width: int
    height: int
    files: list[PhotoFileView]


class PhotosView(Struct, frozen=True):
    """An auction's photos, in their order; the first one stands for the lot in lists."""

    photos: list[PhotoView]


class AuctionPage(Struct, frozen=True):
    """A page of auctions; `next` is the cursor of the next page, or null at the end."""

    auctions: list[AuctionView]
    next: str | None


class BidPage(Struct, frozen=True):
    """A page of an auction's bids, newest first."""

    bids: list[BidView]
    next: str | None


class MyBidPage(Struct, frozen=True):
    """A page of the auctions on which one has bid."""

    bids: list[MyBid]
    next: str | None


class TimeView(Struct, frozen=True):
    """What the clock of the house says."""

    time: str


class KeyView(Struct, frozen=True):
    """A public key as a JSON Web Key (RFC 7517, RFC 8037)."""

    kty: str
    crv: str
    alg: str
    use: str
    kid: str
    x: str


class HouseView(Struct, frozen=True, rename="camel"):
    """What the house says of itself to whoever checks it."""

    service: str
    service_version: str
    ledger_format: int
    keys: list[KeyView]
