"""Pick-up: which lots of a buyer are paid, so that they are handed out (docs/rules.md, "After the hammer")."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

from saleroom.kernel.money import ZERO

TO_MAX = 100
"""Characters of the name of who took a lot."""
REASON_MAX = 500


class NewPickup(Struct, frozen=True):
    """A lot to hand out. `to` is who takes it, empty for the buyer themselves; `reason` is why, if it is not paid."""

    label: str
    to: str = ""
    reason: str = ""


class Purse(Struct, frozen=True, kw_only=True):
    """A buyer of a sale: what their lots and pledges cost, what they owe of it, and what the lots that they have cost."""

    cost: Decimal
    owed: Decimal
    taken: Decimal

    def pays(self, due: Decimal) -> bool:
        """Return whether a lot that costs `due` is paid: they owe nothing, or have paid for it and those that they have."""
        return self.owed <= ZERO or self.taken + due <= self.cost - self.owed
