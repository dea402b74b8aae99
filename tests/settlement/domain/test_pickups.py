"""Which lots are paid, so that they may leave the house."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from saleroom.settlement.domain.pickups import Purse


@pytest.mark.parametrize(
    ("cost", "owed", "taken", "due", "paid"),
    [
        ("30", "0", "0", "10", True),
        ("30", "-5", "30", "10", True),
        ("30", "30", "0", "10", False),
        ("30", "20", "0", "10", True),
        ("30", "20", "10", "10", False),
        ("30", "20.001", "0", "10", False),
    ],
)
def test_a_lot_is_paid_if_what_was_paid_covers_it(cost: str, owed: str, taken: str, due: str, paid: bool) -> None:
    """All that was paid counts once: for the lots that are out, and then for the next."""
    purse = Purse(cost=Decimal(cost), owed=Decimal(owed), taken=Decimal(taken))
    assert paid is purse.pays(Decimal(due))


@given(some.lists(some.integers(1, 1000), min_size=1, max_size=8), some.integers(0, 4000))
def test_no_more_leaves_the_house_than_was_paid(dues: list[int], paid: int) -> None:
    """In whatever order they are taken, unpaid lots stay; once all is paid, all leave."""
    cost, taken = sum(dues), 0
    for due in dues:
        purse = Purse(cost=Decimal(cost), owed=Decimal(cost - paid), taken=Decimal(taken))
        if purse.pays(Decimal(due)):
            taken += due
    assert taken <= paid if paid < cost else taken == cost
