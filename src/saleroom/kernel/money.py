"""Money: exact decimals of up to 20 digits, 3 of them after the point (docs/specification.md, "Limits").

Every amount in the house is a `Decimal` with exactly three decimals, so `str` gives its form in JSON. No binary float is
involved.
"""

from __future__ import annotations

import re
from decimal import Decimal

from saleroom.kernel.errors import Fault

STEP = Decimal("0.001")
"""The smallest difference between two amounts."""
ZERO = Decimal("0.000")
LIMIT = Decimal("99999999999999999.999")
"""The highest amount: 17 digits before the point and 3 after it."""

PATTERN = r"(?:0|[1-9][0-9]{0,16})(?:\.[0-9]{1,3})?"
"""An amount as text; `[0-9]` and not `\\d`, which would match Arabic digits as well."""
POSITIVE_PATTERN = r"(?:0\.(?:[1-9][0-9]{0,2}|0[1-9][0-9]?|00[1-9])|[1-9][0-9]{0,16}(?:\.[0-9]{1,3})?)"
"""An amount above 0 as text."""
_AMOUNT = re.compile(PATTERN)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def parse_money(text: str) -> Decimal | Fault:
    """Return the amount in `text`, with exactly three decimals, or the fault of the text."""
    if _AMOUNT.fullmatch(text) is not None:
        return Decimal(text).quantize(STEP)
    if _NUMBER.fullmatch(text) is None:
        return Fault("money_format", 'must be an amount such as "12.50": digits, at most one point, nothing else')
    if text.startswith("-"):
        return Fault("money_negative", "must not be negative")
    whole, _, fraction = text.partition(".")
    if len(fraction) > 3:
        return Fault("money_decimals", "must have at most 3 decimals")
    if len(whole) > 1 and whole.startswith("0"):
        return Fault("money_format", "must be written without leading zeros")
    return Fault("money_digits", "must have at most 17 digits before the point")


def above(price: Decimal, step: Decimal) -> Decimal | None:
    """Return `price + step`, or None if that exceeds 20 digits."""
    total = price + step
    return total if total <= LIMIT else None
