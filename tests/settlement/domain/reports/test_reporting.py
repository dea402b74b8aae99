"""Reports, as rules: estimates, sell-through, the rows of tax, and the day on which something counts."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from saleroom.bidding.domain.events import Channel
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.journal import BilledResult, Book, Result, balances, of_lot
from saleroom.settlement.domain.rates.bills import Bearer, Hammer, RateCard, bill
from saleroom.settlement.domain.rates.scales import Scale, Tier
from saleroom.settlement.domain.rates.tax import Country
from saleroom.settlement.domain.reports.reporting import (
    EstimatedLot,
    Side,
    State,
    Supply,
    TaxKey,
    TaxPlace,
    TaxSum,
    figures_of,
    last_month,
    performance,
    taxes,
    taxes_between,
)

AT = datetime(2026, 3, 31, 20, tzinfo=UTC)
D = Decimal


def flat(percent: str) -> Scale:
    """Return a scale of one percentage."""
    return Scale((Tier(D("0.000"), D(percent)),))


def settled(price: str | None, scheme: TaxScheme, *, payer: Bearer = Bearer.BUYER, at: datetime = AT) -> BilledResult:
    """Return what a lot of a consignor came to by a card with every charge."""
    card = RateCard(
        premium=flat("25.000"),
        commission=flat("10.000"),
        surcharges={Channel.ONLINE: D("3.000")},
        entry=D("1.000"),
        photo=D("2.000"),
        unsold=D("5.000"),
        insurance=D("1.500"),
        donation=D("2.000"),
        resale_right=payer,
        country=Country.DE,
    )
    amount = None if price is None else D(price)
    result = Result(buyer=None if price is None else 7, price=amount, at=at, consignor=9, scheme=scheme, version=1)
    return BilledResult(
        result=result,
        channel=Channel.ONLINE,
        bill=bill(card, Hammer(price=amount, on=at.date(), scheme=scheme), 2),
    )


def test_prices_are_compared_with_estimates() -> None:
    """A price at either end is within; one without an upper end is that amount; lots without an estimate do not count."""
    lots = [
        EstimatedLot(state=State.SOLD, price=D("100.000"), low=D("100.000"), high=D("200.000")),
        EstimatedLot(state=State.SOLD, price=D("200.000"), low=D("100.000"), high=D("200.000")),
        EstimatedLot(state=State.SOLD, price=D("99.000"), low=D("100.000"), high=None),
        EstimatedLot(state=State.SOLD, price=D("101.000"), low=D("100.000"), high=None),
        EstimatedLot(state=State.SOLD, price=D("9.000")),
        EstimatedLot(state=State.UNSOLD, low=D("100.000")),
        EstimatedLot(state=State.WITHDRAWN),
        EstimatedLot(state=State.OPEN),
    ]
    found = performance(lots)
    assert (1, 2, 1) == (found.below, found.within, found.above)
    assert (D("400.000"), D("600.000"), D("500.000")) == (found.low, found.high, found.price)
    assert D("83.3") == found.sell_through
    assert [5, 1, 1, 1] == [found.counts[one] for one in State]
    assert performance([]).sell_through is None
    assert D("66.7") == performance(lots[:2] + lots[5:6]).sell_through


def test_the_tax_of_a_lot_by_hand() -> None:
    """Under `standard` 100 with 25 % and 3 % is taxed on top, 24.32 in all; what is done for the consignor is taxed, too."""
    found = taxes([(1, settled("100.000", TaxScheme.STANDARD).bill)])
    assert {
        TaxKey(Side.BUYER, TaxScheme.STANDARD, TaxPlace.ON_TOP, D("19.000")): TaxSum(3, D("128.000"), D("24.320")),
        # 10 commission, 1.50 insurance, 1 entry, 2 photo: 1.90 + 0.29 + 0.19 + 0.38
        TaxKey(Side.CONSIGNOR, TaxScheme.STANDARD, TaxPlace.ON_TOP, D("19.000")): TaxSum(4, D("14.500"), D("2.760")),
    } == found


def test_the_tax_inside_a_margin_by_hand() -> None:
    """Under `margin` 28 of premium and surcharge have 3.99 + 0.48 inside, and the commission of 10 has 1.60."""
    found = taxes([(1, settled("100.000", TaxScheme.MARGIN).bill)])
    zero = D("0.000")
    assert {
        TaxKey(Side.BUYER, TaxScheme.MARGIN, TaxPlace.INSIDE, zero): TaxSum(2, D("23.530"), D("4.470")),
        TaxKey(Side.BUYER, TaxScheme.MARGIN, TaxPlace.NOWHERE, zero): TaxSum(1, D("100.000"), zero),
        TaxKey(Side.CONSIGNOR, TaxScheme.MARGIN, TaxPlace.INSIDE, zero): TaxSum(1, D("8.400"), D("1.600")),
        TaxKey(Side.CONSIGNOR, TaxScheme.MARGIN, TaxPlace.ON_TOP, D("19.000")): TaxSum(3, D("4.500"), D("0.860")),
    } == found


def test_tax_that_rounds_to_nothing_is_inside_the_margin() -> None:
    """Of a price of 0.10 the premium of 0.03 has no cent of tax inside, nor have commission and surcharge: it is the margin."""
    found = taxes([(1, settled("0.100", TaxScheme.MARGIN).bill)])
    zero = D("0.000")
    assert TaxSum(1, D("0.030"), zero) == found[TaxKey(Side.BUYER, TaxScheme.MARGIN, TaxPlace.INSIDE, zero)]
    assert TaxSum(1, D("0.100"), zero) == found[TaxKey(Side.BUYER, TaxScheme.MARGIN, TaxPlace.NOWHERE, zero)]
    assert TaxSum(1, D("0.010"), zero) == found[TaxKey(Side.CONSIGNOR, TaxScheme.MARGIN, TaxPlace.INSIDE, zero)]


PRICES = some.one_of(some.none(), some.decimals("0.01", "1000000", places=2).map(lambda one: f"{one:.3f}"))
LOTS = some.lists(some.tuples(PRICES, some.sampled_from(TaxScheme), some.sampled_from(Bearer)), max_size=12)


@given(LOTS)
def test_both_ways_of_adding_up_agree(lots: list[tuple[str | None, TaxScheme, Bearer]]) -> None:
    """What the rows of a report add up to is what the accounts of the journal say: tax, income, buyers, consignors."""
    made = [settled(price, scheme, payer=payer) for price, scheme, payer in lots]
    books: dict[Book, Decimal] = {}
    for one in made:
        for account, amount in balances(of_lot(one)).items():
            books[account.book] = books.get(account.book, D(0)) + amount
    rows = taxes((1, one.bill) for one in made)
    figures = [figures_of(one) for one in made]
    assert -books.get(Book.TAX, D(0)) == sum(one.tax for one in rows.values())
    assert books.get(Book.BUYERS, D(0)) == sum(one.hammer + one.charges + one.tax for one in figures)
    assert -books.get(Book.CONSIGNORS, D(0)) == sum(one.hammer - one.deductions for one in figures)
    income = -sum(books.get(one, D(0)) for one in (Book.PREMIUM, Book.COMMISSION, Book.FEES))
    hammer = sum(one.hammer for one in figures)
    assert income == sum(one.net for one in rows.values()) - hammer


@given(LOTS)
def test_what_is_taken_back_leaves_nothing(lots: list[tuple[str | None, TaxScheme, Bearer]]) -> None:
    """Bills that are counted and taken back leave no row."""
    made = [settled(price, scheme, payer=payer).bill for price, scheme, payer in lots]
    assert {} == taxes([*((1, one) for one in made), *((-1, one) for one in made)])


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (date(2026, 3, 1), date(2026, 3, 31), "24.320"),  # the hammer, although it was posted in April
        (date(2026, 4, 1), date(2026, 4, 30), "0.000"),  # taken back, and put right, on the 10th of April
        (date(2026, 3, 1), date(2026, 4, 30), "24.320"),
        (date(2026, 5, 1), date(2026, 5, 31), "0.000"),
    ],
)
def test_the_day_on_which_a_lot_counts(first: date, last: date, expected: str) -> None:
    """A lot counts on the day of the hammer; what puts it right counts on the day of the correction."""
    posted, put_right = AT + timedelta(days=2), AT + timedelta(days=10)
    lot = settled("100.000", TaxScheme.STANDARD)
    supplies = [
        Supply(takes_back=False, at=posted, taken_back_at=None, settled=lot),
        Supply(takes_back=True, at=put_right, taken_back_at=None, settled=lot),
        Supply(takes_back=False, at=put_right, taken_back_at=put_right, settled=lot),
    ]
    found = taxes_between(supplies, first, last)
    assert D(expected) == sum((one.tax for key, one in found.items() if key.side is Side.BUYER), D("0.000"))


def test_the_last_month() -> None:
    """The month before January is December; February ends on its own last day."""
    assert (date(2025, 12, 1), date(2025, 12, 31)) == last_month(date(2026, 1, 31))
    assert (date(2028, 2, 1), date(2028, 2, 29)) == last_month(date(2028, 3, 1))
