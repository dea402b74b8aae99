"""The words of paper, in the languages of sheets (`exporting.LANGUAGES`)."""

from __future__ import annotations

from collections.abc import Mapping

from saleroom.sales.domain.paper import PaperKind

TITLES: Mapping[PaperKind, Mapping[str, str]] = {
    PaperKind.CATALOGUE: {"en": "Catalogue", "de": "Katalog"},
    PaperKind.LABELS: {"en": "Lot labels", "de": "Losetiketten"},
    PaperKind.CARDS: {"en": "Bid cards", "de": "Bieterkarten"},
    PaperKind.RUN_SHEET: {"en": "Run sheet", "de": "Ablaufplan"},
    PaperKind.CLERK_SHEET: {"en": "Clerk sheet", "de": "Protokollbogen"},
    PaperKind.RESULTS: {"en": "Results", "de": "Ergebnisse"},
}
_WORDS: Mapping[str, tuple[str, str]] = {
    "absentee": ("Absentee leader", "Vorgebot führt"),
    "as_of": ("As of {when}", "Stand: {when}"),
    "begins": ("Begins {when}", "Beginn: {when}"),
    "buyer": ("Buyer", "Käufer"),
    "card_help": (
        "The code opens the sale as this paddle, once its holder has logged in.",
        "Der Code öffnet die Auktion mit dieser Bieternummer, sobald ihr Inhaber angemeldet ist.",
    ),
    "card_code": ("QR code: the sale as paddle {paddle}", "QR-Code: die Auktion mit der Bieternummer {paddle}"),
    "confidential": (
        "Reserves and limits: for those who run the sale only.",
        "Mindestpreise und Limits: nur für die Leitung der Auktion.",
    ),
    "conditional": ("conditional", "unter Vorbehalt"),
    "consignor": ("Consignor", "Einlieferer"),
    "ends": ("First lot ends {when}", "Erstes Los endet: {when}"),
    "estimate": ("Estimate", "Schätzpreis"),
    "hammer": ("Hammer price", "Zuschlag"),
    "levels": ("Levels", "Stufen"),
    "lot": ("Lot", "Los"),
    "lot_code": ("QR code: the page of lot {label}", "QR-Code: die Seite von Los {label}"),
    "note": ("Note", "Bemerkung"),
    "open": ("open", "offen"),
    "paddle": ("Paddle", "Bieternr."),
    "passed": ("passed", "nicht verkauft"),
    "photo": ("Photo of lot {label}: {name}", "Foto von Los {label}: {name}"),
    "printed": ("Printed {when}", "Gedruckt: {when}"),
    "raised": ("{total} raised by {count} pledges", "{total} zugesagt, {count} Zusagen"),
    "reserve": ("Reserve", "Mindestpreis"),
    "sold": ("{count} of {all} lots sold, for {total}", "{count} von {all} Losen verkauft, für {total}"),
    "starting": ("Starting price", "Startpreis"),
    "title": ("Title", "Titel"),
    "up_to": ("{bidder} up to {amount}", "{bidder} bis {amount}"),
    "withdrawn": ("withdrawn", "zurückgezogen"),
}


def words(language: str) -> dict[str, str]:
    """Return all words in a language, by name; `{names}` in them are places for values."""
    return {name: pair[language == "de"] for name, pair in _WORDS.items()}
