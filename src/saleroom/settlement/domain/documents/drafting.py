"""Drafting: the lines of invoices and statements, from the bills of lots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from saleroom.settlement.domain.documents.content import Line
from saleroom.settlement.domain.rates.bills import Bill, Charge, Item

ITEMS: Mapping[Item, tuple[str, str]] = {
    Item.HAMMER: ("Hammer price", "Zuschlag"),
    Item.PREMIUM: ("Buyer's premium", "Aufgeld"),
    Item.SURCHARGE: ("Surcharge for the way of bidding", "Zuschlag für den Bietweg"),
    Item.RESALE_RIGHT: ("Artist's resale right", "Folgerecht"),
    Item.COMMISSION: ("Seller's commission", "Abgeld"),
    Item.ENTRY: ("Entry fee", "Aufnahmegebühr"),
    Item.PHOTO: ("Photo fee", "Fotogebühr"),
    Item.UNSOLD: ("Fee for an unsold lot", "Rückgangsgebühr"),
    Item.INSURANCE: ("Insurance", "Versicherung"),
    Item.DONATION: ("Donation", "Spende"),
}
OF_MEMBERS: Mapping[Item, tuple[str, str]] = {
    Item.PREMIUM: ("Buyer's premium for members", "Aufgeld für Mitglieder"),
    Item.COMMISSION: ("Seller's commission for members", "Abgeld für Mitglieder"),
}
"""What lines by the scales of members are about."""
NAME_MAX = 120


class BilledLot(Struct, frozen=True, kw_only=True):
    """A lot with what it costs and brings."""

    gid: str
    label: str
    name: str
    bill: Bill


def buyer_lines(lots: Iterable[BilledLot], language: str) -> tuple[Line, ...]:
    """Return the lines of an invoice."""
    return tuple(_line(lot, charge, language) for lot in lots for charge in lot.bill.buyer)


def consignor_lines(lots: Iterable[BilledLot], language: str) -> tuple[Line, ...]:
    """Return the lines of a statement."""
    return tuple(_line(lot, charge, language) for lot in lots for charge in lot.bill.consignor)


def _line(lot: BilledLot, charge: Charge, language: str) -> Line:
    item = (OF_MEMBERS if charge.member else ITEMS)[charge.item][language == "de"]
    name = lot.name if len(lot.name) <= NAME_MAX else f"{lot.name[: NAME_MAX - 1].rstrip()}…"
    return Line(
        text=f"{name}: {item}"
        if charge.item is Item.HAMMER or (charge.item is Item.DONATION and not lot.bill.consignor)
        else item,
        net=charge.amount,
        scheme=lot.bill.scheme,
        rate=charge.rate,
        tax=charge.tax,
        lot=lot.gid,
        label=lot.label,
        words="" if charge.rate else lot.bill.words or "",
    )
