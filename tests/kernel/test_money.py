"""Money as text: exactly which texts are amounts, and which are refused."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.errors import Fault
from saleroom.kernel.money import LIMIT, STEP, ZERO, above, parse_money

AMOUNTS = {
    "0": "0.000",
    "0.0": "0.000",
    "0.001": "0.001",
    "12": "12.000",
    "12.5": "12.500",
    "12.50": "12.500",
    "12.500": "12.500",
    "10": "10.000",
    "99999999999999999": "99999999999999999.000",
    "99999999999999999.999": "99999999999999999.999",
}
REFUSED = {
    "money_decimals": ["0.0001", "12.5000", "1.0000", "0.00000000000000000001"],
    "money_digits": ["100000000000000000", "100000000000000000.001", "1" + "0" * 5000],
    "money_negative": ["-1", "-0", "-0.000", "-0.001", "-100000000000000000"],
    "money_format": [
        *("", " ", "NaN", "nan", "sNaN", "Infinity", "-Infinity", "inf", "1e3", "1E+3", "1e-3", "0e0", "1_0", "1,5"),
        *(" 5", "5 ", "5\n", "\t5", "5\u00a0", "+5", "--5", "- 5", "01", "00", "00.5", "007", ".5", "5.", ".", "1.2.3"),
        *(
            "true",
            "false",
            "True",
            "null",
            "None",
            "0x10",
            "1/2",
            "½",
            "²",
            "٣",
            "1٣",
            "1.٥",
            "12.5٠",
            "١٢٫٥",
            "１２",
            "५",
            "12€",
            "5\0",
            "−5",
        ),
    ],
}


@pytest.mark.parametrize(("text", "wire"), AMOUNTS.items())
def test_amounts_are_read_exactly(text: str, wire: str) -> None:
    """Every spelling of an amount is read as the same Decimal with exactly three decimals."""
    assert wire == str(parse_money(text))


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in REFUSED.items() for text in texts])
def test_texts_that_are_no_amount_are_refused(code: str, text: str) -> None:
    """More decimals, more digits, negatives, exponents, signs, spaces, foreign digits and words are faults, by code."""
    fault = parse_money(text)
    assert isinstance(fault, Fault)
    assert code == fault.code


@given(st.integers(0, 10**20 - 1))
def test_every_amount_of_20_digits_comes_back(thousandths: int) -> None:
    """All 20 digits survive reading and writing."""
    text = f"{thousandths // 1000}.{thousandths % 1000:03}"
    assert text == str(parse_money(text))


@given(st.text(max_size=30) | st.from_regex(r"[-+]?[0-9_ ]{0,20}\.?[0-9e]{0,5}", fullmatch=True))
def test_any_text_is_an_amount_or_a_fault(text: str) -> None:
    """No text makes the parser fail; an amount that it reads is within the limits and is written as the same number."""
    amount = parse_money(text)
    if isinstance(amount, Fault):
        assert "" != amount.message
    else:
        assert ZERO <= amount <= LIMIT
        assert -3 == amount.as_tuple().exponent
        assert Decimal(text) == amount


def test_nothing_is_above_the_limit() -> None:
    """A sum of more than 20 digits is None; the highest sum of 20 digits is not."""
    assert LIMIT == above(LIMIT - STEP, STEP)
    assert above(LIMIT, STEP) is None
