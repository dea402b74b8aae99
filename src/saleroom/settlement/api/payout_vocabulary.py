"""The words of the API's document that are about payouts."""

from __future__ import annotations

from typing import Any

from saleroom.http.schemas import GID_PATTERN, INSTANT, MONEY, Schema
from saleroom.sales.domain.consignors import CODE_PATTERN
from saleroom.settlement.domain import errors
from saleroom.settlement.domain.payouts import PayoutState

_STATES: Schema = {"enum": list(PayoutState)}
_CODE: Schema = {"pattern": f"^{CODE_PATTERN}$", "description": "The consignor."}
MEMBERS: dict[str, tuple[Schema, str]] = {
    "accountHolder": ({}, "The name of the account, as its bank has it."),
    "bic": ({}, "The bank, as its register derives it from the IBAN; null if none has it."),
    "bookedPayouts": (
        {"type": "integer", "minimum": 0},
        "How many payouts it says were booked, that were not known to be.",
    ),
    "changedAt": (INSTANT, "Since when the account is the consignor's."),
    "doubtfulDebits": ({}, "What went out for payouts that had failed, or with another amount: look at your bank."),
    "duePayouts": ({}, "What the house owes consignors, the latest sales first."),
    "dueTotal": (MONEY, "All of it together."),
    "endToEndId": ({}, "What banks know the payout by, from its file to the statement."),
    "fileNumber": ({}, "The number of the file: without gaps in each year."),
    "fileTotal": (MONEY, "All of its payouts together."),
    "iban": ({}, "The account; to the consignor it is masked."),
    "isForgotten": ({}, "Whether the file is deleted, as the house no longer keeps names and accounts of its day."),
    "isUnderWay": ({}, "Whether a payout to them in this sale is neither booked nor has failed."),
    "madeAt": (INSTANT, "When it was made."),
    "maskedIban": ({}, "The country and the end of the account; null without an account."),
    "paymentFile": ({"pattern": GID_PATTERN}, "The payment file."),
    "paymentFiles": ({}, "The payment files, the newest first."),
    "payoutAccounts": ({}, "The accounts, by the code of the consignor."),
    "payoutState": (_STATES, "What has become of it."),
    "payouts": ({}, "The payouts, in the order of the file."),
    "returnedPayouts": ({"type": "integer", "minimum": 0}, "How many payouts came back: they are owed again."),
    "transferNumber": ({"minimum": 1}, "Its number in the file."),
    "transferred": (MONEY, "How much."),
}
FORMS: dict[tuple[str, str], Schema] = {
    ("PayoutView", "reason"): {"description": "Why it failed; null otherwise."},
    ("PayoutDebitView", "currency"): {"pattern": "^[A-Z]{3}$", "description": "Its currency."},
}
FACTS: dict[Any, dict[str, Schema]] = {
    errors.NoPayoutAccount: {"consignor": _CODE},
    errors.PayoutUnderWay: {"consignor": _CODE},
    errors.PayoutDecided: {
        "state": {"enum": [*PayoutState, None], "description": "What it is; null if there is no such payout."}
    },
}
