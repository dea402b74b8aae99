"""Reports as sheets: the rows of each, with headings in English and German."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum

from saleroom.sales.domain.cells import Cell
from saleroom.settlement.domain.reports.report_views import ReportView, TaxReportView, TaxRowView

Row = list[Cell]
LANGUAGES = ("en", "de")


class Sheet(StrEnum):
    """The sheets of the report of a sale."""

    SUMMARY = "summary"
    LOTS = "lots"
    BUYERS = "buyers"
    CONSIGNORS = "consignors"
    TAX = "tax"


NAMES: Mapping[Sheet, tuple[str, str]] = {
    Sheet.SUMMARY: ("Summary", "Überblick"),
    Sheet.LOTS: ("Lots", "Lose"),
    Sheet.BUYERS: ("Buyers", "Käufer"),
    Sheet.CONSIGNORS: ("Consignors", "Einlieferer"),
    Sheet.TAX: ("Tax", "Steuer"),
}
_HEADINGS: Mapping[Sheet, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Sheet.SUMMARY: (("Figure", "Value"), ("Kennzahl", "Wert")),
    Sheet.LOTS: (
        ("Lot", "Name", "State", "Estimate from", "Estimate to", "Paddle", "Consignor", "Hammer price", "Premium and charges",
         "Tax", "Buyer pays", "Deductions", "Consignor gets", "Member rate"),
        ("Los", "Name", "Stand", "Schätzpreis von", "Schätzpreis bis", "Bieternummer", "Einlieferer", "Zuschlag",
         "Aufgeld und Gebühren", "Steuer", "Käufer zahlt", "Abzüge", "Einlieferer erhält", "Mitgliedersatz"),
    ),
    Sheet.BUYERS: (
        ("Paddle", "Username", "Name", "Lots", "Hammer price", "Premium and charges", "Tax", "Total", "Paid", "Left to pay"),
        ("Bieternummer", "Benutzername", "Name", "Lose", "Zuschlag", "Aufgeld und Gebühren", "Steuer", "Gesamt", "Bezahlt",
         "Offen"),
    ),
    Sheet.CONSIGNORS: (
        ("Code", "Name", "Sold lots", "Unsold lots", "Hammer price", "Deductions", "Gets", "Paid out", "To pay out"),
        ("Kürzel", "Name", "Verkaufte Lose", "Unverkaufte Lose", "Zuschlag", "Abzüge", "Erhält", "Ausgezahlt",
         "Noch auszuzahlen"),
    ),
    Sheet.TAX: (
        ("To", "Scheme", "Where the tax is", "Per cent", "Lines", "Without tax", "Tax"),
        ("An", "Regelung", "Wo die Steuer ist", "Prozent", "Positionen", "Ohne Steuer", "Steuer"),
    ),
}  # fmt: skip
_YES = ("yes", "ja")
_SUMMARY: Sequence[tuple[str, str, Callable[[ReportView], Cell]]] = (
    ("Sold lots", "Verkaufte Lose", lambda one: one.sold_lots),
    ("Unsold lots", "Unverkaufte Lose", lambda one: one.unsold_lots),
    ("Withdrawn lots", "Zurückgezogene Lose", lambda one: one.withdrawn_lots),
    ("Open lots", "Offene Lose", lambda one: one.open_lots),
    ("Sell-through in per cent", "Verkaufsquote in Prozent", lambda one: _amount(one.sell_through)),
    ("Hammer prices", "Zuschläge", lambda one: _amount(one.hammer_total)),
    ("Low estimates of sold lots", "Untere Schätzpreise verkaufter Lose", lambda one: _amount(one.estimated_low)),
    ("High estimates of sold lots", "Obere Schätzpreise verkaufter Lose", lambda one: _amount(one.estimated_high)),
    ("Hammer prices of sold lots with an estimate", "Zuschläge verkaufter Lose mit Schätzpreis",
     lambda one: _amount(one.estimated_price)),
    ("Lots below their estimate", "Lose unter dem Schätzpreis", lambda one: one.below_estimate),
    ("Lots within their estimate", "Lose im Schätzpreis", lambda one: one.within_estimate),
    ("Lots above their estimate", "Lose über dem Schätzpreis", lambda one: one.above_estimate),
    ("Buyers owe in all", "Käufer schulden insgesamt", lambda one: _amount(one.charged_total)),
    ("Paid by buyers", "Von Käufern bezahlt", lambda one: _amount(one.settled_total)),
    ("Left to pay", "Offen", lambda one: _amount(one.unpaid_total)),
    ("Consignors get in all", "Einlieferer erhalten insgesamt", lambda one: _amount(one.credited_total)),
    ("Paid out", "Ausgezahlt", lambda one: _amount(one.paid_out_total)),
    ("To pay out", "Noch auszuzahlen", lambda one: _amount(one.to_pay_out_total)),
)  # fmt: skip
_EARNED: Mapping[str, tuple[str, str]] = {
    "premium": ("Premium without tax", "Aufgeld ohne Steuer"),
    "commission": ("Commission without tax", "Abgeld ohne Steuer"),
    "fees": ("Fees without tax", "Gebühren ohne Steuer"),
    "own_lots": ("The house's own lots", "Eigene Lose des Hauses"),
    "donations": ("Donations", "Spenden"),
    "resale_right": ("Artist's resale right", "Folgerecht"),
    "rounding": ("Rounding of cash", "Rundung von Bargeld"),
    "tax": ("Tax", "Steuer"),
}
WORDS: Mapping[str, tuple[str, str]] = {
    "sold": ("sold", "verkauft"),
    "unsold": ("unsold", "unverkauft"),
    "withdrawn": ("withdrawn", "zurückgezogen"),
    "open": ("open", "offen"),
    "buyer": ("buyers", "Käufer"),
    "consignor": ("consignors", "Einlieferer"),
    "on_top": ("on top", "obenauf"),
    "inside": ("inside (margin)", "enthalten (Differenz)"),
    "nowhere": ("none", "keine"),
    "standard": ("standard rate", "Regelbesteuerung"),
    "margin": ("margin scheme", "Differenzbesteuerung"),
    "exempt": ("exempt", "steuerfrei"),
    "resale_right": ("with resale right", "mit Folgerecht"),
    "reverse_charge": ("reverse charge", "Übergang der Steuerschuld"),
    "none": ("no tax", "keine Steuer"),
}
"""What sheets say for the words of the JSON."""


def rows_of(report: ReportView, sheet: Sheet, language: str) -> list[Row]:
    """Return the rows of a sheet, the first of which has the headings."""
    place = LANGUAGES.index(language)
    return [list(_HEADINGS[sheet][place]), *_MAKE[sheet](report, place)]


def workbook(report: ReportView, language: str) -> dict[str | None, list[Row]]:
    """Return all sheets of a report, by their names in the language."""
    return {NAMES[one][LANGUAGES.index(language)]: rows_of(report, one, language) for one in Sheet}


def rows_of_taxes(report: TaxReportView, language: str) -> list[Row]:
    """Return the rows of the tax report of some days."""
    place = LANGUAGES.index(language)
    return [list(_HEADINGS[Sheet.TAX][place]), *_taxes(report.tax_rows, place)]


def _summary(report: ReportView, place: int) -> list[Row]:
    earned: list[Row] = [[_EARNED[one.ledger_account][place], _amount(one.earned)] for one in report.earned_by]
    figures: list[Row] = [[(english, german)[place], value(report)] for english, german, value in _SUMMARY]
    return [*figures, *earned]


def _lots(report: ReportView, place: int) -> list[Row]:
    return [
        [
            one.label, one.lot_name, WORDS[one.lot_state][place], _amount(one.estimate_from), _amount(one.estimate_to),
            one.paddle, one.consignor, _amount(one.hammer), _amount(one.charges), _amount(one.buyer_tax), _amount(one.due),
            _amount(one.deductions), _amount(one.proceeds), _YES[place] if one.member_rate else None,
        ]
        for one in report.report_lots
    ]  # fmt: skip


def _buyers(report: ReportView, place: int) -> list[Row]:
    return [
        [
            one.paddle, one.username, one.person_name, one.lots_bought, _amount(one.hammer), _amount(one.charges),
            _amount(one.buyer_tax), _amount(one.charged), _amount(one.settled), _amount(one.unpaid),
        ]
        for one in report.report_buyers
    ]  # fmt: skip


def _consignors(report: ReportView, place: int) -> list[Row]:
    return [
        [
            one.consignor, one.person_name, one.lots_sold, one.unsold_lots, _amount(one.hammer), _amount(one.deductions),
            _amount(one.credited), _amount(one.paid_out), _amount(one.to_pay_out),
        ]
        for one in report.report_consignors
    ]  # fmt: skip


def _taxes(rows: Sequence[TaxRowView], place: int) -> list[Row]:
    return [
        [
            WORDS[one.supplied_to][place], WORDS[one.tax_scheme][place], WORDS[one.tax_place][place],
            _amount(one.tax_percent), one.line_count, _amount(one.net), _amount(one.owed_tax),
        ]
        for one in rows
    ]  # fmt: skip


_MAKE: Mapping[Sheet, Callable[[ReportView, int], list[Row]]] = {
    Sheet.SUMMARY: _summary,
    Sheet.LOTS: _lots,
    Sheet.BUYERS: _buyers,
    Sheet.CONSIGNORS: _consignors,
    Sheet.TAX: lambda report, place: _taxes(report.tax_rows, place),
}


def _amount(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
