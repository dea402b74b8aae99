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

    There is no other payout while one `is_under_way`, or `is_in_doubt` after what a bank has said.
    """

    sale: str
    sale_title: str
    consignor: str
    person_name: str
    to_pay_out: str
    masked_iban: str | None
    is_under_way: bool
    is_in_doubt: bool


class DuePayoutsView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the house owes consignors, page by page, and in all."""

    due_payouts: list[DuePayoutView]
    due_total: str
    next: str | None


class BankAnswerView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a bank has said of a payout. A person has to look at one with a `doubt` that `is_checked` by nobody."""

    said_at: str
    bank_status: str
    bank_reason: str | None
    bank_text: str | None
    doubt: str | None
    is_checked: bool


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
    is_in_doubt: bool
    bank_said: list[BankAnswerView]


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
    """Money that went out by the bank for a payout, and why a person should look at it."""

    payment_file: str
    end_to_end_id: str
    booked_on: str
    transferred: str
    currency: str
    doubt: str


class DoubtfulPayoutView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a report says, and why a person should look at it. `transfer_number` is null if the file has no such transfer."""

    transfer_number: int | None
    end_to_end_id: str
    bank_status: str
    doubt: str


class ImportedReportView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the import of a payment status report did. `known` payouts are those of which all was said before."""

    payment_file: str
    file_number: str
    rejected_payouts: int
    noted_payouts: int
    known_payouts: int
    doubtful_payouts: list[DoubtfulPayoutView]
