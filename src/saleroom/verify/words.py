"""Text from a ledger, made fit for a terminal."""

from __future__ import annotations

import unicodedata

TEXT_LENGTH_MAX = 400


def plain(text: str) -> str:
    """Return `text` with each mark that could steer a terminal or deceive a reader written as its escape: it is evidence.

    Those are control and format characters, line ends, half characters and private ones.
    """
    kept = "".join(_shown(mark) for mark in text[:TEXT_LENGTH_MAX])
    return kept if len(text) <= TEXT_LENGTH_MAX else f"{kept}…"


def _shown(mark: str) -> str:
    steers = unicodedata.category(mark)[0] == "C" or mark in "\u2028\u2029"
    if not steers:
        return mark
    code = ord(mark)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
