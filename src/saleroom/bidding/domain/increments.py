"""Increments: by how much the next bid has to exceed the price (docs/rules.md, "Terms")."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from itertools import pairwise

from msgspec import Struct

from saleroom.kernel.errors import Fault
from saleroom.kernel.money import ZERO, above

TIERS_MAX = 50
"""More tiers than a house needs, and few enough to store with each auction."""


class Tier(Struct, frozen=True, rename={"start": "from"}):
    """From the price `start` on, the next bid is higher by `step`."""

    start: Decimal
    step: Decimal


class TierView(Struct, frozen=True, rename={"start": "from"}):
    """A tier as JSON has it."""

    start: str
    step: str


class Ladder(Struct, frozen=True, dict=True):
    """The tiers of an auction, from the lowest price (0) upwards; one tier is a fixed step."""

    tiers: tuple[Tier, ...]

    @cached_property
    def as_json(self) -> str | list[TierView]:
        """The ladder as JSON has it: a fixed step, or the tiers. It is computed once, not for each bid."""
        if len(self.tiers) == 1:
            return str(self.tiers[0].step)
        return [TierView(str(tier.start), str(tier.step)) for tier in self.tiers]

    def step_at(self, price: Decimal) -> Decimal:
        """Return inc(price): the step of the tier that holds `price` itself."""
        for tier in reversed(self.tiers):
            if tier.start <= price:
                return tier.step
        raise AssertionError("the first tier starts at 0")

    def next_above(self, price: Decimal) -> Decimal | None:
        """Return `price` plus its step, or None if that exceeds 20 digits."""
        tiers = self.tiers  # most ladders have one tier, which holds every price
        return above(price, tiers[0].step if len(tiers) == 1 else self.step_at(price))


def fixed(step: Decimal) -> Ladder:
    """Return the ladder with the same `step` at every price."""
    return Ladder((Tier(ZERO, step),))


def read_ladder(shown: str | Sequence[TierView]) -> Ladder:
    """Return the ladder that JSON has as `shown`."""
    if isinstance(shown, str):
        return fixed(Decimal(shown))
    return Ladder(tuple(Tier(Decimal(tier.start), Decimal(tier.step)) for tier in shown))


def ladder_faults(tiers: Sequence[Tier]) -> list[Fault]:
    """Return the faults of `tiers`: a ladder starts at 0 and rises, and each step is above 0."""
    faults = []
    if not tiers:
        return [Fault("ladder_empty", "must have at least one tier")]
    if len(tiers) > TIERS_MAX:
        faults.append(Fault("ladder_too_long", f"must have at most {TIERS_MAX} tiers", most=TIERS_MAX))
    if tiers[0].start != ZERO:
        faults.append(Fault("ladder_start", "the first tier must be from 0"))
    if any(a.start >= b.start for a, b in pairwise(tiers)):
        faults.append(Fault("ladder_order", "each tier must be from a higher price than the one before"))
    if any(tier.step <= ZERO for tier in tiers):
        faults.append(Fault("step_not_positive", "every step must be above 0"))
    return faults


def _default() -> Ladder:
    rows = [("0", "0.01"), ("1", "0.10"), ("10", "1"), ("100", "10"), ("1000", "100"), ("10000", "1000")]
    rows.append(("100000", "10000"))
    exact = Decimal("0.001")
    return Ladder(tuple(Tier(Decimal(a).quantize(exact), Decimal(b).quantize(exact)) for a, b in rows))


DEFAULT_LADDER = _default()
"""Below 1: 0.01; below 10: 0.10; below 100: 1; and so on, up to 10,000 from 100,000 upwards."""
