"""The words of documents, in the languages of paper."""

from __future__ import annotations

from collections.abc import Mapping

from saleroom.settlement.domain.documents.content import DocumentKind

TITLES: Mapping[DocumentKind, tuple[str, str]] = {
    DocumentKind.INVOICE: ("Invoice", "Rechnung"),
    DocumentKind.STATEMENT: ("Statement of account", "Abrechnung"),
    DocumentKind.CREDIT_NOTE: ("Credit note", "Rechnungskorrektur"),
    DocumentKind.RECEIPT: ("Receipt", "Quittung"),
}
_WORDS: Mapping[str, tuple[str, str]] = {
    "account": ("Paddle or code", "Bieternr. oder Kürzel"),
    "amount": ("Amount", "Betrag"),
    "code": ("QR code: pay {amount} by transfer", "QR-Code: {amount} überweisen"),
    "code_help": (
        "Banking apps read this code and fill in the transfer.",
        "Banking-Apps lesen diesen Code und füllen die Überweisung aus.",
    ),
    "corrects": ("This takes back lines of {number} of {day}.", "Korrektur zu {number} vom {day}."),
    "date": ("Date", "Datum"),
    "deleted": ("Name and address are deleted.", "Name und Anschrift sind gelöscht."),
    "due": ("Amount due", "Zu zahlen"),
    "due_on": ("Due by", "Zahlbar bis"),
    "embedded": (
        "This PDF contains the invoice in electronic form (Factur-X, EN 16931).",
        "Dieses PDF enthält die Rechnung in elektronischer Form (ZUGFeRD/Factur-X, EN 16931).",
    ),
    "lot": ("Lot", "Los"),
    "net": ("Net", "Netto"),
    "number": ("Number", "Nummer"),
    "paid": ("Paid", "Bezahlt"),
    "paid_out": ("Paid out", "Ausgezahlt"),
    "pay_to": ("Pay to {iban}, reference {number}.", "Bitte auf {iban} überweisen, Verwendungszweck {number}."),
    "payout": ("Payable to you", "Auszuzahlen"),
    "payments": ("Payments", "Zahlungen"),
    "rate": ("Tax rate", "Steuersatz"),
    "sale": ("Sale", "Auktion"),
    "supplied": ("Date of supply", "Leistungsdatum"),
    "tax": ("Tax", "Steuer"),
    "tax_number": ("Tax number {number}", "Steuernummer {number}"),
    "text": ("Description", "Bezeichnung"),
    "total": ("Total", "Gesamt"),
    "vat_id": ("VAT ID {number}", "USt-IdNr. {number}"),
}


_METHODS: Mapping[str, tuple[str, str]] = {
    "cash": ("Cash", "Bar"),
    "card": ("Card", "Karte"),
    "bank": ("Transfer", "Überweisung"),
    "online": ("Card, online", "Karte, online"),
    "other": ("Other", "Sonstiges"),
    "in_transit": ("Transfer under way", "Überweisung unterwegs"),
    "rounding": ("Rounding of cash", "Bargeldrundung"),
    "buyers": ("Set off against purchases", "Verrechnet mit Käufen"),
    "consignors": ("Set off against sales", "Verrechnet mit Verkäufen"),
}


def method_words(method: str, language: str) -> str:
    """Return how money moved, in a language."""
    return _METHODS[method][language == "de"]


def words(language: str) -> dict[str, str]:
    """Return all words in a language, by name; `{names}` in them are places for values."""
    return {name: pair[language == "de"] for name, pair in _WORDS.items()}
