"""Amounts with their currency: exact, with the currency's own decimals. Languages are in tests/site/test_language.py."""

from __future__ import annotations

from decimal import Decimal

import pytest
from babel import Locale

from saleroom.kernel.currency import decimals, shown, with_currency


@pytest.mark.parametrize(("currency", "count"), [("JPY", 0), ("EUR", 2), ("KWD", 3), ("CLF", 3)])
def test_a_currency_shows_its_own_decimals(currency: str, count: int) -> None:
    """A currency has the decimals that CLDR gives it, and three at most."""
    assert count == decimals(currency)


@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        ("100.000", "EUR", "100.00"),
        ("0.125", "EUR", "0.125"),
        ("100.500", "JPY", "100.5"),
        ("1000.000", "JPY", "1000"),
        ("99999999999999999.999", "KWD", "99999999999999999.999"),
    ],
)
def test_an_amount_is_never_rounded(amount: str, currency: str, expected: str) -> None:
    """The currency's own decimals are always shown, and further ones if they are not zero."""
    assert expected == str(shown(Decimal(amount), currency))


@pytest.mark.parametrize(
    ("locale", "currency", "expected"),
    [
        ("en_GB", "EUR", "€1,234.50"),
        ("de", "EUR", "1.234,50\u00a0€"),
        ("en_US", "KWD", "KWD\u00a01,234.500"),
        ("de", "KWD", "1.234,500\u00a0KWD"),
    ],
)
def test_letters_do_not_touch_digits(locale: str, currency: str, expected: str) -> None:
    """A sign stands as the locale has it, and a space that does not break parts letters from digits."""
    assert expected == with_currency(Decimal("1234.500"), currency, Locale.parse(locale))


def test_a_further_decimal_is_written() -> None:
    """A decimal beyond those of the currency is written, and not rounded away."""
    assert "€0.125" == with_currency(Decimal("0.125"), "EUR", Locale.parse("en_GB"))
