"""Text from outside, made fit for a terminal: from a ledger, a database, a house, or an error that quotes any of them."""

from __future__ import annotations

import unicodedata

TEXT_LENGTH_MAX = 400
PRINTABLE_LENGTH_MAX = 200


def plain(text: str, length_max: int = TEXT_LENGTH_MAX) -> str:
    """Return `text` as evidence: each character that could steer a terminal or deceive a reader becomes its escape.

    Those are control and format characters, line ends, surrogates, and private and unassigned characters.
    """
    escaped = "".join(_escaped(mark) if _steers(mark) else mark for mark in text[:length_max])
    return escaped if len(text) <= length_max else f"{escaped}…"


def printable(text: str) -> str:
    """Return `text` for display: the characters that `plain` escapes are left out, and it is cut to PRINTABLE_LENGTH_MAX."""
    return "".join(mark for mark in text[:PRINTABLE_LENGTH_MAX] if not _steers(mark))


def _steers(mark: str) -> bool:
    return unicodedata.category(mark)[0] == "C" or mark in "\u2028\u2029"


def _escaped(mark: str) -> str:
    code = ord(mark)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
