"""Amounts with their currency, as people write them in a Babel locale."""

from __future__ import annotations

import re
from decimal import Decimal

from babel import Locale
from babel.numbers import format_currency, get_currency_precision

_TOUCHING = re.compile(r"(?<=[^\W\d])(?=\d)|(?<=\d)(?=[^\W\d])")
"""A currency's letters next to digits. CLDR puts a space there (UTS 35, "currencySpacing")."""


def with_currency(amount: Decimal, currency: str, locale: Locale) -> str:
    """Return an amount with its currency, never rounded.

    The currency's own decimals are always shown, further ones only if they are not zero.
    """
    exact = shown(amount, currency)
    return _TOUCHING.sub("\u00a0", format_currency(exact, currency, locale=locale, decimal_quantization=False))


def shown(amount: Decimal, currency: str) -> Decimal:
    """Return an amount with the decimals that are shown."""
    places = -int(amount.normalize().as_tuple().exponent)
    return amount.quantize(Decimal(1).scaleb(-max(places, decimals(currency))))


def decimals(currency: str) -> int:
    """Return the decimals that a currency always shows: three at most, as in every amount of the house."""
    return min(get_currency_precision(currency), 3)
