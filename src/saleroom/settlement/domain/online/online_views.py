"""The JSON of payments by card online."""

from __future__ import annotations

from msgspec import Struct


class OnlineRefundView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A refund of a payment by card online. `failure` is why it failed, by the provider's word; null otherwise."""

    online_refund: str
    refund_amount: str
    refund_state: str
    asked_at: str
    failure: str | None


class OnlinePaymentView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A payment by card online. `received` is what was posted; null until the provider says that it is paid.

    `dispute` says how a dispute about it stands; null without one. `trouble` says why a person should look at it.
    """

    online_payment: str
    document: str
    document_number: str
    sale: str
    sale_title: str
    buyer: str
    charged: str
    currency: str
    payment_state: str
    asked_at: str
    received: str | None
    dispute: str | None
    trouble: str | None
    provider_name: str | None
    refunds: list[OnlineRefundView]


class OnlinePaymentPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of payments by card online."""

    online_payments: list[OnlinePaymentView]
    next: str | None


class OwnPaymentView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A payment by card online as its buyer sees it."""

    online_payment: str
    charged: str
    currency: str
    payment_state: str
    asked_at: str
    received: str | None


class OwnPaymentsView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The payments by card online of one document. `payable` is what could be charged now; null if nothing can."""

    payable: str | None
    own_payments: list[OwnPaymentView]


class PaymentSheetView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The page of the card provider on which an invoice is paid."""

    pay_at: str
