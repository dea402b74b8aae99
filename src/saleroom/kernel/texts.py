"""Text for people: the characters that a name or a description may have."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from saleroom.kernel.errors import Fault

MARKS_MAX = 8
"""The most marks and invisible characters that may follow a character.

The longest stack of Tibetan has eight, a flag of emoji six, a Hebrew letter with vowels and cantillation five.
"""
_STEERS = "\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069"
_CONTROLS = re.compile(f"[\0-\x1f{_STEERS}]")
_CONTROLS_IN_LINES = re.compile(f"[\0-\x08\x0b\x0c\x0e-\x1f{_STEERS}]")
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_NOT_IN_XML = dict.fromkeys((0xFFFE, 0xFFFF))
_FORMULA = re.compile("\\s*[=+\\-@'\uff1d\uff0b\uff0d\uff20]|[\t\r\n]|#[A-Z][A-Z/_0]*[A-Z!?]\\Z")
"""How a text begins that a spreadsheet runs, also behind blanks and in full width; the apostrophe that guards them; and a
text that it takes for the error of a formula, such as `#REF!`."""
_BREAKS = re.compile("[\u2028\u2029]")
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
"""A flag of a part of a country, such as that of Wales (UTS 51, "Emoji Tag Sequences")."""
_BLANKS = "\u115f\u1160\u3164\uffa0\u2800"
"""Letters and a symbol that show nothing."""
_TAKES_NO_PLACE = re.compile(
    # Default_Ignorable_Code_Point: shown as nothing, so that marks behind them fall on the character before.
    "[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    # Vowels and finals of Hangul, which are drawn into the syllable before them.
    "\u1160-\u11ff\ud7b0-\ud7fb]"
)
_HIDDEN = Fault("text_characters", "must not contain control or direction-override characters")
_PILE = re.compile(f"[m\U000e0000-\U000e0fff]{{{MARKS_MAX + 1}}}")
_VISIBLE = re.compile("[v\U00020000-\U0003ffff]")
"""A visible character in the text of kinds. Planes 2 and 3 are not in `_kinds`: they hold only ideographs."""


def control_fault(text: str, *, lines: bool) -> Fault | None:
    """Return the fault of a text with control characters, surrogates or direction overrides.

    With `lines`, line breaks and tabs are allowed. No version of the house has accepted such a text.
    """
    controls = _CONTROLS_IN_LINES if lines else _CONTROLS
    return _HIDDEN if controls.search(text) else None


def hidden_fault(text: str, *, lines: bool) -> Fault | None:
    """Return the fault of a text with controls, with tags outside a flag or, without `lines`, with line separators."""
    hidden = (_BREAKS.search(text) and not lines) or _TAGS.search(_FLAG.sub("", text))
    return _HIDDEN if hidden else control_fault(text, lines=lines)


def shown_fault(text: str) -> Fault | None:
    """Return the fault of a text that is invisible, or that piles up marks so that they cover the lines above and below."""
    kinds = text.translate(_kinds())
    if _PILE.search(kinds) or (text and _VISIBLE.search(kinds) is None):
        return Fault("text_characters", "must show something, and not pile up marks on a character")
    return None


def look(text: str) -> str:
    """Return a text by its look: two texts that only their bytes tell apart are the same (NFC, without what shows nothing)."""
    return "".join(one for one in unicodedata.normalize("NFC", text) if unicodedata.category(one) != "Cf")


def without_steering(text: str) -> str:
    """Return a text without the marks of its direction, which programs put around what is copied from them."""
    return _DIRECTIONS.sub("", text)


def guarded(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula or its error: an apostrophe guards it if it could."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(cell: str) -> str:
    """Return the text that `guarded` made this cell of; any other cell as it is."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell


def in_xml(text: str) -> str:
    """Return a text without the two code points that XML cannot say, and that no fault above names."""
    return text.translate(_NOT_IN_XML)


@cache
def _kinds() -> str:
    """Return for each character of planes 0 and 1 `m` for a mark, `v` for a visible character, otherwise `-`.

    It is computed once, as looking up each character of a long text takes milliseconds.
    """
    return "".join(map(_kind, map(chr, range(0x20000))))


def _kind(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Mn", "Mc", "Me", "Cf") or _TAKES_NO_PLACE.match(character):
        return "m"
    return "-" if category[0] in "CZ" or character in _BLANKS else "v"
