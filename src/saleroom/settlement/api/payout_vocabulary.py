"""The words of the API's document that are about payouts."""

from __future__ import annotations

from typing import Any

from saleroom.http.schemas import COUNT, GID_PATTERN, INSTANT, MONEY, Schema
from saleroom.sales.domain.consignors import CODE_PATTERN
from saleroom.settlement.domain import errors
from saleroom.settlement.domain.bank.payouts import PayoutState
from saleroom.settlement.domain.bank.status_reports import Doubt

_STATES: Schema = {"enum": list(PayoutState)}
_CODE: Schema = {"pattern": f"^{CODE_PATTERN}$", "description": "The consignor."}
_DOUBT: Schema = {"enum": [*Doubt]}
MEMBERS: dict[str, tuple[Schema, str]] = {
    "accountHolder": ({}, "The name of the account, as its bank has it."),
    "bankReason": (
        {"pattern": "^[A-Za-z0-9]{1,35}$"},
        "The code of the reason (ISO 20022, such as AC04); null without one.",
    ),
    "bankSaid": ({}, "What the bank has said of it, the oldest first."),
    "bankStatus": (
        {"pattern": "^[A-Z]{0,4}$"},
        "The status that the bank gives (ISO 20022, such as RJCT); BOOK for a booking of a statement that did not fit.",
    ),
    "bankText": ({}, "What the bank writes about it; null if nothing, or if the file is forgotten."),
    "bic": ({}, "The bank, as its register derives it from the IBAN; null if none has it."),
    "bookedPayouts": (
        COUNT,
        "How many payouts it says were booked, that were not known to be.",
    ),
    "changedAt": (INSTANT, "Since when the account is the consignor's."),
    "doubtfulDebits": ({}, "What went out for payouts that had failed, or with another amount: look at your bank."),
    "doubt": (_DOUBT, "Why a person should look at it; null if nothing is in doubt."),
    "doubtfulPayouts": ({}, "What the report says that does not fit: nothing was changed by it."),
    "duePayouts": ({}, "What the house owes consignors, the latest sales first."),
    "dueTotal": (MONEY, "All of it together."),
    "endToEndId": ({}, "What banks know the payout by, from its file to the statement."),
    "fileNumber": ({}, "The number of the file: without gaps in each year."),
    "fileTotal": (MONEY, "All of its payouts together."),
    "iban": ({}, "The account; to the consignor it is masked."),
    "isChecked": ({}, "Whether somebody has looked into it."),
    "isForgotten": ({}, "Whether the file is deleted, as the house no longer keeps names and accounts of its day."),
    "isInDoubt": ({}, "Whether a person has to look first into what the bank has said of a payout to them."),
    "isUnderWay": ({}, "Whether a payout to them in this sale is neither booked nor has failed."),
    "knownPayouts": (COUNT, "How many payouts it says nothing new of."),
    "madeAt": (INSTANT, "When it was made."),
    "maskedIban": ({}, "The country and the end of the account; null without an account."),
    "paymentFile": ({"pattern": GID_PATTERN}, "The payment file."),
    "paymentFiles": ({}, "The payment files, the newest first."),
    "notedPayouts": (
        COUNT,
        "How many payouts it says something of that is noted: accepted, or rejected as others have said.",
    ),
    "payoutAccounts": ({}, "The accounts, by the code of the consignor."),
    "payoutState": (_STATES, "What has become of it."),
    "payouts": ({}, "The payouts, in the order of the file."),
    "rejectedPayouts": (COUNT, "How many payouts the bank has rejected: they are owed again."),
    "returnedPayouts": (COUNT, "How many payouts came back: they are owed again."),
    "saidAt": ({}, "When the bank has said it, as the bank writes it: a moment, or a day for a statement."),
    "transferNumber": ({"minimum": 1}, "Its number in the file."),
    "transferred": (MONEY, "How much."),
}
FORMS: dict[tuple[str, str], Schema] = {
    ("PayoutView", "reason"): {"description": "Why it failed; null otherwise."},
    ("PayoutDebitView", "doubt"): {"enum": [*Doubt], "description": "Why a person should look at it."},
    ("DoubtfulPayoutView", "doubt"): {"enum": [*Doubt], "description": "Why a person should look at it."},
    ("DoubtfulPayoutView", "transferNumber"): {
        "minimum": 1,
        "description": "Its number in the file; null if the file has no such transfer.",
    },
    ("PayoutDebitView", "currency"): {"pattern": "^[A-Z]{3}$", "description": "Its currency."},
}
FACTS: dict[Any, dict[str, Schema]] = {
    errors.NoPayoutAccount: {"consignor": _CODE},
    errors.PayoutUnderWay: {"consignor": _CODE},
    errors.PayoutInDoubt: {"consignor": _CODE},
    errors.PayoutDecided: {
        "state": {"enum": [*PayoutState, None], "description": "What it is; null if there is no such payout."}
    },
}
