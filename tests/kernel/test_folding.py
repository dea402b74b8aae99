"""How searches compare text: without case and accents in any script, but with the signs that must stay."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleroom.kernel.folding import GRAM_MAX, SOUGHT_MAX, _is_dropped, fold, grams, sought, words

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Longcase  CLOCK\n\tof 1790", "longcase clock of 1790"),
        ("Straße, STRASSE, STRA\u1e9eE", "strasse, strasse, strasse"),
        ("Für Äpfel und Öl", "fur apfel und ol"),
        ("Émaillé, à l’œil", "emaille, a l’oeil"),
        ("İstanbul, ISTANBUL, \u0131stanbul", "istanbul, istanbul, istanbul"),
        ("Łódź, Ørsted, ĐÀ, Ħal, ŦAŠ, Æsir", "lodz, orsted, da, hal, tas, aesir"),
        ("ΟΔΟΣ, οδός, Μαΐου", "οδοσ, οδοσ, μαιου"),
        ("Ёлка, ЕЛКА, чайник", "елка, елка, чаиник"),
        ("Tiếng Việt, Đồ gỗ", "tieng viet, do go"),
        ("مُحَمَّد أحمد كتـــاب", "محمد احمد كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("हिन्दी क्या कि की", "हिन्दी क्या कि की"),
        ("क\u093c \u0958", "क\u093c क\u093c"),
        ("ไม้ ใหม่", "ไม้ ใหม่"),
        ("花瓶", "花瓶"),
        ("ＣＬＯＣＫ　１２", "clock 12"),
        ("か\u3099 が ｶﾞ か", "が が ガ か"),
        ("하나 \u1112\u1161\u11ab", "하나 한"),
        ("ﬁne ﬂask, ½, ™, x²", "fine flask, 1⁄2, tm, x2"),
        ("Long\u00adcase, zero\u200bwidth, 👩\u200d🎨, ✂\ufe0f", "longcase, zerowidth, 👩🎨, ✂"),
    ],
)
def test_scripts(text: str, folded: str) -> None:
    """Folding removes the case and accents of each script, but keeps the signs that make another word."""
    assert folded == fold(text)
    assert folded == fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


def test_every_character() -> None:
    """All forms of a character fold alike, except a subscript iota, whose capital is a separate letter."""
    exceptions = []
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        if character.isascii() or unicodedata.category(character) in ("Cn", "Cs", "Co"):
            continue
        once = fold(character)
        forms = {once, unicodedata.normalize("NFD", character), character.lower(), character.upper()}
        if {once} != set(map(fold, forms)) and "\u0345" not in unicodedata.normalize("NFD", character):
            exceptions.append(f"U+{number:04X}")
    assert [] == exceptions


@given(_texts)
def test_twice_is_once(text: str) -> None:
    """Folding folded text changes nothing; composed and decomposed text fold alike, without line breaks."""
    folded = fold(text)
    assert folded == fold(folded)
    assert folded == fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text))
    assert "\n" not in folded


@given(_texts, _texts, _texts)
def test_a_text_has_the_numbers_of_its_parts(before: str, wanted: str, after: str) -> None:
    """A text has all numbers that a search for any part of it looks up, so that no search misses a text."""
    wanted = fold(wanted)
    assert set(sought([wanted])) <= grams(before + wanted + after)


def test_a_search_looks_up_a_few_numbers() -> None:
    """A search looks up only a few numbers, however long or repetitive it is; an empty search looks up none."""
    assert [] == sought([])
    assert [1, 1, 1, 1] == [len(sought([text])) for text in ("a", "ab", "abc", "aaaa")]
    assert 1 == len(sought(["a" * 200]))
    different = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    assert SOUGHT_MAX // 2 < len(sought([different])) <= SOUGHT_MAX
    assert 2 == len(sought(["abcd"]))


def test_the_numbers_are_those_that_the_tables_hold() -> None:
    """Every run of one to three characters has the CRC-32 of its UTF-8, as a signed number of 32 bits."""
    assert {-390611389, 1908338681, -1635563411} == grams("ab")
    assert [235179326] == sought(["é"])
    assert 4 + 3 + 2 == len(grams("abcd"))
    assert GRAM_MAX == 3


def test_the_words_of_a_search() -> None:
    """Words are folded, without the marks around them and without those that another one contains; marks alone stay."""
    assert ["chair", "walnut"] == words("“Walnut”,  (CHAIR) chair? wal")
    assert ["?"] == words(" ? ")
    assert [] == words(" \u0301 ")
    assert ["3.5", "neill", "o"] == words("O'Neill 3.5.")


@pytest.mark.parametrize(
    ("name", "sought"), [("L’Étoile", "l'etoile"), ("1890–1900", "1890-1900"), ("Jean-Luc", "Jean‑Luc")]
)
def test_apostrophes_and_dashes_are_found_however_they_are_written(name: str, sought: str) -> None:
    """A phone writes a curved apostrophe and a word processor a long dash, in the catalogue or in the search."""
    for one, other in ((name, sought), (sought, name)):
        assert all(word in fold(one) for word in words(other))
    assert ["-5", "–"] == words("-5 –")


def test_accents_and_invisible_characters_are_dropped() -> None:
    """Accents of every place, points, strokes and invisible characters are dropped; signs that make another word stay."""
    dropped = "\u0334\u05b0\u05b1\u0711\u0321\u0300\u0345\u200d\u00ad\u034f\u0640\u180b\ufe0f\U000e0100\U000e01ef"
    kept = "aé \u093c\u3099\u094d\u0c55\u0e38\u0f74\U000e01f0"
    assert {True} == {_is_dropped(character) for character in dropped}
    assert {False} == {_is_dropped(character) for character in kept}
