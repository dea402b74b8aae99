"""Text from outside, made fit for a terminal: from a ledger, a database, a house, or an error that repeats any of them."""

from __future__ import annotations

import unicodedata

TEXT_LENGTH_MAX = 400


def plain(text: str, length_max: int = TEXT_LENGTH_MAX) -> str:
    """Return `text` with each mark that could steer a terminal or deceive a reader written as its escape: it is evidence.

    Those are control and format characters, line ends, half characters and private ones.
    """
    kept = "".join(_shown(mark) for mark in text[:length_max])
    return kept if len(text) <= length_max else f"{kept}…"


def _shown(mark: str) -> str:
    steers = unicodedata.category(mark)[0] == "C" or mark in "\u2028\u2029"
    if not steers:
        return mark
    code = ord(mark)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
