"""The JSON of reports: how a sale went, per buyer and per consignor, and the tax."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from msgspec import Struct

from saleroom.settlement.domain.journal import Book
from saleroom.settlement.domain.reports.reporting import TaxKey, TaxSum


class ReportLotView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A lot of a report. Its figures are null while it is open."""

    label: str
    lot_name: str
    lot_state: str
    estimate_from: str | None
    estimate_to: str | None
    paddle: int | None
    consignor: str | None
    member_rate: bool
    hammer: str | None
    charges: str | None
    buyer_tax: str | None
    due: str | None
    deductions: str | None
    proceeds: str | None


class ReportBuyerView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A buyer of a report: what they bought, what they owe for it, have paid, and have left to pay."""

    paddle: int | None
    username: str
    person_name: str
    lots_bought: int
    hammer: str
    charges: str
    buyer_tax: str
    charged: str
    settled: str
    unpaid: str


class ReportConsignorView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A consignor of a report: what was sold for them, what they bear, get, were paid, and have left to get."""

    consignor: str
    person_name: str
    lots_sold: int
    unsold_lots: int
    hammer: str
    deductions: str
    credited: str
    paid_out: str
    to_pay_out: str


class TaxRowView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A row of the tax report. `tax_percent` is null where the tax is inside the amounts or nowhere."""

    supplied_to: str
    tax_scheme: str
    tax_place: str
    tax_percent: str | None
    line_count: int
    net: str
    owed_tax: str


class TaxReportView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The tax of the house in some days, over all sales."""

    first_day: date
    last_day: date
    tax_rows: list[TaxRowView]
    tax_total: str


class EarnedView(Struct, frozen=True, rename="camel"):
    """What an account of the house earned in a sale."""

    ledger_account: str
    earned: str


class ReportView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The report of a sale, all from its journal."""

    sale: str
    title: str
    sold_lots: int
    unsold_lots: int
    withdrawn_lots: int
    open_lots: int
    sell_through: str | None
    hammer_total: str
    estimated_low: str
    estimated_high: str
    estimated_price: str
    below_estimate: int
    within_estimate: int
    above_estimate: int
    earned_by: list[EarnedView]
    charged_total: str
    settled_total: str
    unpaid_total: str
    credited_total: str
    paid_out_total: str
    to_pay_out_total: str
    report_lots: list[ReportLotView]
    report_buyers: list[ReportBuyerView]
    report_consignors: list[ReportConsignorView]
    tax_rows: list[TaxRowView]


EARNING = (
    Book.PREMIUM,
    Book.COMMISSION,
    Book.FEES,
    Book.OWN_LOTS,
    Book.DONATIONS,
    Book.RESALE_RIGHT,
    Book.ROUNDING,
    Book.TAX,
)
"""The accounts on which the house keeps what lots bring it, for itself or for others."""


def tax_rows(found: Mapping[TaxKey, TaxSum]) -> list[TaxRowView]:
    """Return the rows of the tax report as JSON has them."""
    return [
        TaxRowView(
            supplied_to=key.side.value,
            tax_scheme=key.scheme.value,
            tax_place=key.place.value,
            tax_percent=f"{key.rate:.3f}" if key.rate else None,
            line_count=one.lines,
            net=f"{one.net:.3f}",
            owed_tax=f"{one.tax:.3f}",
        )
        for key, one in found.items()
    ]
