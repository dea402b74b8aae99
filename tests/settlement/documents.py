"""Documents for tests: a house in Berlin, its buyers, and a line of every tax form."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from msgspec import structs

from saleroom.kernel.money import STEP
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.documents.content import Bank, Document, DocumentKind, Draft, Line, Party, issued
from saleroom.settlement.domain.rates.scales import part, rounded

HOUSE = Party(
    name="Auktionshaus Süd GmbH",
    street="Kastanienallee 12",
    postcode="10435",
    city="Berlin",
    country="DE",
    vat_id="DE136695976",
    tax_number="27/123/45678",
)
BUYER = Party(name="Ada Käufer", street="Lange Str. 1", postcode="50667", city="Köln", country="DE")
COMPANY = Party(name="Kunst SARL", street="Rue 3", postcode="75001", city="Paris", country="FR", vat_id="FR40303265045")
BANK = Bank(iban="DE75512108001245126199", bic="SOLADEST600")
ON = date(2026, 11, 25)

WORDS = {
    TaxScheme.MARGIN: "Gebrauchtgegenstände/Sonderregelung",
    TaxScheme.RESALE_RIGHT: "Kunstgegenstände/Sonderregelung",
    TaxScheme.EXEMPT: "Steuerfreie Lieferung nach § 4 UStG",
    TaxScheme.REVERSE_CHARGE: "Steuerschuldnerschaft des Leistungsempfängers",
    TaxScheme.NONE: "Kein Ausweis von Umsatzsteuer nach § 19 UStG",
}


def line(scheme: TaxScheme, net: str = "120.00", rate: str = "0", *, label: str = "12A", lot: str = "") -> Line:
    """Return a line about a lot."""
    amount, percent = Decimal(net).quantize(STEP), Decimal(rate)
    tax = rounded(part(amount, percent), 2)
    words = WORDS.get(scheme, "")
    return Line(text="Vase", net=amount, scheme=scheme, rate=percent, tax=tax, label=label, words=words, lot=lot)


def draft(*lines: Line, kind: DocumentKind = DocumentKind.INVOICE, party: Party = BUYER, house: Party = HOUSE) -> Draft:
    """Return the draft of a document with some lines."""
    return Draft(
        kind=kind,
        language="de",
        currency="EUR",
        house=house,
        party=party,
        sale="Herbstauktion",
        account="12",
        supplied_on=date(2026, 11, 24),
        due_on=date(2026, 12, 9),
        bank=BANK,
        lines=lines,
    )


def document(
    *lines: Line, kind: DocumentKind = DocumentKind.INVOICE, party: Party = BUYER, house: Party = HOUSE
) -> Document:
    """Return an issued document with some lines."""
    return issued(draft(*lines, kind=kind, party=party, house=house), "INV-2026-00001", ON)


FORMS = {
    "standard": document(line(TaxScheme.STANDARD, rate="19"), line(TaxScheme.STANDARD, "33.33", "19")),
    "standard at two rates": document(line(TaxScheme.STANDARD, rate="7"), line(TaxScheme.STANDARD, "0.01", "19")),
    "no rate": document(line(TaxScheme.STANDARD)),
    "margin": document(line(TaxScheme.MARGIN), line(TaxScheme.MARGIN, "24.00")),
    "resale right": document(line(TaxScheme.RESALE_RIGHT)),
    "exempt": document(line(TaxScheme.EXEMPT)),
    "reverse charge": document(line(TaxScheme.REVERSE_CHARGE), party=COMPANY),
    "none": document(line(TaxScheme.NONE), house=structs.replace(HOUSE, vat_id="")),
    "none of a house with a VAT number": document(line(TaxScheme.NONE)),
    "all at once": document(
        line(TaxScheme.STANDARD, rate="19"),
        line(TaxScheme.MARGIN),
        line(TaxScheme.RESALE_RIGHT),
        line(TaxScheme.EXEMPT),
        line(TaxScheme.REVERSE_CHARGE),
        line(TaxScheme.NONE),
        party=COMPANY,
    ),
    "a negative line": document(line(TaxScheme.STANDARD, "100.00", "19"), line(TaxScheme.STANDARD, "-40.00", "19")),
}
"""An invoice of each tax form."""
