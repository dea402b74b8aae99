"""Selections of lots and paddles, as people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.errors import Fault
from saleroom.sales.domain.selections import Span, chosen, parse_lots, parse_paddles

LABELS = st.from_regex(r"[1-9][0-9]{0,3}[A-Z]{0,2}", fullmatch=True)


def test_lots_are_numbers_and_ranges() -> None:
    """Spaces, small letters, leading zeros and dashes of both kinds do not matter; a range has 12A between 12 and 13."""
    found = parse_lots(" 1-3; 005 ,12a–13")
    assert (Span("1", "3"), Span("5", "5"), Span("12A", "13")) == found
    assert not isinstance(found, Fault)
    labels = ("2", "3", "3A", "12", "12B", "13", "14")
    assert [True, True, False, False, True, True, False] == [chosen(label, found) for label in labels]
    assert chosen("99", ())


@pytest.mark.parametrize("text", ["", ",", "1-", "-1", "1-2-3", "x", "1,,2", "1 2", "٣", "1" * 501])
def test_anything_else_is_a_fault(text: str) -> None:
    """It is refused with an example."""
    found = parse_lots(text)
    assert isinstance(found, Fault)
    assert "lots_format" == found.code


def test_a_range_does_not_go_down() -> None:
    """`5-3` is refused by name, for lots and for paddles."""
    for found in (parse_lots("5-3"), parse_paddles("5-3")):
        assert isinstance(found, Fault)
        assert "backwards" == found.code


@given(LABELS)
def test_a_label_chooses_itself(label: str) -> None:
    """Each label is a selection of exactly that lot."""
    found = parse_lots(label)
    assert (Span(label, label),) == found


def test_paddles_are_numbers_and_ranges() -> None:
    """They may have a number sign; 0 and six digits are no paddles."""
    assert (range(1, 4), range(12, 13)) == parse_paddles("1-3,#12")
    assert isinstance(parse_paddles("0"), Fault)
    assert isinstance(parse_paddles("100000"), Fault)
