"""Caution: a bid so far above the price that it may be a slip of the hand, such as one zero too many."""

from __future__ import annotations

from decimal import Decimal

from saleroom.kernel.money import STEP

SLIP = 10
"""From this many times the price on, a bid may be a slip: one zero too many makes ten times of an amount."""


def times_the_price(price: Decimal, limit: Decimal) -> int | None:
    """Return how many times the present `price` a bid of up to `limit` is, if it may be a slip, otherwise None.

    The pages then ask for the amount again. The API takes a bid as it comes.
    """
    times = int(limit / max(price, STEP))
    return times if times >= SLIP else None
