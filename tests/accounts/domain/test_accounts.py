"""Usernames, passwords, and the lifetime of a token."""

from datetime import UTC, datetime

import pytest

from saleroom.accounts.domain.accounts import expiry, parse_password, parse_username
from saleroom.kernel.errors import Fault


@pytest.mark.parametrize("text", ["abc", "a" * 32, "a.b-c_d", "007", "...", "x-1"])
def test_usernames_of_3_to_32_characters(text: str) -> None:
    """Letters, digits, dot, underscore and hyphen make a username, 3 to 32 of them."""
    assert text == parse_username(text)


def test_usernames_are_kept_in_lower_case() -> None:
    """Usernames that differ only in case are the same."""
    assert "ada.l" == parse_username("Ada.L")


@pytest.mark.parametrize(
    "text",
    [
        *("", "ab", "a" * 33, "a b c", "ada ", "ada\n", "ada\0", "ädä", "a/b", "a@b.c", "İda"),
        *("\u0430da", "\u212a" * 3, "\u0663" * 3),  # a Cyrillic a, the Kelvin sign, Arabic digits
    ],
)
def test_other_texts_are_no_usernames(text: str) -> None:
    """Any other text is a fault, even if its letters look like ASCII or become ASCII in lower case."""
    fault = parse_username(text)
    assert isinstance(fault, Fault)
    assert "username_format" == fault.code


@pytest.mark.parametrize("text", ["x" * 8, "x" * 256, " " * 8, "pässwörd", "🔑" * 8, "  secret  "])
def test_passwords_are_used_unmodified(text: str) -> None:
    """8 to 256 characters of any kind are a password, which stays unchanged."""
    assert text == parse_password(text)


@pytest.mark.parametrize("text", ["", "x" * 7, "x" * 257])
def test_passwords_of_other_lengths_are_refused(text: str) -> None:
    """Fewer than 8 or more than 256 characters are a fault."""
    fault = parse_password(text)
    assert isinstance(fault, Fault)
    assert "password_length" == fault.code


def test_a_token_lives_30_days_to_the_microsecond() -> None:
    """expiresAt is createdAt plus 30 days, whatever the calendar."""
    issued = datetime(2028, 2, 1, 23, 59, 59, 123_456, tzinfo=UTC)
    assert datetime(2028, 3, 2, 23, 59, 59, 123_456, tzinfo=UTC) == expiry(issued)
