"""Paper of a sale: what a label says, texts that keep their place, and words in both languages."""

from hypothesis import given
from hypothesis import strategies as st

from saleroom.sales.domain.paper import NAME_ON_LABEL_MAX, label_digest, on_label, printable
from saleroom.sales.domain.paper_words import words


def test_a_digest_changes_with_what_the_label_shows_and_with_nothing_else() -> None:
    """Number, name, sale and address count; what a long name has beyond the label does not."""
    first = label_digest("1", "A clock", "Evening", "https://a/lots/x")
    others = [
        label_digest("1A", "A clock", "Evening", "https://a/lots/x"),
        label_digest("1", "A chair", "Evening", "https://a/lots/x"),
        label_digest("1", "A clock", "Morning", "https://a/lots/x"),
        label_digest("1", "A clock", "Evening", "https://a/lots/y"),
    ]
    assert 5 == len({first, *others})
    long = "n" * 2 * NAME_ON_LABEL_MAX
    assert label_digest("1", long, "", "") == label_digest("1", f"{long}, and more", "", "")
    assert NAME_ON_LABEL_MAX == len(on_label(long))


@given(st.text(max_size=200))
def test_printable_text_has_the_same_letters(text: str) -> None:
    """Only marks of direction go, and only breaks are added."""
    marks = dict.fromkeys([0x61C, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
    assert text.translate(marks) == printable(text).translate(marks)


def test_long_words_can_be_broken() -> None:
    """No run of letters is so long that it leaves a column."""
    assert 12 >= max(map(len, printable("x" * 500).split("\u200b")))
    assert "An ordinary Donaudampfschiff" == printable("An ordinary Donaudampfschiff")


def test_words_are_in_both_languages() -> None:
    """The same names, and the same places for values."""
    assert words("en").keys() == words("de").keys()
    assert "Lot" == words("en")["lot"]
    assert "Los" == words("de")["lot"]
