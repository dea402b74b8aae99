"""Reports: what lots came to, against their estimates, and the tax of the house (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum

from msgspec import Struct

from saleroom.kernel.money import ZERO
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.journal import BilledResult
from saleroom.settlement.domain.rates.bills import OF_MARGIN, Bill, Charge, Item
from saleroom.settlement.domain.rates.tax import MARGIN

_TENTH = Decimal("0.1")


class LotFigures(Struct, frozen=True, kw_only=True):
    """What a lot came to.

    `charges` are premium and all else that the buyer pays without tax, `deductions` what the consignor bears.
    """

    hammer: Decimal
    charges: Decimal
    tax: Decimal
    due: Decimal
    deductions: Decimal
    proceeds: Decimal


def figures_of(settled: BilledResult) -> LotFigures:
    """Return what a lot came to; nobody gets the proceeds of a lot without a consignor."""
    bill = settled.bill
    hammer = sum((line.amount for line in bill.buyer if line.item is Item.HAMMER), ZERO)
    tax = sum((line.tax for line in bill.buyer), ZERO)
    proceeds = bill.proceeds if settled.result.consignor is not None else ZERO
    return LotFigures(
        hammer=hammer,
        charges=bill.due - hammer - tax,
        tax=tax,
        due=bill.due,
        deductions=hammer - proceeds if settled.result.consignor is not None else ZERO,
        proceeds=proceeds,
    )


class State(StrEnum):
    """What became of a lot."""

    SOLD = "sold"
    UNSOLD = "unsold"
    WITHDRAWN = "withdrawn"
    OPEN = "open"


class EstimatedLot(Struct, frozen=True, kw_only=True):
    """A lot as a report counts it: its state, its hammer price, and its estimate from and to."""

    state: State
    price: Decimal | None = None
    low: Decimal | None = None
    high: Decimal | None = None


class Performance(Struct, frozen=True, kw_only=True):
    """How a sale went. `low`, `high` and `price` are the sums over the sold lots that have an estimate.

    `sell_through` is the percentage of the lots that are over and sold; None while none is over.
    """

    counts: Mapping[State, int]
    sell_through: Decimal | None
    low: Decimal
    high: Decimal
    price: Decimal
    below: int
    within: int
    above: int


def performance(lots: Iterable[EstimatedLot]) -> Performance:
    """Return how a sale went. An estimate without an upper end is that one amount."""
    every = list(lots)
    counts = Counter(one.state for one in every)
    over = counts[State.SOLD] + counts[State.UNSOLD]
    sold = [
        (one.price, one.low, one.low if one.high is None else one.high)
        for one in every
        if one.price is not None and one.low is not None
    ]
    return Performance(
        counts={state: counts[state] for state in State},
        sell_through=percentage(counts[State.SOLD], over) if over else None,
        low=sum((low for _, low, _ in sold), ZERO),
        high=sum((high for _, _, high in sold), ZERO),
        price=sum((price for price, _, _ in sold), ZERO),
        below=sum(price < low for price, low, _ in sold),
        within=sum(low <= price <= high for price, low, high in sold),
        above=sum(price > high for price, _, high in sold),
    )


def percentage(part: int, whole: int) -> Decimal:
    """Return a part in per cent with one decimal, half up."""
    return (100 * Decimal(part) / whole).quantize(_TENTH, ROUND_HALF_UP)


class Side(StrEnum):
    """To whom the house supplies."""

    BUYER = "buyer"
    CONSIGNOR = "consignor"


class TaxPlace(StrEnum):
    """Where the tax of a line is: on top of its amount, inside it by the margin scheme, or nowhere."""

    ON_TOP = "on_top"
    INSIDE = "inside"
    NOWHERE = "nowhere"


class TaxKey(Struct, frozen=True, order=True):
    """Which lines a row of the tax report adds up."""

    side: Side
    scheme: TaxScheme
    place: TaxPlace
    rate: Decimal


class TaxSum(Struct, frozen=True):
    """A row of the tax report: how many lines, what they come to without tax, and the tax that the house owes for them."""

    lines: int
    net: Decimal
    tax: Decimal


NOT_SUPPLIED = {Side.BUYER: {Item.RESALE_RIGHT}, Side.CONSIGNOR: {Item.HAMMER, Item.RESALE_RIGHT, Item.DONATION}}
"""What passes through the hands of the house, or is not its supply: the consignor's price, the artist's share, donations."""


def taxes(bills: Iterable[tuple[int, Bill]]) -> dict[TaxKey, TaxSum]:
    """Return the rows of the tax report over bills; a bill with -1 is taken back."""
    lines: dict[TaxKey, int] = defaultdict(int)
    net: dict[TaxKey, Decimal] = defaultdict(lambda: ZERO)
    tax: dict[TaxKey, Decimal] = defaultdict(lambda: ZERO)
    for sign, bill in bills:
        for side, line in _supplied(bill):
            key = TaxKey(side, bill.scheme, _place(bill.scheme, line), line.rate)
            earned = line.amount if side is Side.BUYER else -line.amount
            on_top = line.tax if side is Side.BUYER else -line.tax
            lines[key] += sign
            net[key] += sign * (earned - line.hidden_tax)
            tax[key] += sign * (on_top + line.hidden_tax)
    return {key: TaxSum(lines[key], net[key], tax[key]) for key in sorted(lines) if lines[key] or net[key] or tax[key]}


def _supplied(bill: Bill) -> Iterator[tuple[Side, Charge]]:
    for side, some in ((Side.BUYER, bill.buyer), (Side.CONSIGNOR, bill.consignor)):
        yield from ((side, line) for line in some if line.item not in NOT_SUPPLIED[side])


def _place(scheme: TaxScheme, line: Charge) -> TaxPlace:
    if scheme in MARGIN and line.item in OF_MARGIN:
        return TaxPlace.INSIDE
    return TaxPlace.ON_TOP if line.rate else TaxPlace.NOWHERE


class Supply(Struct, frozen=True, kw_only=True):
    """An entry of a lot, or one that takes it back: when it was posted, and when the lot was taken back last before."""

    takes_back: bool
    at: datetime
    taken_back_at: datetime | None
    settled: BilledResult

    @property
    def on(self) -> date:
        """The day on which it counts: that of the hammer or, if it puts right what counted already, that of the correction."""
        if self.takes_back:
            return self.at.date()
        hammer = self.settled.result.at
        return (hammer if self.taken_back_at is None else max(hammer, self.taken_back_at)).date()


def taxes_between(supplies: Iterable[Supply], first: date, last: date) -> dict[TaxKey, TaxSum]:
    """Return the rows of the tax report for the supplies that count from the first day to the last one."""
    return taxes((-1 if one.takes_back else 1, one.settled.charged) for one in supplies if first <= one.on <= last)


def last_month(today: date) -> tuple[date, date]:
    """Return the first and the last day of the month before."""
    end = today.replace(day=1)
    last = date.fromordinal(end.toordinal() - 1)
    return last.replace(day=1), last
