"""The JSON of payouts: the accounts of consignors, what is due to them, and payment files."""

from __future__ import annotations

from msgspec import Struct


class PayoutAccountView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The bank account of a consignor; all of it is null without one. To the consignor the number is masked."""

    consignor: str
    account_holder: str | None
    iban: str | None
    bic: str | None
    changed_at: str | None


class PayoutAccountsView(Struct, frozen=True, rename="camel"):
    """The bank accounts of a user, one for each consignor that they are."""

    payout_accounts: list[PayoutAccountView]


class DuePayoutView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the house owes a consignor in a sale. `masked_iban` is null without an account.

    There is no other payout while one `is_under_way`.
    """

    sale: str
    sale_title: str
    consignor: str
    person_name: str
    to_pay_out: str
    masked_iban: str | None
    is_under_way: bool


class DuePayoutsView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the house owes consignors, page by page, and in all."""

    due_payouts: list[DuePayoutView]
    due_total: str
    next: str | None


class PayoutView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A transfer of a payment file, and what has become of it. `reason` says why it failed."""

    transfer_number: int
    sale: str
    sale_title: str
    consignor: str
    person_name: str
    transferred: str
    masked_iban: str
    end_to_end_id: str
    payout_state: str
    reason: str | None


class PaymentFileView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A payment file with its payouts. One that is forgotten can no longer be downloaded."""

    payment_file: str
    file_number: str
    made_at: str
    file_total: str
    is_forgotten: bool
    payouts: list[PayoutView]


class PaymentFilePage(Struct, frozen=True, rename="camel"):
    """A page of payment files, the newest first."""

    payment_files: list[PaymentFileView]
    next: str | None


class PayoutDebitView(Struct, frozen=True, kw_only=True, rename="camel"):
    """Money that went out by the bank for a payout that is not under way, or with another amount."""

    end_to_end_id: str
    booked_on: str
    transferred: str
    currency: str
