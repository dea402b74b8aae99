"""The words of the API's document that are about reports."""

from __future__ import annotations

from saleroom.bidding.domain.paddles import PADDLE_MAX
from saleroom.http.schemas import COUNT, MONEY, Schema
from saleroom.settlement.domain.reports.reporting import Side, State, TaxPlace

_SIGNED: Schema = {"type": "string", "pattern": r"^-?(?:0|[1-9][0-9]{0,16})\.[0-9]{3}$", "examples": ["12.500"]}
_DAY: Schema = {"type": "string", "format": "date"}
_PERCENT: Schema = {"type": "string", "pattern": r"^[0-9]{1,3}\.[0-9]$", "examples": ["87.5"]}

MEMBERS: dict[str, tuple[Schema, str]] = {
    "aboveEstimate": (COUNT, "How many sold lots brought more than their estimate."),
    "belowEstimate": (COUNT, "How many sold lots brought less than their estimate."),
    "buyerTax": (MONEY, "The tax on top of what the buyer pays."),
    "charged": (_SIGNED, "What they owe for their lots in all."),
    "chargedTotal": (_SIGNED, "What all buyers owe for their lots."),
    "charges": (_SIGNED, "Premium, surcharge and what else the buyer pays, without tax."),
    "credited": (_SIGNED, "What they get for their lots in all; negative if they owe."),
    "creditedTotal": (_SIGNED, "What all consignors get for their lots."),
    "deductions": (_SIGNED, "What the consignor bears."),
    "earned": (_SIGNED, "What it has earned."),
    "earnedBy": ({}, "What the accounts of the house earned, for itself, for others and for the tax office."),
    "estimatedHigh": (MONEY, "The sum of the upper ends of the estimates of sold lots."),
    "estimatedLow": (MONEY, "The sum of the lower ends of the estimates of sold lots."),
    "estimatedPrice": (MONEY, "The sum of the hammer prices of sold lots with an estimate."),
    "firstDay": (_DAY, "The first day (in UTC)."),
    "hammer": (MONEY, "The hammer price, or the sum of them."),
    "lastDay": (_DAY, "The last day (in UTC)."),
    "lineCount": ({}, "How many lines; those that were taken back count the other way."),
    "lotState": ({"enum": list(State)}, "What became of the lot."),
    "openLots": (COUNT, "How many lots are not over, or not decided."),
    "owedTax": (_SIGNED, "The tax that the house owes for it."),
    "paidOut": (_SIGNED, "What they were paid."),
    "paidOutTotal": (_SIGNED, "What all consignors were paid."),
    "reportBuyers": ({}, "The buyers, by paddle."),
    "reportConsignors": ({}, "The consignors, by code."),
    "reportLots": ({}, "The lots, in the order of calling."),
    "sellThrough": (_PERCENT, "How many per cent of the lots that are over were sold; null while none is."),
    "settled": (_SIGNED, "What they have paid, without what they were paid back."),
    "settledTotal": (_SIGNED, "What all buyers have paid."),
    "suppliedTo": ({"enum": list(Side)}, "To whom the house supplies."),
    "taxPlace": ({"enum": list(TaxPlace)}, "Where the tax is: on top, inside by the margin scheme, or nowhere."),
    "taxRows": ({}, "The tax by recipient, scheme and percentage."),
    "taxTotal": (_SIGNED, "The sum of the tax."),
    "toPayOutTotal": (_SIGNED, "What all consignors have left to get."),
    "unpaid": (_SIGNED, "What they have left to pay; negative if the house owes it."),
    "unpaidTotal": (_SIGNED, "What all buyers have left to pay."),
    "withdrawnLots": (COUNT, "How many lots were withdrawn."),
    "withinEstimate": (COUNT, "How many sold lots brought what their estimate says."),
}
FORMS: dict[tuple[str, str], Schema] = {
    ("ReportLotView", "paddle"): {"minimum": 1, "maximum": PADDLE_MAX, "description": "The paddle of the buyer."},
    ("TaxRowView", "net"): {**_SIGNED, "description": "What the lines come to without tax."},
}
