"""Scales: percentages that change with the price, and rounding (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise

from msgspec import Struct

from saleroom.kernel.errors import Fault
from saleroom.kernel.money import STEP, ZERO

TIERS_MAX = 20
PERCENT_MAX = Decimal("100.000")
_HUNDRED = Decimal(100)


class Tier(Struct, frozen=True):
    """Above the price `above`, `percent` of the price."""

    above: Decimal
    percent: Decimal


class Scale(Struct, frozen=True):
    """A percentage of a price. `tiers` begin at 0 and rise; none is nothing at any price.

    A `cumulative` scale takes each percentage of the part of the price within its tier; another one takes the percentage of
    the tier that holds the price, of the whole price. The result is at least `minimum`, at any price above 0.
    """

    tiers: tuple[Tier, ...] = ()
    cumulative: bool = False
    minimum: Decimal = ZERO

    def of(self, price: Decimal) -> Decimal:
        """Return the exact amount at a price, not rounded."""
        held = [tier for tier in self.tiers if tier.above < price]
        if not held:
            return self.minimum if price > ZERO else ZERO
        if not self.cumulative:
            return max(part(price, held[-1].percent), self.minimum)
        ends = [*(tier.above for tier in held[1:]), price]
        parts = (part(end - tier.above, tier.percent) for tier, end in zip(held, ends, strict=True))
        return max(sum(parts, Decimal(0)), self.minimum)


def part(amount: Decimal, percent: Decimal) -> Decimal:
    """Return so many per cent of an amount, not rounded."""
    return amount * percent / _HUNDRED


def inside(amount: Decimal, percent: Decimal) -> Decimal:
    """Return the tax that is inside an amount which includes it, not rounded."""
    return amount * percent / (_HUNDRED + percent)


def rounded(amount: Decimal, places: int) -> Decimal:
    """Return an amount rounded half up to the minor unit of a currency, which has so many `places`."""
    return amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP).quantize(STEP)


def tiers_fault(tiers: Sequence[Tier]) -> Fault | None:
    """Return what is wrong with the tiers of a scale."""
    if len(tiers) > TIERS_MAX:
        return Fault("too_many_tiers", f"must have at most {TIERS_MAX} tiers")
    if any(tier.percent > PERCENT_MAX for tier in tiers):
        return Fault("percent_too_high", "must have percentages of at most 100")
    if tiers and tiers[0].above != ZERO:
        return Fault("first_tier", "must begin with a tier above 0")
    if any(lower.above >= higher.above for lower, higher in pairwise(tiers)):
        return Fault("tiers_rise", "must have tiers that rise: each above a higher price than the one before")
    return None
