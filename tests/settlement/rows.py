"""Settlement as rows: a rate card in two versions, and choices of it."""

from decimal import Decimal

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.parties import Party
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import lots
from saleroom.settlement.domain.rates import RateCard
from saleroom.settlement.domain.scales import Scale, Tier
from saleroom.settlement.domain.tax import Country
from saleroom.settlement.storage import rates
from saleroom.settlement.storage.tables import rate_choices
from saleroom.storage.database import Transaction

CARD = RateCard(
    premium=Scale((Tier(Decimal("0.000"), Decimal("25.000")),)),
    surcharges={Channel.ONLINE: Decimal("3.000")},
    country=Country.DE,
)


def furnish(tx: Transaction, sale: Sale, staff: Party, said: str) -> None:
    """Store a rate card whose name is `said`, and have it chosen for the sale, a lot and a consignor."""
    card = rates.add(tx, "card", said)
    for number in (1, 2):
        rates.add_version(tx, card, number, CARD, staff.id)
    lot = lots.of_sale(tx, sale.id)[0]
    assert lot.entry.consignor_id is not None
    rates.choose(tx, card, rate_choices.c.sale_id, sale.id, staff.id)
    rates.choose(tx, None, rate_choices.c.lot_id, lot.id, staff.id)
    rates.choose(tx, card, rate_choices.c.consignor_id, lot.entry.consignor_id, staff.id)
