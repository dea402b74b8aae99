"""The price of an offer to an underbidder: their own bid, the reserve, or the lower estimate."""

from decimal import Decimal

import pytest

from saleroom.settlement.domain.unsold.underbidding import Otherwise, Terms, price_for, tag_of

RESERVE, ESTIMATE = Otherwise


@pytest.mark.parametrize(
    ("bid", "reserve", "estimate", "otherwise", "price"),
    [
        (10, None, None, RESERVE, 10),
        (10, None, 18, ESTIMATE, 10),
        (15, 15, 18, ESTIMATE, 15),
        (20, 15, 30, RESERVE, 20),
        (10, 15, 18, RESERVE, 15),
        (10, 15, 18, ESTIMATE, 18),
        (10, 15, 12, ESTIMATE, 15),
        (10, 15, None, ESTIMATE, 15),
    ],
)
def test_a_bid_that_reaches_the_reserve_is_the_price(
    bid: int, reserve: int | None, estimate: int | None, otherwise: Otherwise, price: int
) -> None:
    """Otherwise the reserve, or the lower estimate if staff choose it; never less than the bid or the reserve."""
    terms = Terms(
        highest_bid=Decimal(bid),
        reserve_price=None if reserve is None else Decimal(reserve),
        lower_estimate=None if estimate is None else Decimal(estimate),
    )
    assert Decimal(price) == price_for(terms, otherwise)


def test_another_plan_has_another_tag() -> None:
    """Another lot, paddle, price or order; the same plan has the same one."""
    one = [("1", 5, Decimal("10.000")), ("2", 5, Decimal("12.000"))]
    others = [one[:1], [one[1], one[0]], [("1", 6, Decimal("10.000")), one[1]], [("1", 5, Decimal("11.000")), one[1]]]
    assert 5 == len({tag_of(one), *map(tag_of, others)})
    assert tag_of(one) == tag_of([*one])
