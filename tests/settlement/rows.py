"""Settlement as rows: a rate card in two versions, and choices of it."""

from decimal import Decimal

from msgspec import structs

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.parties import Party as User
from saleroom.sales.domain.lots import Lot, TaxScheme
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import lots
from saleroom.settlement.domain.documents import Draft, Kind, Line, Party
from saleroom.settlement.domain.rates import RateCard
from saleroom.settlement.domain.scales import Scale, Tier
from saleroom.settlement.domain.tax import Country
from saleroom.settlement.service.documents import credit, issue
from saleroom.settlement.storage import rates
from saleroom.settlement.storage.documents import Owner
from saleroom.settlement.storage.tables import rate_choices
from saleroom.storage.database import Transaction

CARD = RateCard(
    premium=Scale((Tier(Decimal("0.000"), Decimal("25.000")),)),
    surcharges={Channel.ONLINE: Decimal("3.000")},
    country=Country.DE,
)


def furnish(tx: Transaction, sale: Sale, staff: User, said: str) -> None:
    """Store a rate card whose name is `said`, and have it chosen for the sale, a lot and a consignor."""
    card = rates.add(tx, "card", said)
    for number in (1, 2):
        rates.add_version(tx, card, number, CARD, staff.id)
    lot = lots.of_sale(tx, sale.id)[0]
    assert lot.entry.consignor_id is not None
    rates.choose(tx, card, rate_choices.c.sale_id, sale.id, staff.id)
    rates.choose(tx, None, rate_choices.c.lot_id, lot.id, staff.id)
    rates.choose(tx, card, rate_choices.c.consignor_id, lot.entry.consignor_id, staff.id)
    _issue(tx, sale, lot, staff, said)


def _issue(tx: Transaction, sale: Sale, lot: Lot, buyer: User, said: str) -> None:
    """Issue an invoice for a lot, take a line of it back, and issue the statement for the lot."""
    owner, numbers = Owner(sale_id=sale.id, user_id=buyer.id), {lot.gid: lot.id}
    line = Line(text=said, net=Decimal("10.000"), scheme=TaxScheme.NONE, lot=lot.gid, label=lot.label)
    house = Party(name=said)
    draft = Draft(
        kind=Kind.INVOICE, language="en", currency="EUR", house=house, party=house, sale=said, lines=(line, line)
    )
    made = issue(tx, draft, owner, numbers)
    credit(tx, made.gid, [1])
    statement = structs.replace(draft, kind=Kind.STATEMENT)
    issue(tx, statement, Owner(sale_id=sale.id, consignor_id=lot.entry.consignor_id), numbers)
