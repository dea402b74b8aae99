"""What people have given on each fund-a-need, as lines for the desk and for invoices."""

from __future__ import annotations

from decimal import Decimal

from saleroom.kernel.money import ZERO
from saleroom.sales.domain.lots import Lot, TaxScheme
from saleroom.sales.domain.sale import Sale
from saleroom.sales.storage import lots
from saleroom.settlement.domain.documents.content import CREDITABLE, DocumentKind
from saleroom.settlement.domain.documents.drafting import BilledLot
from saleroom.settlement.domain.rates.bills import Bill, Charge, Item
from saleroom.settlement.storage import documents, journal
from saleroom.storage.database import Transaction

WORDS = {"en": "Donation: nothing is supplied for it", "de": "Spende ohne Gegenleistung"}


def given(tx: Transaction, sale: Sale, user_id: int) -> list[BilledLot]:
    """Return what stands in the journal of somebody's pledges, by fund-a-need."""
    posted = journal.pledged(tx, sale.id)
    if not posted:
        return []
    found = [(lot, posted.get((lot.id, user_id), ZERO)) for lot in lots.needs(tx, sale.id)]
    return [_billed(lot, amount, "en") for lot, amount in found if amount]


def to_invoice(tx: Transaction, sale: Sale, user_id: int, language: str) -> list[BilledLot]:
    """Return what somebody has given that is on no invoice yet; less than nothing if what is on one was undone."""
    posted = journal.pledged(tx, sale.id)
    if not posted:
        return []
    invoiced: dict[str, Decimal] = {}
    for one in documents.of_parties(tx, [(sale.id, user_id)], []):
        if one.document.kind in CREDITABLE:
            sign = 1
        elif one.document.kind is DocumentKind.CREDIT_NOTE:
            sign = -1
        else:
            continue
        for line in one.document.lines:
            invoiced[line.lot] = invoiced.get(line.lot, ZERO) + sign * line.total
    left = [(lot, posted.get((lot.id, user_id), ZERO) - invoiced.get(lot.gid, ZERO)) for lot in lots.needs(tx, sale.id)]
    return [_billed(lot, amount, language) for lot, amount in left if amount]


def _billed(lot: Lot, amount: Decimal, language: str) -> BilledLot:
    bill = Bill(
        scheme=TaxScheme.NONE, buyer=(Charge(item=Item.DONATION, amount=amount),), consignor=(), words=WORDS[language]
    )
    return BilledLot(gid=lot.gid, label=lot.label, name="" if lot.terms is None else lot.terms.name, bill=bill)
