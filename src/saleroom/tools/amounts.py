"""Amounts as the tools show them: with the currency of the house, and never fit to be read as thousands."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial

import msgspec
from msgspec import Struct

from saleroom.kernel.money import parse_money
from saleroom.tools.errors import WrongUsage

KEYS_PATH = "/.well-known/saleroom.json"
"""The address at which a house tells its currency and its keys."""
Money = Callable[[Decimal | str], str]
"""Writes an amount, or its text on the wire; a text that is no amount stays as it is."""


class _House(Struct):
    """The currency of a house, which older houses do not tell."""

    currency: str | None = None


def in_currency(code: str | None) -> Money:
    """Return the writer of amounts in a currency; without one they have two decimals at least. Raises WrongUsage."""
    from babel.numbers import is_currency

    if code is not None and not is_currency(code):
        raise WrongUsage(f"{code!r} is no currency: write its ISO 4217 code, such as EUR, USD or GBP")
    return partial(_written, code)


def currency_of(raw: bytes) -> str | None:
    """Return the currency that a house tells in `raw`, the JSON of /.well-known/saleroom.json; None if it tells none."""
    from babel.numbers import is_currency

    try:
        code = msgspec.json.decode(raw, type=_House).currency
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return code if code is not None and is_currency(code) else None


def _written(code: str | None, amount: Decimal | str) -> str:
    from babel import Locale

    from saleroom.kernel.currency import with_currency

    exact = parse_money(amount) if isinstance(amount, str) else amount
    if not isinstance(exact, Decimal):
        return str(amount)
    if code is not None:
        return with_currency(exact, code, Locale("en"))
    text = f"{exact:,.3f}"
    return text.removesuffix("0")
