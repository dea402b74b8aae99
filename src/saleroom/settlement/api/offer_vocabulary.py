"""The words of the API's document that are about after-sale offers."""

from __future__ import annotations

from typing import Any

from saleroom.http.schemas import GID_PATTERN, INSTANT, MONEY, Schema
from saleroom.settlement.domain.errors import OfferEnded
from saleroom.settlement.domain.unsold.offers import OfferState

_STATES: Schema = {"enum": list(OfferState)}
MEMBERS: dict[str, tuple[Schema, str]] = {
    "offer": ({"pattern": GID_PATTERN}, "The offer."),
    "offers": ({}, "The offers, the latest first."),
    "lotsToOffer": ({}, "The lots that were not sold and are offered to nobody now."),
    "highestBid": (MONEY, "What was bid at most; null if nobody bid."),
    "goneLots": ({}, "The lots that are in another sale by now, or went back to their consignors."),
    "goneAt": (INSTANT, "When that was."),
    "nextSale": ({"pattern": GID_PATTERN}, "The sale that the lot is in now; null if it went back to its consignor."),
    "nextSaleTitle": ({}, "The title of that sale."),
    "nextLabel": ({}, "The number of the lot in that sale."),
    "nextSales": ({}, "Sales that are not over, which a lot can be put into."),
    "offerPrice": (MONEY, "For how much the lot is offered, as a hammer price."),
    "offerTotal": (
        MONEY,
        "What the caller would pay in all, with premium and tax; null for staff, and once the offer has ended.",
    ),
    "offeredAt": (INSTANT, "When it was offered."),
    "offerUntil": (INSTANT, "The end of the offer."),
    "isTimed": ({}, "Whether a clock ends its lots; these are offered to nobody."),
    "plannedOffers": ({}, "The lots that are offered, in the order of calling."),
    "leftOutLots": ({}, "The lots that were not sold and are not offered, in the order of calling."),
    "planTag": ({"pattern": "^[0-9a-f]{64}$"}, "What the plan is known by; sent back, just this plan is done."),
    "why": ({"pattern": "^[a-z_]+$"}, "Why it is not offered: nobody has bid, no paddle, or the code of a refusal."),
    "toAll": (
        {},
        "Whether it is offered to all who have a paddle in the sale; the first one who accepts it buys the lot.",
    ),
    "offerState": (_STATES, "What has become of the offer."),
}
FACTS: dict[Any, dict[str, Schema]] = {OfferEnded: {"state": {**_STATES, "description": "What has become of it."}}}
