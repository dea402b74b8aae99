"""Obvious passwords: what is left of one without the words that everybody would try."""

from contextlib import nullcontext

import pytest

from saleroom.accounts.domain.errors import ObviousPassword
from saleroom.accounts.domain.obvious import WORDS, refuse_obvious, words_of

HOUSE = "Müller & Söhne"


@pytest.mark.parametrize(
    ("password", "refused"),
    [
        ("ada.lovelace", True),
        ("Ada-Lovelace-1", True),
        ("lovelace2026", True),
        ("LovelaceAda!", True),
        ("Mueller&Soehne", False),
        ("müller-söhne", True),
        ("MullerSohne99", True),
        ("password123", True),
        ("Auction-2026", True),
        ("saleroom saleroom", True),
        ("auction password", True),
        ("correct horse battery staple", False),
        ("ada likes walking", False),
        ("12345678", False),
        ("--------", False),
        ("password of a long sentence", False),
    ],
)
def test_little_more_than_a_word_of_the_house(password: str, refused: bool) -> None:
    """Case, accents, signs and a few more characters make no other password; a sentence with such a word is fine."""
    words = words_of("ada.lovelace", HOUSE, *WORDS)
    with (
        pytest.raises(ObviousPassword, match="username, the name of the house or a word") if refused else nullcontext()
    ):
        refuse_obvious(password, words)


def test_short_words_count_for_nothing() -> None:
    """A name of two characters stands in many good passwords."""
    assert frozenset() == words_of("al")
    refuse_obvious("alabaster", words_of("al"))
