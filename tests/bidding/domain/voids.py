"""Voids for the oracle: the standing decided again, written from docs/rules.md, "Voiding a bid", and not from the code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Void:
    """Staff void the bid at `version`."""

    version: int


@dataclass
class Asked:
    """An accepted request: a bid by its version, or a raise of that bid's maximum."""

    version: int
    who: int
    amount: int | None
    limit: int


def decided_again(
    asked: Sequence[Asked], starting: int, reserve: int | None, inc: Callable[[int], int]
) -> tuple[int | None, int | None, int | None]:
    """Return the leader, the price and the maximum by the requests that stand: rules 2, 4 and 5, without refusals."""
    leader: int | None = None
    price = maximum = 0
    for one in asked:
        if leader is None:
            leader, price, maximum = one.who, starting if one.amount is None else one.amount, one.limit
        elif one.who == leader:
            maximum = max(maximum, one.limit)
        elif one.limit > maximum:
            leader, price = one.who, max(one.amount or 0, min(one.limit, maximum + inc(maximum)))
            maximum = one.limit
        else:
            price = max(price, min(maximum, one.limit + inc(one.limit)))
        if reserve is not None and price < reserve <= maximum:
            price = reserve
    return (None, None, None) if leader is None else (leader, price, maximum)
