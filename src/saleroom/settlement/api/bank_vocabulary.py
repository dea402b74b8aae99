"""The words of the API's document that are about money from the bank."""

from __future__ import annotations

from saleroom.http.schemas import COUNT, GID_PATTERN, MONEY, Schema

_SIGNED: Schema = {"type": "string", "pattern": r"^-?(?:0|[1-9][0-9]{0,16})\.[0-9]{3}$", "examples": ["12.500"]}

MEMBERS: dict[str, tuple[Schema, str]] = {
    "bankPayment": ({"pattern": GID_PATTERN}, "The payment."),
    "bankPayments": ({}, "The payments, the newest first."),
    "bookedOn": ({"type": "string", "format": "date"}, "The day on which the bank booked it."),
    "doubtfulPayments": (COUNT, "How many of the new payments wait for a person."),
    "buyer": ({}, "The paddle of the buyer, or the username of one without a paddle."),
    "knownPayments": (COUNT, "How many payments came in a file before; they are not taken again."),
    "leftToPay": (_SIGNED, "What the buyer has left to pay in the sale; negative if the house owes it."),
    "newPayments": (COUNT, "How many payments are new."),
    "otherEntries": (COUNT, "How many entries are something other than booked money that came in."),
    "payer": ({}, "Who paid, as the bank says it."),
    "payerText": ({}, "What the payer wrote."),
    "proposals": ({}, "The invoices that it names, otherwise those of its amount; none once it is decided."),
    "received": (MONEY, "What came in."),
    "takenPayments": (COUNT, "How many of the new payments were taken for their invoices."),
    "waits": ({}, "Whether it waits for a person."),
}
FORMS: dict[tuple[str, str], Schema] = {
    ("BankPaymentView", "sale"): {
        "pattern": GID_PATTERN,
        "description": "The sale that it was taken for; null as long as it waits, or if it was set aside.",
    },
    ("BankPaymentView", "reason"): {"description": "Why it is for no buyer; null otherwise."},
    ("BankPaymentView", "currency"): {"pattern": "^[A-Z]{3}$", "description": "Its currency."},
    ("ProposalView", "sale"): {"pattern": GID_PATTERN, "description": "The sale that the invoice is of."},
}
