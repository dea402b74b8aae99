"""Acts of staff for the oracle; and the standing decided again after a void, from docs/rules.md and not from the code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Void:
    """Staff void the bid at `version`."""

    version: int


@dataclass(frozen=True)
class Moderate:
    """Staff `hide` the lot, `show` it again, or `cancel` its sale."""

    what: str


@dataclass(frozen=True)
class Clock:
    """The clock of the lot is to `pause`, or to `resume`."""

    what: str


@dataclass
class BidOrRaise:
    """An accepted request: a bid by its version, or a raise of that bid's maximum."""

    version: int
    who: int
    amount: int | None
    limit: int


def decided_again(
    asked: Sequence[BidOrRaise], starting: int, reserve: int | None, inc: Callable[[int], int]
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
    ended = over or (oracle.lot.ends is not None and oracle.clock(now) >= oracle.lot.ends)
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
    if what == "cancel":
        oracle.status, oracle.paused = "cancelled", None
    oracle.events.append({"hide": "auction.hidden", "show": "auction.shown", "cancel": "auction.cancelled"}[what])
    return None


def halted(oracle: Any, what: str, now: int) -> None:
    """Let the clock of an `Oracle` stop or go on; nothing happens to a lot that has come to its end."""
    ended = oracle.lot.ends is not None and oracle.clock(now) >= oracle.lot.ends
    if oracle.status in ("closed", "cancelled") or ended or (what == "pause") == (oracle.paused is not None):
        return
    oracle.open(now)
    if what == "resume":
        stood, lot = oracle.paused, oracle.lot

        def moved(instant: int | None) -> int | None:
            return instant if instant is None or instant <= stood else instant + now - stood

        soft = None if lot.soft_close is None else replace(lot.soft_close, cap=moved(lot.soft_close.cap))
        oracle.lot = replace(lot, starts=moved(lot.starts), ends=moved(lot.ends), soft_close=soft)
    oracle.paused = now if what == "pause" else None
    oracle.events.append(f"auction.{what}d" if what == "resume" else "auction.paused")


def own_version(oracle: Any) -> int:
    """Return the version of the last bid that was asked for: an automatic bid may come after it."""
    public = [kind for kind in oracle.events if kind != "maximum.raised"]
    placed = [at for at, kind in enumerate(public, 1) if kind == "bid.placed"]
    rows = zip(reversed(oracle.rows), reversed(placed), strict=False)
    return next(version for row, version in rows if not row.automatic)
