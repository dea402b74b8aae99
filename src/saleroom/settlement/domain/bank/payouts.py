"""Payouts by payment files: their numbers, their states, and what they post (docs/rules.md, "After the hammer")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct

from saleroom.kernel.currency import decimals
from saleroom.kernel.errors import Fault
from saleroom.settlement.domain.bank.transfers import CURRENCY, BankAccount, read_account
from saleroom.settlement.domain.documents.content import Bank
from saleroom.settlement.domain.journal import Account, Book, Posting

PAYOUTS_MAX = 500
"""The most transfers of one file."""
PAYMENT_FILES = "PAY-"
"""How the number of a payment file begins, and what banks know its transfers by."""
FIRST = ""
"""What stands before the first file of a year, instead of a digest."""
_END_TO_END = re.compile(r"PAY-[0-9]{4}-[0-9]{5,9}-[0-9A-F]{6}-[0-9]{4}")


class PayingHouse(Struct, frozen=True, kw_only=True):
    """Who pays: the house with its account, None if it has none, and the currency."""

    name: str
    holder: str
    bank: Bank | None
    currency: str

    @property
    def places(self) -> int:
        """The decimals of the minor unit of the currency."""
        return decimals(self.currency)


def account_of(payer: PayingHouse) -> BankAccount | None:
    """Return the account that transfers come from, with the BIC of its bank; it reads the registers of banks for that."""
    if payer.bank is None:
        return None
    found = read_account(payer.holder, payer.bank.iban)
    bic = payer.bank.bic or ("" if isinstance(found, Fault) else found.bic)
    return BankAccount(holder=payer.holder, iban=payer.bank.iban, bic=bic)


class PayoutState(StrEnum):
    """What has become of a payout: its file is made, the bank has the file, the bank has booked it, or it did not arrive."""

    MADE = "made"
    SENT = "sent"
    BOOKED = "booked"
    FAILED = "failed"


UNDER_WAY = frozenset({PayoutState.MADE, PayoutState.SENT})
"""The states in which nobody knows yet whether the money has arrived."""
TOLD = frozenset({PayoutState.SENT, PayoutState.BOOKED})
"""The states of which consignors were told that they are paid."""
BEFORE: Mapping[PayoutState, frozenset[PayoutState]] = {
    PayoutState.SENT: frozenset({PayoutState.MADE}),
    PayoutState.BOOKED: UNDER_WAY,
    PayoutState.FAILED: UNDER_WAY | {PayoutState.BOOKED},
}
"""From which states each can be reached. A payout that the bank has booked can still come back."""


class PayoutMark(Struct, frozen=True):
    """What has become of payouts of a file. `places` are theirs in it; without any, it is all that can have the mark."""

    state: PayoutState
    places: Sequence[int] = ()
    reason: str | None = None


class Debit(Struct, frozen=True, kw_only=True):
    """Money that went out by a bank, as its statement has it. `reference` is all that the bank knows it by."""

    account: str
    on: date
    amount: Decimal
    currency: str
    end_to_end: str
    reference: str = ""


def file_number(year: int, place: int) -> str:
    """Return the number of a payment file."""
    return f"{PAYMENT_FILES}{year}-{place:05d}"


def message_id(number: str, chance: str) -> str:
    """Return what banks know a file by. `chance` are six hexadecimal digits: a house that is restored gives no number twice."""
    return f"{number}-{chance.upper()}"


def end_to_end(message: str, place: int) -> str:
    """Return what banks know a transfer by, from its file to the statement."""
    return f"{message}-{place:04d}"


def is_end_to_end(text: str) -> bool:
    """Return whether a text has the form of what a house gives to its transfers."""
    return _END_TO_END.fullmatch(text) is not None


def fits(amount: Decimal, currency: str, payout: Decimal) -> bool:
    """Return whether what a bank has moved is a payout: all of it, in euros."""
    return currency == CURRENCY and amount == payout


IN_TRANSIT, BANK = Account(Book.IN_TRANSIT), Account(Book.BANK)


def of_payout(consignor: Account, amount: Decimal) -> tuple[Posting, ...]:
    """Return the postings of a payout whose file is made: the consignor is paid, and the money is in transit."""
    return _moves(IN_TRANSIT, consignor, amount)


def of_end(state: PayoutState, before: PayoutState, consignor: Account, amount: Decimal) -> tuple[Posting, ...]:
    """Return the postings of a payout that arrived or failed; nothing if it was only sent.

    What failed is owed again. It comes back from the bank if that had booked it, and otherwise from the transit.
    """
    if state is PayoutState.BOOKED:
        return _moves(BANK, IN_TRANSIT, amount)
    if state is PayoutState.FAILED:
        return _moves(consignor, BANK if before is PayoutState.BOOKED else IN_TRANSIT, amount)
    return ()


def _moves(credit: Account, debit: Account, amount: Decimal) -> tuple[Posting, ...]:
    return Posting(debit, amount), Posting(credit, -amount)


def digest_of(content_digest: str, facts: Sequence[str], before: str) -> str:
    """Return the digest of a file: of what it says, of the facts of its rows, and of the file before it in its year."""
    return sha256("\n".join((before, content_digest, *facts)).encode()).hexdigest()


def content_digest(content: str) -> str:
    """Return the digest of what a file says; it stays when the content is deleted."""
    return sha256(content.encode()).hexdigest()
