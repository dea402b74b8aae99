"""Terms that contradict each other, for the oracle: from docs/api.md and not from the code."""

from typing import Any


def contradictions(lot: Any, now: int | None) -> str | None:
    """The terms that contradict each other, or the clock if `now` is given."""
    reserve, buy_now, starts, ends, soft = lot.reserve, lot.buy_now, lot.starts, lot.ends, lot.soft_close
    checks = {
        "reserve_price/below_starting_price": reserve is not None and reserve < lot.starting,
        "buy_now_price/below_starting_price": buy_now is not None and buy_now < lot.starting,
        "buy_now_price/below_reserve_price": None not in (buy_now, reserve) and (buy_now or 0) < (reserve or 0),
        "ends_at/not_in_future": ends is not None and now is not None and ends <= now,
        "ends_at/not_after_start": ends is not None and starts is not None and ends <= starts,
        "soft_close/cap_before_end": ends is not None and soft is not None and soft.cap is not None and soft.cap < ends,
    }
    faults = sorted(fault for fault, holds in checks.items() if holds)
    return f"validation {' '.join(faults)}" if faults else None
