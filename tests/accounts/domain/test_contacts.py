"""Contacts: what a user may write to be reached by."""

from __future__ import annotations

import pytest

from saleroom.accounts.domain.contacts import CONTACT_MAX, parse_contact
from saleroom.kernel.errors import Fault


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  ada@example.org \r\n+49 30 1234 ", "ada@example.org \n+49 30 1234"),
        ("x" * CONTACT_MAX, "x" * CONTACT_MAX),
        (f" {'x' * CONTACT_MAX}\n", "x" * CONTACT_MAX),
        (" \n ", ""),
    ],
)
def test_a_contact_may_have_lines(text: str, expected: str) -> None:
    """The white space around a contact goes, and its line breaks are the same from every browser."""
    assert expected == parse_contact(text)


def test_a_contact_has_a_length() -> None:
    """A contact that is too long is refused with the length that it may have."""
    fault = parse_contact("x" * (CONTACT_MAX + 1))
    assert isinstance(fault, Fault)
    assert Fault("contact_length", "must have 300 characters at most") == fault
    assert {"most": 300} == fault.facts


@pytest.mark.parametrize("text", ["a\0b", "a\u202eb", "\u200b", "a" + "\u0301" * 9])
def test_a_contact_hides_nothing(text: str) -> None:
    """Controls, directions, invisible text and piles of marks are refused as in a description."""
    fault = parse_contact(text)
    assert isinstance(fault, Fault)
    assert "text_characters" == fault.code
