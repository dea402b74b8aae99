"""Money from the bank: payments on a statement, and which invoice each is for (docs/rules.md, "After the hammer")."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct

from saleroom.kernel.errors import Fault
from saleroom.settlement.domain.bank.payouts import Debit
from saleroom.settlement.domain.documents.content import PREFIXES, DocumentKind

TEXT_MAX = 1_000
"""The most characters that are kept of what a payer wrote."""
AHEAD_DAYS_MAX = 10
"""How many days ahead banks book, over a weekend with holidays."""
_BETWEEN = "[^A-Z0-9]{0,3}"
_NUMBER = re.compile(
    rf"(?<![A-Z0-9]){_BETWEEN.join(PREFIXES[DocumentKind.INVOICE])}{_BETWEEN}([0-9](?:{_BETWEEN}[0-9]){{3}}){_BETWEEN}"
    r"([0-9]{5,9}|[0-9](?: ?[0-9]){4})(?![0-9])"
)
"""The number of an invoice as people and banks write it: with other marks or none between its parts, or broken by a blank."""


class BankPayment(Struct, frozen=True, kw_only=True):
    """Money that came in by a bank. `texts` are what the payer wrote, `references` what banks know it by."""

    account: str
    on: date
    amount: Decimal
    currency: str
    payer: str
    texts: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What the payer wrote, in one line of bounded length."""
        return " ".join(self.texts)[:TEXT_MAX]


class BankStatement(Struct, frozen=True):
    """What a file of a bank says: the payments that came in, how many other entries it has, and what of them went out."""

    payments: tuple[BankPayment, ...]
    others: int
    debits: tuple[Debit, ...] = ()


class Assignment(Struct, frozen=True):
    """For whom a payment is: a sale, by its gid, and a buyer in it, by the paddle or the username."""

    sale: str
    who: str


def digests(payments: Iterable[BankPayment]) -> list[str]:
    """Return what each payment is known by in any file: all that the bank says, and which of the same ones it is."""
    seen: Counter[str] = Counter()
    found = []
    for one in payments:
        said = (
            one.account,
            one.on.isoformat(),
            f"{one.amount:f}",
            one.currency,
            one.payer,
            *one.texts,
            "",
            *one.references,
        )
        key = "\x1f".join(said)
        seen[key] += 1
        found.append(sha256(f"{key}\x1e{seen[key]}".encode()).hexdigest())
    return found


def numbers_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the numbers of invoices that texts name, each once, whatever stands between their parts."""
    found = (_NUMBER.finditer(" ".join(text.split()).upper()) for text in texts)
    numbers = (
        (re.sub("[^0-9]", "", match[1]), re.sub("[^0-9]", "", match[2])) for matches in found for match in matches
    )
    return tuple(dict.fromkeys(f"{PREFIXES[DocumentKind.INVOICE]}-{year}-{int(place):05d}" for year, place in numbers))


class Open(Struct, frozen=True, kw_only=True):
    """An invoice that a payment may be for. `due` is its amount, `owed` what its buyer has left to pay in its sale."""

    number: str
    currency: str
    due: Decimal
    owed: Decimal


class Certainty(StrEnum):
    """How sure it is which invoice a payment is for."""

    SURE = "sure"
    DOUBTFUL = "doubtful"


def verdict(payment: BankPayment, named: Sequence[Open]) -> Certainty:
    """Return whether a payment is for the one invoice that it names: its whole amount, and no more than is left to pay."""
    if len(named) != 1:
        return Certainty.DOUBTFUL
    [one] = named
    fits = payment.currency == one.currency and payment.amount == one.due and payment.amount <= one.owed
    return Certainty.SURE if fits else Certainty.DOUBTFUL


def compact(number: str) -> str:
    """Return the number of an account as machines write it: in capitals, without blanks and other marks."""
    return re.sub("[^A-Z0-9]", "", number.upper())


def account_fault(statement: BankStatement, iban: str | None) -> Fault | None:
    """Return the fault of a statement that is not surely of the house's account, which is None if nobody has said."""
    named = {one.account for one in statement.payments} | {one.account for one in statement.debits}
    others = {one for one in named if iban and compact(one) != compact(iban)}
    if "" in others:
        return Fault("no_iban", "must name its account by an IBAN, as the house has one")
    return Fault("other_account", "must be of the account of the house, by its IBAN") if others else None


def future_fault(statement: BankStatement, today: date) -> Fault | None:
    """Return the fault of a statement with a day on which no bank has booked yet."""
    last = max([today, *(one.on for one in statement.payments), *(one.on for one in statement.debits)])
    if (last - today).days <= AHEAD_DAYS_MAX:
        return None
    message = f"must have no booking later than {AHEAD_DAYS_MAX} days from today; ask the bank for the file again"
    return Fault("booked_in_future", message)
