"""Acts of staff for the oracle; and the standing decided again after a void, from docs/rules.md and not from the code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Void:
    """Staff void the bid at `version`."""

    version: int


@dataclass(frozen=True)
class Moderate:
    """Staff `hide` the lot, `show` it again, or `cancel` its sale."""

    what: str


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


def moderated(oracle: Any, what: str, now: int) -> str | None:
    """Let staff do `what` on the lot of an `Oracle`, and return the code of a refusal."""
    over, is_hidden = oracle.status in ("closed", "cancelled"), oracle.hidden or oracle.withheld
    ended = over or (oracle.lot.ends is not None and now >= oracle.lot.ends)
    if ended and (what == "cancel" or not over):
        return "auction_closed"
    if what != "cancel" and (what == "hide") == is_hidden:
        return "already_hidden" if is_hidden else "not_hidden"
    if over:
        if oracle.hidden:
            return "auction_closed"
        oracle.withheld = what == "hide"
        return None
    oracle.open(now)
    oracle.hidden = what == "hide" or (what == "cancel" and oracle.hidden)
    oracle.status = "cancelled" if what == "cancel" else oracle.status
    oracle.events.append({"hide": "auction.hidden", "show": "auction.shown", "cancel": "auction.cancelled"}[what])
    return None
