"""The JSON of money from the bank."""

from __future__ import annotations

from datetime import date

from msgspec import Struct

from saleroom.settlement.domain.bank.payout_views import PayoutDebitView


class ImportedStatementView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an import of a bank statement did. `known` payments came in a file before.

    `doubtful_debits` went out for a payout that had failed, or with another amount.
    """

    new_payments: int
    known_payments: int
    taken_payments: int
    doubtful_payments: int
    other_entries: int
    booked_payouts: int
    returned_payouts: int
    doubtful_debits: list[PayoutDebitView]


class ProposalView(Struct, frozen=True, kw_only=True, rename="camel"):
    """An invoice that a payment may be for, with its buyer by paddle or username."""

    document_number: str
    sale: str
    sale_title: str
    buyer: str
    person_name: str
    amount_due: str
    left_to_pay: str


class BankPaymentView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A payment from the bank. `sale` is that which it was taken for, `reason` why it is for none."""

    bank_payment: str
    booked_on: date
    received: str
    currency: str
    payer: str
    payer_text: str
    waits: bool
    sale: str | None
    reason: str | None
    proposals: list[ProposalView]


class BankPaymentPage(Struct, frozen=True, rename="camel"):
    """A page of payments from the bank, the newest first."""

    bank_payments: list[BankPaymentView]
    next: str | None
