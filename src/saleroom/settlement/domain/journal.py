"""The journal: balanced entries of a double-entry account book (docs/rules.md, "After the hammer").

An entry is never changed. A correction is an entry that takes another one back, and one that puts it right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct, structs

from saleroom.bidding.domain.events import Channel
from saleroom.kernel.money import STEP, ZERO
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.rates.bills import Bill, Charge, Item


class Book(StrEnum):
    """An account of the house. Each buyer and each consignor has their own within theirs."""

    BUYERS = "buyers"
    CONSIGNORS = "consignors"
    OWN_LOTS = "own_lots"
    PREMIUM = "premium"
    COMMISSION = "commission"
    FEES = "fees"
    TAX = "tax"
    RESALE_RIGHT = "resale_right"
    DONATIONS = "donations"
    CASH = "cash"
    CARD = "card"
    BANK = "bank"
    ONLINE = "online"
    OTHER = "other"
    IN_TRANSIT = "in_transit"
    ROUNDING = "rounding"


class Method(StrEnum):
    """How money moves. `CARD` is the terminal in the house, `ONLINE` the page of the card provider."""

    CASH = "cash"
    CARD = "card"
    BANK = "bank"
    ONLINE = "online"
    OTHER = "other"


BY_HAND = (Method.CASH, Method.CARD, Method.BANK, Method.OTHER)
"""How a cashier takes money and pays it out. The provider tells of payments online."""


class Account(Struct, frozen=True):
    """An account; `party` is the number of the user for a buyer, and of the consignor for a consignor."""

    book: Book
    party: int | None = None


class Posting(Struct, frozen=True):
    """What an entry moves on an account: a debit is positive, a credit negative."""

    account: Account
    amount: Decimal


class EntryKind(StrEnum):
    """What an entry is about: what a lot came to, money that moved, or an entry that is taken back.

    `PLEDGE` is what somebody has given on a fund-a-need since the entry before, less if pledges were undone. `NETTING` sets off
    what a buyer owes against what the house owes them as a consignor, `ROUNDING` what cash cannot pay. `CREDIT` takes
    charges of a lot back that a credit note has taken back, while the lot stays on its document. `PAYOUT` is a payout by a
    payment file, and what became of it.
    """

    LOT = "lot"
    PAYMENT = "payment"
    REVERSAL = "reversal"
    PLEDGE = "pledge"
    NETTING = "netting"
    ROUNDING = "rounding"
    CREDIT = "credit"
    PAYOUT = "payout"


class Result(Struct, frozen=True, kw_only=True):
    """What an entry of a lot rests on: how the lot ended, who brought it, and which version of a rate card held.

    `buyer` and `price` are None for a lot that is not sold. `buyer_member` and `seller_member` say that the rates of members
    held. `left_out` are fees that the lot has borne in another sale. Entries of former versions say `again` if all are.
    """

    buyer: int | None
    price: Decimal | None
    at: datetime
    consignor: int | None
    scheme: TaxScheme | None
    version: int | None
    buyer_member: bool = False
    seller_member: bool = False
    left_out: tuple[Item, ...] = ()
    again: bool = False

    @property
    def by_members(self) -> bool:
        """Whether a rate of members held."""
        return self.buyer_member or self.seller_member


class BilledResult(Struct, frozen=True, kw_only=True):
    """A result with the bill that it made. `channel` is that of the winning bid."""

    result: Result
    channel: Channel
    bill: Bill

    @property
    def charged(self) -> Bill:
        """The bill as somebody is charged it: for a lot without a consignor the house charges nobody what consignors bear."""
        return self.bill if self.result.consignor is not None else structs.replace(self.bill, consignor=())


_BOOKS: Mapping[Item, Book] = {
    Item.PREMIUM: Book.PREMIUM,
    Item.SURCHARGE: Book.PREMIUM,
    Item.RESALE_RIGHT: Book.RESALE_RIGHT,
    Item.COMMISSION: Book.COMMISSION,
    Item.ENTRY: Book.FEES,
    Item.PHOTO: Book.FEES,
    Item.UNSOLD: Book.FEES,
    Item.INSURANCE: Book.FEES,
    Item.DONATION: Book.DONATIONS,
}
"""The account that earns a line; the hammer price is no income of the house."""


def of_lot(settled: BilledResult) -> tuple[Posting, ...]:
    """Return the postings of a lot: the buyer owes, the consignor gets, the house and the tax office keep the rest.

    A lot without a consignor is the house's own: the hammer price is the house's, and nothing is charged for it.
    """
    result, bill = settled.result, settled.bill
    moved: dict[Account, Decimal] = defaultdict(lambda: ZERO)
    if result.buyer is not None:
        moved[Account(Book.BUYERS, result.buyer)] += bill.due
        _earn(moved, bill.buyer)
    if result.consignor is not None:
        moved[Account(Book.CONSIGNORS, result.consignor)] -= bill.proceeds
        _earn(moved, bill.consignor, sign=-1)
    elif result.buyer is not None:
        moved[Account(Book.OWN_LOTS)] -= sum((one.amount for one in bill.buyer if one.item is Item.HAMMER), ZERO)
    return tuple(Posting(account, amount) for account, amount in moved.items() if amount)


def of_credit(credited: BilledResult) -> tuple[Posting, ...]:
    """Return the postings that take charges of a lot back: the bill has these charges alone, none of which is a price."""
    return reversed_(of_lot(credited))


def _earn(moved: dict[Account, Decimal], lines: Iterable[Charge], sign: int = 1) -> None:
    for line in lines:
        if line.item in _BOOKS:
            moved[Account(_BOOKS[line.item])] -= sign * line.amount - line.hidden_tax
        moved[Account(Book.TAX)] -= sign * line.tax + line.hidden_tax


def of_money(account: Account, method: Method, amount: Decimal) -> tuple[Posting, ...]:
    """Return the postings of money that somebody pays to the house; a negative amount is paid by it."""
    return Posting(Account(Book(method.value)), amount), Posting(account, -amount)


class HandPayment(Struct, frozen=True):
    """One payment of several at once."""

    method: Method
    amount: Decimal


def by_method(payments: Iterable[HandPayment]) -> dict[Method, Decimal]:
    """Return how much is paid in each way."""
    found: dict[Method, Decimal] = defaultdict(lambda: ZERO)
    for one in payments:
        found[one.method] += one.amount
    return dict(found)


def of_pledge(user: int, more: Decimal) -> tuple[Posting, ...]:
    """Return the postings that let somebody owe so much more of pledges, all of which is donated."""
    return Posting(Account(Book.BUYERS, user), more), Posting(Account(Book.DONATIONS), -more)


def of_netting(buyer: Account, consignor: Account, amount: Decimal) -> tuple[Posting, ...]:
    """Return the postings that set off what somebody owes as a buyer against what they get as a consignor."""
    return Posting(consignor, amount), Posting(buyer, -amount)


def of_rounding(account: Account, more: Decimal) -> tuple[Posting, ...]:
    """Return the postings that let somebody owe so much more, which cash can pay; less if it is negative."""
    return Posting(account, more), Posting(Account(Book.ROUNDING), -more)


CASH_STEPS: Mapping[str, Decimal] = {
    "CAD": Decimal("0.050"),
    "CHF": Decimal("0.050"),
    "CZK": Decimal("1.000"),
    "DKK": Decimal("0.500"),
    "NOK": Decimal("1.000"),
    "SEK": Decimal("1.000"),
}
"""The smallest amount of cash in currencies without a coin of their minor unit (CLDR, `cashRounding` and `cashDigits`)."""


NETTED = "netting"
WAYS = (*Method, Book.IN_TRANSIT.value, Book.ROUNDING.value, NETTED)
"""How a balance moved beside lots."""


def way(other: Book) -> str:
    """Return how a balance moved, by the book of the other side."""
    return NETTED if other in (Book.BUYERS, Book.CONSIGNORS) else other.value


def in_cash(amount: Decimal, currency: str) -> Decimal:
    """Return an amount as cash can pay it: rounded half up to the smallest coin."""
    step = CASH_STEPS.get(currency)
    if step is None:
        return amount
    return ((amount / step).quantize(Decimal(1), ROUND_HALF_UP) * step).quantize(STEP)


def rest(owed: Decimal, others: Iterable[HandPayment], method: Method, currency: str) -> Decimal:
    """Return what is left of `owed` after other payments, as one by `method` can pay it; 0 if nothing is left."""
    cash, other = _by_cash(others)
    if method is Method.CASH:
        return max(in_cash(owed - other, currency) - cash, ZERO)
    return max(owed - other - cash, ZERO)


def rounding(owed: Decimal, payments: Iterable[HandPayment], currency: str) -> Decimal:
    """Return by how much cash that pays all the rest is rounded: what is owed more, or less if it is negative."""
    cash, other = _by_cash(payments)
    left = owed - other
    due = in_cash(left, currency)
    return due - left if cash > ZERO and left > ZERO and cash >= due else ZERO


def _by_cash(payments: Iterable[HandPayment]) -> tuple[Decimal, Decimal]:
    """Return what is paid in cash, and what in other ways."""
    cash, other = ZERO, ZERO
    for one in payments:
        if one.method is Method.CASH:
            cash += one.amount
        else:
            other += one.amount
    return cash, other


def reversed_(postings: Iterable[Posting]) -> tuple[Posting, ...]:
    """Return the postings that take others back."""
    return tuple(Posting(one.account, -one.amount) for one in postings)


def digest_of(facts: str, before: str) -> str:
    """Return the digest of an entry: of what its rows say, and of the entry before it in its sale."""
    return sha256(f"{before}\n{facts}".encode("utf-8", "surrogatepass")).hexdigest()


def is_balanced(postings: Iterable[Posting]) -> bool:
    """Return whether debits and credits are the same."""
    return sum((one.amount for one in postings), ZERO) == ZERO


def balances(postings: Iterable[Posting]) -> dict[Account, Decimal]:
    """Return the balance of each account: what is positive is owed to the house, or there."""
    found: dict[Account, Decimal] = defaultdict(lambda: ZERO)
    for one in postings:
        found[one.account] += one.amount
    return dict(found)


def split(owed: Decimal, payments: Iterable[HandPayment]) -> tuple[list[HandPayment], Decimal] | None:
    """Return the payments without the change, and the change; None if more is paid than owed by something else than cash."""
    paid = list(payments)
    change = max(sum((one.amount for one in paid), ZERO) - max(owed, ZERO), ZERO)
    left, kept = change, list[HandPayment]()
    for one in reversed(paid):
        back = min(left, one.amount) if one.method is Method.CASH else ZERO
        left -= back
        kept.insert(0, HandPayment(one.method, one.amount - back))
    return None if left else ([one for one in kept if one.amount], change)
