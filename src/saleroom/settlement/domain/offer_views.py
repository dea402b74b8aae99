"""The JSON of after-sale offers."""

from __future__ import annotations

from msgspec import Struct


class OfferView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot that is offered after the sale to somebody or `to_all`, and what has become of that.

    `paddle` is null for an offer to all until one of them has accepted it; the others never see it.
    """

    offer: str
    sale: str
    sale_title: str
    label: str
    lot_name: str
    lot_gid: str
    paddle: int | None
    person_name: str
    offer_price: str
    offered_at: str
    offer_until: str
    offer_state: str
    to_all: bool


class UnsoldLotView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot that was not sold. `highest_bid` and `paddle` are those of the bidder who came closest, null if nobody bid."""

    label: str
    lot_name: str
    highest_bid: str | None
    paddle: int | None


class OffersView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The lots of a sale that can be offered, and its offers, the latest first."""

    sale: str
    lots_to_offer: list[UnsoldLotView]
    offers: list[OfferView]


class OwnOffersView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The offers to a user, the latest first."""

    offers: list[OfferView]
