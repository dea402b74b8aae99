"""The words of the API's document that are about payments by card online."""

from __future__ import annotations

from typing import Any

from saleroom.http.schemas import GID_PATTERN, INSTANT, MONEY, Schema
from saleroom.settlement.domain.errors import NotRefundableOnline
from saleroom.settlement.domain.online.card_payments import Dispute, OnlineState, RefundState

MEMBERS: dict[str, tuple[Schema, str]] = {
    "askedAt": (INSTANT, "When it was asked for."),
    "charged": (MONEY, "What the card provider was asked to charge."),
    "dispute": (
        {"enum": list(Dispute)},
        "How a dispute by the holder of the card stands; null without one. One that is lost takes the money back.",
    ),
    "failure": ({}, "Why it failed, by the provider's word; null otherwise."),
    "onlinePayment": ({"pattern": GID_PATTERN}, "The payment."),
    "onlinePayments": ({}, "The payments by card online, the newest first."),
    "onlineRefund": ({"pattern": GID_PATTERN}, "The refund."),
    "ownPayments": ({}, "The payments by card online of the document, the latest first."),
    "payAt": ({"format": "uri"}, "The address of the card provider's page, to which to send the buyer."),
    "payable": (MONEY, "What can be charged now; null if nothing can."),
    "paymentState": (
        {"enum": list(OnlineState)},
        "How it stands: `open` while it can be paid, `paid` once it is posted; a person looks at one that is `unclear`.",
    ),
    "providerName": ({}, "The provider's own name for it; null while it has none."),
    "refundAmount": (MONEY, "How much is paid back."),
    "refundState": ({"enum": list(RefundState)}, "How the refund stands; it is posted when it is `done`."),
    "refunds": ({}, "What is paid back of it, the oldest first."),
    "toPayBack": (MONEY, "What the house can pay back now: without what is on its way back to cards."),
    "trouble": ({}, "Why a person should look at it; null otherwise."),
}
FORMS: dict[tuple[str, str], Schema] = {
    (view, "received"): {**MONEY, "description": "What was paid and posted; null until then."}
    for view in ("OnlinePaymentView", "OwnPaymentView")
}
FORMS |= {
    (view, "currency"): {"pattern": "^[A-Z]{3}$", "description": "Its currency."}
    for view in ("OnlinePaymentView", "OwnPaymentView")
}
FORMS |= {
    ("OnlinePaymentView", "document"): {"pattern": GID_PATTERN, "description": "The invoice that it is for."},
    ("OnlinePaymentView", "sale"): {"pattern": GID_PATTERN, "description": "The sale of the invoice."},
    ("DeskView", "onlinePayments"): {"description": "What they have paid by card online, the latest first."},
}
FACTS: dict[Any, dict[str, Schema]] = {
    NotRefundableOnline: {"most": {**MONEY, "description": "What can be paid back to their cards."}}
}
