from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.errors import Fault
from saleroom.kernel.texts import guarded
from saleroom.sales.domain.cells import parse_amount, plain_text, text_of, written_amount

CENTS = st.decimals(min_value=0, max_value=10**17 - 1, places=2)
AMOUNTS = st.one_of(CENTS, st.decimals(min_value=0, max_value=10**14, places=3))


@pytest.mark.parametrize(
    ("cell", "amount"),
    [
        ("1234", "1234"),
        ("1234.5", "1234.5"),
        ("1234,50", "1234.5"),
        ("1.234,50", "1234.5"),
        ("1,234.50", "1234.5"),
        ("1.234.567", "1234567"),
        ("1,234,567.125", "1234567.125"),
        ("1'234.50", "1234.5"),
        ("1\u2019234", "1234"),
        ("1\u00a0234,50", "1234.5"),
        ("12 345", "12345"),
        ("0,125", "0.125"),
        ("1234,125", "1234.125"),
        ("1,2340", "1.234"),
        ("100,-", "100"),
        ("100,\u2013", "100"),
        ("€ 1.250,00", "1250"),
        ("80 EUR", "80"),
        ("007", "7"),
        (12, "12"),
        (Decimal("12.5"), "12.5"),
        (Decimal("1E+3"), "1000"),
    ],
)
def test_amounts_are_read_in_both_languages(cell: str | int | Decimal, amount: str) -> None:
    """An amount is read in English, German and Swiss decimals, with the sign of the house's currency."""
    assert Decimal(amount) == parse_amount(cell, ("€", "EUR"))


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("1.234", "ambiguous_number"),
        ("12,500", "ambiguous_number"),
        ("1.23.4", "money_format"),
        ("12.34,567.8", "money_format"),
        ("1,234.567.8", "money_format"),
        ("-5", "money_negative"),
        ("12 USD", "money_format"),
        ("about 100", "money_format"),
        ("1e3", "money_format"),
        ("1.23456", "money_decimals"),
        ("1" * 18, "money_digits"),
        ("\u0661\u0662", "money_format"),
        (Decimal("0.0001"), "money_decimals"),
        (-3, "money_negative"),
        (Decimal("-3.50"), "money_negative"),
        (Decimal("-1E+300"), "money_negative"),
    ],
)
def test_what_is_no_amount_or_could_be_two_is_refused(cell: str | int | Decimal, code: str) -> None:
    """A number that can be read in two ways is never guessed, and other text is refused."""
    fault = parse_amount(cell, ("€", "EUR"))
    assert isinstance(fault, Fault) and fault.code == code


@given(amount=AMOUNTS, mark=st.sampled_from(".,"))
def test_a_written_amount_is_read_as_itself(amount: Decimal, mark: str) -> None:
    """What an export writes, an import reads as the same amount, whatever the decimal mark."""
    assert amount == parse_amount(written_amount(amount, mark))


@given(text=st.text())
def test_a_guarded_text_is_read_as_itself_and_never_runs(text: str) -> None:
    """No exported cell begins as a formula does, and an import gets the text that was exported."""
    plain = plain_text(text)
    cell = guarded(plain)
    assert cell[:1] not in set("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
    assert text_of(cell) == plain
