"""Amounts in the terminal: with their currency, and never to be read as thousands."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

from saleroom.tools.amounts import currency_of, in_currency
from saleroom.tools.errors import WrongUsage


@pytest.mark.parametrize(
    ("amount", "in_euro", "without"),
    [
        ("700.000", "€700.00", "700.00"),
        ("1250.500", "€1,250.50", "1,250.50"),
        ("0.125", "€0.125", "0.125"),
        ("99999999999999999.999", "€99,999,999,999,999,999.999", "99,999,999,999,999,999.999"),
        ("-", "-", "-"),
        ("1E+999999999", "1E+999999999", "1E+999999999"),
        ("NaN", "NaN", "NaN"),
    ],
)
def test_an_amount_is_written_as_the_house_writes_it(amount: str, in_euro: str, without: str) -> None:
    """The decimals are those of the currency, or two where it is not known; text that is no amount stays."""
    assert (in_euro, without) == (in_currency("EUR")(amount), in_currency(None)(amount))


def test_other_currencies_have_their_own_decimals() -> None:
    """Yen have none; a currency that does not exist is refused."""
    assert "¥700" == in_currency("JPY")(Decimal("700.000"))
    with pytest.raises(WrongUsage, match="is no currency"):
        in_currency("XXXX")


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b'{"currency": 7}', b'{"currency": "\\u001b"}', b"[" * 100_000, b"\xff"]
)
def test_a_house_that_tells_no_currency_has_none(raw: bytes) -> None:
    """Older houses and other servers tell none."""
    assert currency_of(raw) is None
    assert "CHF" == currency_of(msgspec.json.encode({"currency": "CHF", "keys": []}))
