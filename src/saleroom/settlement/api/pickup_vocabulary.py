"""The words of the API's document that are about pick-up."""

from __future__ import annotations

from typing import Any

from saleroom.http.schemas import COUNT, INSTANT, MONEY, Schema
from saleroom.settlement.domain.errors import NotPaid

MEMBERS: dict[str, tuple[Schema, str]] = {
    "pickups": ({}, "The sold lots, in the order of calling."),
    "toHandOut": (COUNT, "How many of them are still in the house."),
    "isPaid": (
        {},
        "Whether the lot is paid: its buyer owes nothing, or has paid for the lots that they have and for this one.",
    ),
    "handedOutAt": (INSTANT, "When it was handed out; null if it was not."),
    "handedOutBy": ({}, "Who handed it out; null if nobody did."),
    "handedOutTo": ({}, "Who took it; empty for the buyer themselves, null if it was not handed out."),
    "unpaidReason": ({}, "Why it was handed out unpaid; null otherwise."),
}
FACTS: dict[Any, dict[str, Schema]] = {NotPaid: {"owed": {**MONEY, "description": "What its buyer has left to pay."}}}
