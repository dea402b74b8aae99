"""The columns of a catalogue file: their headings in English and German, and the words of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from saleroom.kernel.errors import Fault
from saleroom.sales.domain.lots import TaxScheme

REPEATED = "repeated_column"
"""The code of the fault of a file with two columns for one value."""
HEADING_ROWS_MAX = 10
"""How many rows, from the first, are searched for the headings: titles of a sheet may stand above them."""


class Column(StrEnum):
    """A column, by the name of its value in JSON."""

    LABEL = "label"
    TITLE = "name"
    DESCRIPTION = "description"
    STARTING_PRICE = "startingPrice"
    RESERVE = "reservePrice"
    ESTIMATE_FROM = "estimateFrom"
    ESTIMATE_TO = "estimateTo"
    CONSIGNOR = "consignor"
    TAX = "taxScheme"
    CATEGORY = "category"
    LEVELS = "levels"
    GOAL = "goal"


AMOUNTS = frozenset({Column.STARTING_PRICE, Column.RESERVE, Column.ESTIMATE_FROM, Column.ESTIMATE_TO, Column.GOAL})
OF_NEEDS = (Column.LEVELS, Column.GOAL)
"""The columns of a fund-a-need; an export without one leaves them out."""

HEADINGS: Mapping[Column, Mapping[str, tuple[str, ...]]] = {
    Column.LABEL: {
        "en": ("Lot", "Lot no", "Lot number", "No", "Number", "Label", "Catalogue no", "Catalogue number"),
        "de": ("Los", "Los-Nr.", "Losnummer", "Nr.", "Nummer", "Lotnr.", "Katalognummer", "Kat.-Nr."),
    },
    Column.TITLE: {
        "en": ("Title", "Name", "Lot title", "Item", "Object"),
        "de": ("Titel", "Bezeichnung", "Objekt", "Gegenstand", "Kurztitel"),
    },
    Column.DESCRIPTION: {
        "en": ("Description", "Text", "Details", "Catalogue text"),
        "de": ("Beschreibung", "Katalogtext", "Lostext", "Objektbeschreibung"),
    },
    Column.STARTING_PRICE: {
        "en": ("Starting price", "Start price", "Start", "Opening price", "Opening bid", "Starting bid"),
        "de": ("Startpreis", "Ausrufpreis", "Ausruf", "Aufrufpreis", "Aufruf", "Mindestgebot", "Startgebot"),
    },
    Column.RESERVE: {
        "en": ("Reserve", "Reserve price"),
        "de": ("Mindestpreis", "Limit", "Limitpreis", "Untergrenze"),
    },
    Column.ESTIMATE_FROM: {
        "en": ("Estimate from", "Low estimate", "Estimate low", "Estimate min", "Lower estimate"),
        "de": ("Schätzpreis von", "Schätzwert von", "Schätzung von", "Taxe von", "Untere Taxe", "Unterer Schätzpreis"),
    },
    Column.ESTIMATE_TO: {
        "en": ("Estimate to", "High estimate", "Estimate high", "Estimate max", "Upper estimate"),
        "de": ("Schätzpreis bis", "Schätzwert bis", "Schätzung bis", "Taxe bis", "Obere Taxe", "Oberer Schätzpreis"),
    },
    Column.CONSIGNOR: {
        "en": ("Consignor", "Consignor code", "Consignor no", "Vendor", "Seller"),
        "de": ("Einlieferer", "Einlieferer-Nr.", "Einlieferercode", "Einlieferernummer", "Auftraggeber"),
    },
    Column.TAX: {
        "en": ("Tax", "Tax scheme", "VAT", "VAT scheme"),
        "de": ("Steuer", "Besteuerung", "Steuerart", "Steuersatz", "MwSt.", "USt."),
    },
    Column.CATEGORY: {
        "en": ("Category", "Department", "Section"),
        "de": ("Kategorie", "Rubrik", "Abteilung", "Warengruppe"),
    },
    Column.LEVELS: {"en": ("Levels", "Giving levels"), "de": ("Stufen", "Spendenstufen")},
    Column.GOAL: {"en": ("Goal", "Fundraising goal"), "de": ("Ziel", "Spendenziel")},
}
"""All headings of a column by language; the first one of each language is the one that exports write."""

TAX_WORDS: Mapping[TaxScheme, Mapping[str, tuple[str, ...]]] = {
    TaxScheme.STANDARD: {
        "en": ("standard", "standard rate", "full"),
        "de": ("regelbesteuert", "Regelbesteuerung", "Regel", "voll"),
    },
    TaxScheme.MARGIN: {
        "en": ("margin", "margin scheme"),
        "de": ("differenzbesteuert", "Differenzbesteuerung", "Differenz", "§ 25a", "§ 25a UStG"),
    },
    TaxScheme.EXEMPT: {
        "en": ("exempt", "tax exempt", "free"),
        "de": ("steuerfrei", "befreit", "steuerbefreit"),
    },
    TaxScheme.RESALE_RIGHT: {
        "en": ("resale right", "artist's resale right", "ARR", "droit de suite"),
        "de": ("Folgerecht", "folgerechtspflichtig"),
    },
    TaxScheme.REVERSE_CHARGE: {
        "en": ("reverse charge", "RC"),
        "de": ("Steuerschuldumkehr", "Umkehr der Steuerschuld", "§ 13b", "§ 13b UStG"),
    },
    TaxScheme.NONE: {
        "en": ("none", "no tax"),
        "de": ("ohne Steuer", "keine Steuer", "§ 19 UStG"),
    },
}
"""The words for the tax scheme of a lot; the first one of each language is the one that exports write."""


class LotEnding(StrEnum):
    """How a lot ended, or that it has not ended yet."""

    SOLD = "sold"
    PASSED = "passed"
    WITHDRAWN = "withdrawn"
    OPEN = "open"
    FUNDED = "funded"


RESULTS: tuple[Mapping[str, str], ...] = (
    {"en": "Result", "de": "Ergebnis"},
    {"en": "Hammer price", "de": "Zuschlag"},
    {"en": "Winner", "de": "Käufer"},
    {"en": "Bids", "de": "Gebote"},
)
"""The headings that only the export of results has, by language. An import never reads these columns."""
PLEDGES: tuple[Mapping[str, str], ...] = (
    {"en": "Lot", "de": "Los"},
    {"en": "No", "de": "Nr."},
    {"en": "Bidder", "de": "Bieternummer"},
    {"en": "Name", "de": "Name"},
    {"en": "Amount", "de": "Betrag"},
    {"en": "Noted at", "de": "Erfasst am"},
    {"en": "Undone", "de": "Gestrichen"},
)
"""The headings of the export of pledges, by language. Nothing imports it."""
OUTCOMES: Mapping[LotEnding, Mapping[str, str]] = {
    LotEnding.SOLD: {"en": "sold", "de": "verkauft"},
    LotEnding.PASSED: {"en": "passed", "de": "unverkauft"},
    LotEnding.WITHDRAWN: {"en": "withdrawn", "de": "zurückgezogen"},
    LotEnding.OPEN: {"en": "open", "de": "offen"},
    LotEnding.FUNDED: {"en": "funded", "de": "zugesagt"},
}

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_IN_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_NO_LETTER = re.compile(r"[\W_]+")


class Headings(Struct, frozen=True):
    """The headings of a file: the number of their row, the place of each column, and the headings that say nothing here.

    `shown` are the headings of the columns as the file writes them.
    """

    row: int
    places: Mapping[Column, int]
    shown: Mapping[Column, str]
    ignored: tuple[str, ...]

    def without(self, column: Column) -> Headings:
        """Return these headings as if this column said nothing here."""
        if column not in self.places:
            return self
        places = {one: place for one, place in self.places.items() if one is not column}
        return Headings(self.row, places, self.shown, (*self.ignored, self.shown[column]))


def find_headings(rows: Sequence[Sequence[object]]) -> Headings | Fault:
    """Return the headings of a file, or its fault. They stand in the first row that has a heading for the label."""
    for number, row in enumerate(rows[:HEADING_ROWS_MAX], 1):
        found = [(str(cell).strip(), column_of(str(cell))) for cell in row if cell is not None]
        if Column.LABEL in (column for _, column in found) and sum(column is not None for _, column in found) > 1:
            return _read_headings(number, row)
    known = ", ".join(words["en"][0] for words in HEADINGS.values())
    message = f"must begin with a row of headings, among them Lot and one more of: {known} (in English or German)"
    return Fault("no_headings", message)


def column_of(heading: str) -> Column | None:
    """Return the column with this heading, if any. Case, spaces, punctuation and what stands in brackets do not matter."""
    return _COLUMNS.get(folded(_IN_BRACKETS.sub("", heading)))


def tax_scheme(word: str) -> TaxScheme | None:
    """Return the tax scheme that a cell names, if any."""
    return _TAXES.get(folded(word))


def folded(text: str) -> str:
    """Return a text as headings and words are compared: letters and digits only, `ä` as `ae`."""
    return _NO_LETTER.sub("", text.casefold().translate(_UMLAUTS))


def _read_headings(number: int, row: Sequence[object]) -> Headings | Fault:
    places: dict[Column, int] = {}
    shown: dict[Column, str] = {}
    ignored: list[str] = []
    for place, cell in enumerate(row):
        heading = "" if cell is None else str(cell).strip()
        column = column_of(heading)
        if column is None:
            ignored += [heading] if heading else []
        elif column in places:
            message = f"must have one column for each value: {shown[column]!r} and {heading!r} mean the same"
            return Fault(REPEATED, message)
        else:
            places[column], shown[column] = place, heading
    return Headings(number, places, shown, tuple(ignored))


_COLUMNS = {
    folded(heading): column
    for column, by_language in HEADINGS.items()
    for headings in (*by_language.values(), (column.value,))
    for heading in headings
}
_TAXES = {
    folded(word): scheme
    for scheme, by_language in TAX_WORDS.items()
    for words in (*by_language.values(), (scheme,))
    for word in words
}
