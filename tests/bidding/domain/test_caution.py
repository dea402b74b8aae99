"""Caution: from which price on a bid may be a slip."""

from __future__ import annotations

from decimal import Decimal

import pytest

from saleroom.bidding.domain.caution import times_the_price
from saleroom.kernel.money import LIMIT, STEP


@pytest.mark.parametrize(
    ("price", "limit", "expected"),
    [
        ("3.000", "99.000", 33),
        ("100.000", "1000.000", 10),
        ("100.000", "999.999", None),
        ("100.000", "110.000", None),
        ("0.000", "0.009", None),
        ("0.000", "0.010", 10),
        (str(STEP), str(LIMIT), 99_999_999_999_999_999_999),
    ],
)
def test_one_zero_too_many_may_be_a_slip(price: str, limit: str, expected: int | None) -> None:
    """A bid of ten times the price or more may be a slip, and one below that is none, for every amount there is."""
    assert expected == times_the_price(Decimal(price), Decimal(limit))
