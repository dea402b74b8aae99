"""The paper of a document: what its template shows, in the language and the currency of the document."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from babel import Locale
from babel.dates import format_date
from babel.numbers import format_percent

from saleroom.kernel.currency import decimals, with_currency
from saleroom.kernel.money import ZERO
from saleroom.settlement.domain.bank.transfers import AMOUNT_MAX
from saleroom.settlement.domain.documents.content import Category, Document, DocumentKind, Party, tax_totals
from saleroom.settlement.domain.documents.document_words import TITLES, words
from saleroom.settlement.domain.documents.einvoice import business_terms, lacks

_LOCALES = {"en": Locale("en", "GB"), "de": Locale("de")}
_NAME_IN_CODE_MAX, _NAME_BYTES_MAX = 70, 210
"""Of the payee in a code for payment. All of it has at most 331 bytes (EPC069-12), and some letters have four."""
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def paper_data(document: Document) -> dict[str, Any]:
    """Return what the template of documents shows, and what the process that sets it embeds."""
    writer = _Writer(document)
    said, title = words(document.language), TITLES[document.kind][document.language == "de"]
    places = decimals(document.currency)
    embeds = not lacks(document, places)
    return {
        "language": document.language,
        "words": said,
        "kind": f"{title} {document.number}",
        "title": f"{title} {document.number}",
        "house": document.house.name,
        "made": " · ".join(writer.house_line(said)),
        "sale": {"title": document.house.name},
        "sender": writer.address(document.house),
        "recipient": (writer.address(document.party) or [said["deleted"]])
        + writer.ids(document.party, said, own=False),
        "facts": writer.facts(said),
        "corrects": writer.corrects(said),
        "lines": writer.lines(),
        "taxes": writer.taxes(),
        "totals": writer.totals(said),
        "payments": writer.payments(),
        "notes": writer.notes(said, embeds=embeds),
        "taxed": any(line.category is Category.STANDARD for line in document.lines),
        "terms": business_terms(document, places) if embeds else None,
        "epc": _epc(document),
        "code_alt": said["code"].format(amount=writer.money(document.due)),
        "at": int(datetime.combine(document.issued_on, time(12), UTC).timestamp()),
    }


class _Writer:
    """How the values of a document are written."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._locale = _LOCALES[document.language]

    def money(self, amount: Decimal) -> str:
        return with_currency(amount, self._document.currency, self._locale)

    def day(self, on: date) -> str:
        return format_date(on, "long", locale=self._locale)

    def percent(self, rate: Decimal) -> str:
        return format_percent(rate / 100, locale=self._locale, decimal_quantization=False)

    def ids(self, party: Party, said: dict[str, str], *, own: bool) -> list[str]:
        """Return the tax identifiers of a party; those of others without their tax number."""
        found = [said["vat_id"].format(number=party.vat_id)] if party.vat_id else []
        return [*found, said["tax_number"].format(number=party.tax_number)] if own and party.tax_number else found

    def address(self, party: Party) -> list[str]:
        """Return the lines of an address, with the country if it is not that of the house."""
        place = " ".join(part for part in (party.postcode, party.city) if part)
        country = "" if party.country == self._document.house.country else party.country
        named = self._locale.territories.get(country, country)
        return [part for part in (party.name, *party.street.splitlines(), place, named) if part]

    def house_line(self, said: dict[str, str]) -> list[str]:
        bank = self._document.bank
        accounts = [] if bank is None else [f"IBAN {bank.iban}", *([f"BIC {bank.bic}"] if bank.bic else [])]
        return [*self.ids(self._document.house, said, own=True), *accounts]

    def facts(self, said: dict[str, str]) -> list[list[str]]:
        document = self._document
        found = [
            (said["number"], document.number),
            (said["date"], self.day(document.issued_on)),
            (said["sale"], document.sale),
            (said["account"], document.account),
            (said["supplied"], "" if document.supplied_on is None else self.day(document.supplied_on)),
            (said["due_on"], "" if document.due_on is None else self.day(document.due_on)),
        ]
        return [[name, value] for name, value in found if value]

    def corrects(self, said: dict[str, str]) -> str:
        credited = self._document.credits
        if credited is None:
            return ""
        return said["corrects"].format(number=credited.number, day=self.day(credited.issued_on))

    def marks(self) -> dict[str, str]:
        """Return the words that the law wants, each with its mark; without one if all lines have the same words."""
        found = list(dict.fromkeys(line.words for line in self._document.lines))
        if len(found) == 1:
            return {one: "" for one in found if one}
        return {one: str(place).translate(_RAISED) for place, one in enumerate(filter(None, found), 1)}

    def lines(self) -> list[list[str]]:
        marks = self.marks()
        return [
            [
                line.label,
                f"{line.text} {marks[line.words]}" if marks.get(line.words) else line.text,
                self.money(line.net),
                self.percent(line.rate) if line.rate else "",
                self.money(line.tax) if line.rate else "",
                self.money(line.total),
            ]
            for line in self._document.lines
        ]

    def taxes(self) -> list[list[str]]:
        return [
            [self.percent(total.rate), self.money(total.net), self.money(total.tax)]
            for total in tax_totals(self._document.lines)
            if total.category is Category.STANDARD
        ]

    def totals(self, said: dict[str, str]) -> list[list[str]]:
        document = self._document
        if document.kind is DocumentKind.RECEIPT:
            return [[said["paid" if document.paid >= ZERO else "paid_out"], self.money(abs(document.paid))]]
        found = [[said["total"], self.money(document.total)]]
        if document.payments:
            found.append([said["paid"], self.money(document.paid)])
        if document.kind is not DocumentKind.CREDIT_NOTE:
            found.append(
                [said["payout" if document.kind is DocumentKind.STATEMENT else "due"], self.money(document.due)]
            )
        return found

    def payments(self) -> list[list[str]]:
        return [[self.day(one.on), one.method, self.money(one.amount)] for one in self._document.payments]

    def notes(self, said: dict[str, str], *, embeds: bool) -> list[str]:
        document = self._document
        found = [f"{mark} {one}".strip() for one, mark in self.marks().items()]
        if document.bank is not None and document.kind is DocumentKind.INVOICE and document.due > ZERO:
            found.append(said["pay_to"].format(iban=document.bank.iban, number=document.number))
        return [*found, said["embedded"]] if embeds else found


def _epc(document: Document) -> dict[str, Any] | None:
    """Return what the code of the European Payments Council says; None if the document asks for no transfer that it can say."""
    if (
        document.bank is None
        or document.currency != "EUR"
        or document.kind is not DocumentKind.INVOICE
        or not ZERO < document.due <= AMOUNT_MAX
    ):
        return None
    return {
        "name": document.house.name[:_NAME_IN_CODE_MAX].encode()[:_NAME_BYTES_MAX].decode(errors="ignore"),
        "iban": document.bank.iban,
        "bic": document.bank.bic or None,
        "amount": str(document.due),
        "text": document.number,
        "encoding": 1,
    }
