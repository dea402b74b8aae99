"""Increments: the tier that holds the price, the default ladder, and invalid ladders."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.bidding.domain import increments
from saleroom.bidding.domain.increments import DEFAULT_LADDER, TIERS_MAX, Tier, fixed, ladder_faults, read_ladder
from saleroom.kernel.money import LIMIT
from tests.bidding.domain.playing import ladder, money, units
from tests.histories import ladders

DEFAULT = [
    *[("0.000", "0.010"), ("0.990", "0.010"), ("0.999", "0.010"), ("1.000", "0.100"), ("9.999", "0.100")],
    *[("10.000", "1.000"), ("99.999", "1.000"), ("100.000", "10.000"), ("999.999", "10.000")],
    *[("1000.000", "100.000"), ("9999.999", "100.000"), ("10000.000", "1000.000"), ("99999.999", "1000.000")],
    *[("100000.000", "10000.000"), ("5000000.000", "10000.000"), ("99999999999999999.999", "10000.000")],
]


@pytest.mark.parametrize(("price", "step"), DEFAULT)
def test_default_ladder(price: str, step: str) -> None:
    """The default ladder is the rules' table, and a price on an edge belongs to the tier that starts there."""
    assert Decimal(step) == DEFAULT_LADDER.step_at(Decimal(price))


def test_the_default_ladder_has_seven_tiers_and_no_more() -> None:
    """The default ladder is the rules' table, row by row, with three decimals; it is a valid ladder, and made once."""
    rows = [
        *(("0.000", "0.010"), ("1.000", "0.100"), ("10.000", "1.000"), ("100.000", "10.000")),
        *(("1000.000", "100.000"), ("10000.000", "1000.000"), ("100000.000", "10000.000")),
    ]
    assert rows == [(str(tier.start), str(tier.step)) for tier in increments._default().tiers]
    assert DEFAULT_LADDER == increments._default()
    assert [] == ladder_faults(DEFAULT_LADDER.tiers)


@given(ladders(), st.integers(0, 500_000) | st.integers(0, 10**20 - 1))
def test_the_tier_is_the_one_that_holds_the_price(tiers: tuple[tuple[int, int], ...], price: int) -> None:
    """The step at a price is that of the last tier that starts at or below it."""
    holding = max(start for start, _ in tiers if start <= price)
    assert dict(tiers)[holding] == units(ladder(tiers).step_at(money(price)))


@given(ladders())
def test_a_ladder_comes_back_as_it_went(tiers: tuple[tuple[int, int], ...]) -> None:
    """A ladder is read as it is shown, whether as one step or as tiers."""
    assert ladder(tiers) == read_ladder(ladder(tiers).as_json)


@pytest.mark.parametrize("price", ["0.000", "0.999", "100.000", "99999999999999998.999"])
def test_a_fixed_step_is_the_same_at_every_price(price: str) -> None:
    """A fixed step is the step at every price."""
    assert Decimal(price) + Decimal("0.250") == fixed(Decimal("0.250")).next_above(Decimal(price))


def test_there_is_no_next_amount_beyond_20_digits() -> None:
    """If price and step exceed the largest amount that can be written, there is no next amount."""
    assert LIMIT == fixed(Decimal("0.999")).next_above(LIMIT - Decimal("0.999"))
    assert fixed(Decimal("1.000")).next_above(LIMIT - Decimal("0.999")) is None


def _tiers(*rows: tuple[str, str]) -> list[Tier]:
    return [Tier(Decimal(start), Decimal(step)) for start, step in rows]


@pytest.mark.parametrize(
    ("codes", "tiers"),
    [
        ([], _tiers(("0.000", "0.001"))),
        ([], _tiers(("0.000", "5.000"), ("0.001", "0.001"))),
        ([], _tiers(*((f"{n}.000", "1.000") for n in range(TIERS_MAX)))),
        (["ladder_empty"], []),
        (["ladder_too_long"], _tiers(*((f"{n}.000", "1.000") for n in range(TIERS_MAX + 1)))),
        (["ladder_start"], _tiers(("0.001", "1.000"))),
        (["ladder_order"], _tiers(("0.000", "1.000"), ("5.000", "1.000"), ("5.000", "2.000"))),
        (["ladder_order"], _tiers(("0.000", "1.000"), ("5.000", "1.000"), ("4.999", "2.000"))),
        (["step_not_positive"], _tiers(("0.000", "0.000"))),
        (["step_not_positive"], _tiers(("0.000", "1.000"), ("9.000", "0.000"))),
        (
            ["ladder_start", "ladder_order", "step_not_positive"],
            _tiers(("2.000", "1.000"), ("1.000", "0.000")),
        ),
    ],
)
def test_malformed_ladders_are_refused(codes: list[str], tiers: list[Tier]) -> None:
    """A ladder starts at 0, rises, and has steps above 0 and at most 50 tiers; all faults are told at once."""
    assert codes == [fault.code for fault in ladder_faults(tiers)]
