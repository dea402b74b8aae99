"""The JSON of after-sale offers."""

from __future__ import annotations

from msgspec import Struct


class OfferView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot that is offered after the sale to somebody or `to_all`, and what has become of that.

    `paddle` is null for an offer to all until one of them has accepted it; the others never see it. `offer_total` is what the
    reader would pay in all, with premium and tax; null for staff, and once the offer has ended.
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
    offer_total: str | None
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


class GoneLotView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot that was not sold and is in another sale by now, or went back to its consignor: the next sale is null then."""

    label: str
    lot_name: str
    gone_at: str
    next_sale: str | None
    next_sale_title: str | None
    next_label: str | None


class NextSaleView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A sale that is not over, which a lot of another one can be put into."""

    sale: str
    sale_title: str


class OffersView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The lots of a sale that can be offered, what became of the other unsold ones, and its offers, the latest first.

    Lots of a sale that `is_timed` are offered to nobody; they can be put into another sale.
    """

    sale: str
    is_timed: bool
    lots_to_offer: list[UnsoldLotView]
    gone_lots: list[GoneLotView]
    next_sales: list[NextSaleView]
    offers: list[OfferView]


class OwnOffersView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The offers to a user, the latest first."""

    offers: list[OfferView]


class PlannedOfferView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot that is offered to the bidder who came closest."""

    label: str
    lot_name: str
    paddle: int
    person_name: str
    offer_price: str


class LeftOutLotView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot that was not sold and is not offered: `why` is `no_bid`, `no_paddle`, or the code of what refuses the offer."""

    label: str
    lot_name: str
    why: str


class UnderbidderPlanView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which lots of a sale are offered to their underbidders, and which are left out. `plan_tag` names just this plan."""

    sale: str
    planned_offers: list[PlannedOfferView]
    left_out_lots: list[LeftOutLotView]
    plan_tag: str
