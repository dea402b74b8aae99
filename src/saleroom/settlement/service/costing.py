"""What buying in a sale costs beside the hammer price: for everybody who may see the sale."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from saleroom.bidding.domain.events import Channel
from saleroom.sales.domain.lots import Lot
from saleroom.sales.domain.sale import Sale
from saleroom.sales.service.access import get_lot, get_one, is_staff, viewer_of
from saleroom.sales.storage import lots
from saleroom.settlement.domain.rates.bills import Hammer, bill
from saleroom.settlement.domain.rates.costs import CostsView, costs_view
from saleroom.settlement.service.billing import card_now
from saleroom.storage.database import Transaction


class Costs(Struct, frozen=True):
    """A sale with what buying in it, or buying `lot`, costs."""

    sale: Sale
    lot: Lot | None
    found: CostsView


def costs(
    tx: Transaction,
    token: str | None,
    gid: str,
    label: str | None,
    price: Decimal | None,
    channel: Channel,
    places: int,
) -> Costs:
    """Return what the buyer of a lot with this number, or of any lot, pays by the rates of today.

    Raises Unauthenticated, UnknownSale or UnknownLot.
    """
    sale = get_one(tx, gid, staff=is_staff(viewer_of(tx, token)))
    lot = None if label is None else get_lot(tx, sale, label)
    [one] = [None] if lot is None else lots.with_auctions(tx, [lot])
    scheme = None if lot is None else lot.entry.tax_scheme
    card = card_now(tx, sale, one)
    hammer = Hammer(price=price, on=tx.now().date(), channel=channel, scheme=scheme)
    for_all, for_members = bill(card, hammer, places), bill(card, replace(hammer, buyer_member=True), places)
    return Costs(sale, lot, costs_view(card, for_all, for_members))
