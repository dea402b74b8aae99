"""Scales: percentages that change with the price, and rounding."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from saleroom.settlement.domain.rates.scales import TIERS_MAX, Scale, Tier, rounded, tiers_fault

PRICES = st.decimals(0, 10_000_000, places=3)
PERCENTS = st.decimals(0, 100, places=3)


@st.composite
def scales(draw: st.DrawFn) -> Scale:
    """Return any scale that a house can have."""
    above = sorted(draw(st.sets(st.decimals(1, 1_000_000, places=3), max_size=5)))
    tiers = tuple(Tier(start, draw(PERCENTS)) for start in (Decimal(0), *above))
    return Scale(tiers, draw(st.booleans()), draw(st.decimals(0, 100, places=3)))


def scale(*tiers: tuple[int, str], cumulative: bool = False, minimum: str = "0") -> Scale:
    """Return a scale with these tiers."""
    return Scale(
        tuple(Tier(Decimal(above), Decimal(percent)) for above, percent in tiers), cumulative, Decimal(minimum)
    )


@pytest.mark.parametrize(
    ("price", "whole", "cumulative"),
    [
        ("0", "0", "0"),
        ("100", "25", "25"),
        ("1000", "250", "250"),  # the tier ends with its last price, as "up to 1000" says
        ("1000.01", "200.002", "250.002"),
        ("3000", "600", "650"),
    ],
)
def test_a_scale_takes_the_whole_price_or_each_part(price: str, whole: str, cumulative: str) -> None:
    """With 25 % up to 1000 and 20 % above, 3000 costs 600 as a whole price and 250 + 400 by its parts."""
    tiers = ((0, "25"), (1000, "20"))
    assert Decimal(whole) == scale(*tiers).of(Decimal(price))
    assert Decimal(cumulative) == scale(*tiers, cumulative=True).of(Decimal(price))


def test_a_minimum_holds_at_any_price() -> None:
    """The minimum is taken where the percentage is less, and nothing of no price."""
    one = scale((0, "10"), minimum="5")
    assert [Decimal(0), Decimal(5), Decimal(5), Decimal(6)] == [one.of(Decimal(price)) for price in (0, 1, 50, 60)]
    assert Decimal(5) == Scale(minimum=Decimal(5)).of(Decimal(1))


@given(scales(), PRICES, PRICES)
def test_a_cumulative_scale_never_falls(one: Scale, lower: Decimal, higher: Decimal) -> None:
    """A higher price never costs less by a cumulative scale, and never more than the highest percentage of it."""
    one = structs.replace(one, cumulative=True)
    lower, higher = sorted((lower, higher))
    assert one.of(lower) <= one.of(higher)
    most = max(tier.percent for tier in one.tiers)
    assert one.of(higher) <= max(higher * most / 100, one.minimum)


@given(st.decimals(-1_000_000, 1_000_000, places=6), st.integers(0, 3))
def test_rounding_moves_an_amount_by_half_a_coin_at_most(amount: Decimal, places: int) -> None:
    """A rounded amount is a number of coins, and at most half a coin away; a half goes away from zero."""
    coin, found = Decimal(1).scaleb(-places), rounded(amount, places)
    assert found % coin == 0
    assert abs(found - amount) <= coin / 2
    if abs(found - amount) == coin / 2:
        assert abs(found) > abs(amount)
    assert found.as_tuple().exponent == -3


@pytest.mark.parametrize(
    ("tiers", "code"),
    [
        ([(0, "25"), (1000, "20")], None),
        ([], None),
        ([(1, "25")], "first_tier"),
        ([(0, "25"), (0, "20")], "tiers_rise"),
        ([(0, "100.001")], "percent_too_high"),
        ([(place, "1") for place in range(TIERS_MAX + 1)], "too_many_tiers"),
    ],
)
def test_tiers_have_their_faults(tiers: list[tuple[int, str]], code: str | None) -> None:
    """Tiers begin at 0, rise, and are of at most 100 per cent."""
    fault = tiers_fault([Tier(Decimal(above), Decimal(percent)) for above, percent in tiers])
    assert code == (None if fault is None else fault.code)
