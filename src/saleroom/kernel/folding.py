"""Folding: text as a search compares it, without case and accents.

The rules are here and not in a database: SQLite's lower() knows only ASCII, and PostgreSQL's follows the collation of each
database. The tables hold folded text (`bidding/storage/search_index.py`).
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator

GRAM_MAX = 3
"""Characters of the longest run that is looked up. Runs of four would give fewer false hits, at twice the cost of writing."""
SOUGHT_MAX = 24
"""Grams that a search looks up, spread over its text. The text itself is compared afterwards."""

_MARKS = ".,;:!?()[]{}\"'`‘’‚‛“”„«»‹›、。"  # noqa: RUF001  # quotation marks of many languages
"""Marks of a sentence or a quotation, which may stand around a word."""
_WITHIN = re.compile("(?<=\\w)['`’‘ʼ‐‒–—−-](?=\\w)")  # noqa: RUF001  # apostrophes and dashes of many keyboards
"""An apostrophe or a dash within a word. People and their phones write each of them in several ways."""
_WHITE = re.compile(r"\s+")
_LETTERS = {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ħ": "h", "ł": "l", "ŧ": "t", "\u0131": "i"}
"""Letters that readers take for others with an accent, though Unicode does not decompose them."""
_IGNORED = frozenset({"\u034f", "\u0640", *map(chr, range(0x180B, 0x180E)), *map(chr, range(0xFE00, 0xFE10))})
"""Invisible characters that are no format characters: joiners, the Arabic tatweel, variation selectors."""


def fold(text: str) -> str:
    """Return `text` without case, accents and optional signs; any white space is one space.

    Compatible forms (full-width, ligatures, superscripts) become plain. Marks that make another word stay: Indic vowel signs,
    viramas and nuktas, Thai and Lao tones and vowels, the voicing of kana. Folding twice gives the same as once.
    """
    if text.isascii():
        return _WHITE.sub(" ", text.lower())
    plain = _plain(_plain(text).casefold())
    return _WHITE.sub(" ", unicodedata.normalize("NFC", plain))


def grams(folded: str) -> set[int]:
    """Return the numbers (32 bits, signed) of all runs of 1 to `GRAM_MAX` characters in folded text.

    Two runs may share a number, so a text with all numbers of another need not contain it.
    """
    return {_number(run) for length in range(1, GRAM_MAX + 1) for run in set(_runs(folded, length))}


def words(text: str) -> list[str]:
    """Return the folded words of a search, each once; a word that another one contains is left out.

    A mark at the edge of a word is not part of it, unless the word is nothing but marks. An apostrophe or a dash within it
    divides it: the text that is searched may have another one there.
    """
    parts = (part for whole in fold(text).split() for part in _WITHIN.split(whole))
    found = {part.strip(_MARKS) or part for part in parts}
    return sorted(word for word in found if not any(word in other for other in found - {word}))


def sought(words: Iterable[str]) -> list[int]:
    """Return numbers that every text has that contains these folded words: up to `SOUGHT_MAX`, of their longest runs."""
    runs = list(dict.fromkeys(run for word in words for run in _runs(word, min(len(word), GRAM_MAX))))
    return [_number(run) for run in runs[:: max(1, -(-len(runs) // SOUGHT_MAX))]]


def _runs(folded: str, length: int) -> Iterator[str]:
    """Yield all runs of so many characters. A text may have 10,000 of them, so zip makes them."""
    return map("".join, zip(*(folded[start:] for start in range(length)), strict=False))


def _number(run: str) -> int:
    return (zlib.crc32(run.encode()) ^ 1 << 31) - (1 << 31)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKD", text).translate(_TABLE)


class _Table(dict[int, str | int]):
    """The folded form of each character: computed on first use, and cached for most scripts."""

    def __missing__(self, number: int) -> str | int:
        character = chr(number)
        kept: str | int = "" if _is_dropped(character) else _LETTERS.get(character, number)
        if number < 0x3000:
            self[number] = kept
        return kept


def _is_dropped(character: str) -> bool:
    """Whether a character of decomposed text is an accent or invisible.

    The combining class tells accents: strokes through a letter (1), the points of Hebrew, Arabic and Syriac (10 to 36),
    and marks above, below or beside a letter (from 200 on). A word without a sign of the other classes is another word.
    """
    place = unicodedata.combining(character)
    if place:
        return place == 1 or 10 <= place <= 36 or place >= 200
    return character in _IGNORED or unicodedata.category(character) == "Cf" or "\U000e0100" <= character <= "\U000e01ef"


_TABLE = _Table()
