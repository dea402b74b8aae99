"""Electronic invoices: the business terms of EN 16931 that say what a document says."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.documents.content import (
    Category,
    Document,
    DocumentKind,
    Line,
    Party,
    TaxTotal,
    tax_totals,
)
from saleroom.settlement.domain.rates.scales import part, rounded

PROFILE = "urn:cen.eu:en16931:2017"
PLACES_MAX = 2
"""The most decimals of an amount (rules BR-DEC-…)."""
OFF_BY = Decimal(1)
"""How far the tax of a rate must not be from that of its net total (rules BR-CO-17 and BR-S-09). Each line is rounded."""
_TYPES = {DocumentKind.INVOICE: "380", DocumentKind.CREDIT_NOTE: "381"}
_PIECE = "C62"
_TRANSFER, _SEPA_TRANSFER = "30", "58"


def lacks(document: Document, places: int) -> tuple[str, ...]:
    """Return why a document has no electronic form; nothing if it has one. `places` are the decimals of its currency."""
    if document.kind not in _TYPES:
        return ("kind",)
    totals = _totals(document)
    reverse = any(line.category is Category.REVERSE_CHARGE for line in document.lines)
    found = {
        "currency": places > PLACES_MAX,
        "house country": not document.house.country,
        "name": not document.party.name,
        "country": not document.party.country,
        "house tax": not (document.house.vat_id or document.house.tax_number),
        "house vat": reverse and not document.house.vat_id,
        "vat": reverse and not document.party.vat_id,
        "words": any(not total.words and total.category not in {Category.STANDARD, Category.ZERO} for total in totals),
        "rounding": any(_is_off(total) for total in totals),
    }
    return tuple(name for name, is_lacking in found.items() if is_lacking)


def _is_off(total: TaxTotal) -> bool:
    """Return whether the tax of a rate breaks the rules, which round that of the net total to two decimals in each currency."""
    return abs(total.tax - rounded(part(total.net, total.rate), PLACES_MAX)) >= OFF_BY


def business_terms(document: Document, places: int) -> dict[str, Any]:
    """Return a document by its business terms, amounts as text with the decimals of the currency."""

    def text(amount: Decimal) -> str:
        return f"{amount:.{places}f}"

    totals = _totals(document)
    outside = all(total.category is Category.OUTSIDE for total in totals)
    return {
        "BT-1": document.number,
        "BT-2": document.issued_on,
        "BT-3": _TYPES[document.kind],
        "BT-5": document.currency,
        "BT-24": PROFILE,
        "BG-1": [{"BT-22": document.sale}],
        "BG-4": _seller(document.house, outside=outside),
        "BG-7": _party(document.party, outside=outside),
        "BG-25": [_line(number, line, text, outside=outside) for number, line in enumerate(document.lines, 1)],
        "BG-23": [_total(total, text) for total in totals],
        "BT-106": text(document.net),
        "BT-109": text(document.net),
        "BT-110": text(document.tax),
        "BT-112": text(document.total),
        "BT-113": text(document.paid),
        "BT-115": text(document.due),
        **dict(_optional(document)),
    }


def _optional(document: Document) -> Iterator[tuple[str, Any]]:
    if document.supplied_on is not None:
        yield "BT-72", document.supplied_on
    if document.due_on is not None:
        yield "BT-9", document.due_on
    if document.due > ZERO and document.due_on is None:
        yield "BT-20", document.number
    if document.bank is not None:
        yield "BT-81", _SEPA_TRANSFER if document.currency == "EUR" else _TRANSFER
        yield "BT-83", document.number
        yield "BT-84", document.bank.iban
        yield "BT-85", document.house.name
        if document.bank.bic:
            yield "BT-86", document.bank.bic
    if document.credits is not None:
        yield "BG-3", [{"BT-25": document.credits.number, "BT-26": document.credits.issued_on}]


def _seller(house: Party, *, outside: bool) -> dict[str, Any]:
    """Return the house. Without a VAT number it needs another identifier (rule BR-CO-26)."""
    found = _party(house, outside=outside)
    return found if "vat_identifier" in found else {**found, "identifiers": {"": house.tax_number or house.vat_id}}


def _party(party: Party, *, outside: bool) -> dict[str, Any]:
    """Return a party. An invoice outside the tax names no identifier for it (rules BR-O-02 to BR-O-04)."""
    found = {
        "name": party.name,
        "addr_l1": party.street,
        "postcode": party.postcode,
        "city": party.city,
        "country_code": party.country,
        "vat_identifier": "" if outside else party.vat_id,
        "tax_identifier": party.tax_number,
    }
    return {name: value for name, value in found.items() if value}


def _line(number: int, line: Line, text: Any, *, outside: bool) -> dict[str, Any]:
    """Return a line. Its price is never negative (rule BR-27), so the quantity is."""
    category = _category(line.category, outside=outside)
    return {
        "BT-126": str(number),
        "BT-153": f"{line.label} {line.text}".strip(),
        "BT-129": "1" if line.net >= ZERO else "-1",
        "BT-130": _PIECE,
        "BT-146": text(abs(line.net)),
        "BT-131": text(line.net),
        "BT-151": str(category),
        **({} if category is Category.OUTSIDE else {"BT-152": _percent(line.rate)}),
    }


def _total(total: TaxTotal, text: Any) -> dict[str, Any]:
    return {
        "BT-116": text(total.net),
        "BT-117": text(total.tax),
        "BT-118": str(total.category),
        **({} if total.category is Category.OUTSIDE else {"BT-119": _percent(total.rate)}),
        **({"BT-120": "; ".join(total.words)} if total.words else {}),
    }


def _totals(document: Document) -> tuple[TaxTotal, ...]:
    """Return the totals by tax. Lines outside the tax beside others count as exempt, as rule BR-O-11 allows no mix."""
    found = tax_totals(document.lines)
    if len({total.category for total in found}) == 1:
        return found
    merged: dict[tuple[Category, Decimal], TaxTotal] = {}
    for total in found:
        key = (_category(total.category, outside=False), total.rate)
        other = merged.get(key, TaxTotal(*key, ZERO, ZERO))
        words = tuple(dict.fromkeys((*other.words, *total.words)))
        merged[key] = TaxTotal(*key, other.net + total.net, other.tax + total.tax, words)
    return tuple(merged.values())


def _category(category: Category, *, outside: bool) -> Category:
    return Category.EXEMPT if category is Category.OUTSIDE and not outside else category


def _percent(rate: Decimal) -> str:
    return f"{rate.normalize():f}"
