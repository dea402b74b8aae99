"""Labels: the numbers of lots in a catalogue, such as 12 and 12A, and their natural order."""

from __future__ import annotations

import re
from collections.abc import Iterable

from saleroom.kernel.errors import Fault

LABEL_DIGITS_MAX = 6
LABEL_PATTERN = r"[1-9][0-9]{0,5}[A-Z]{0,2}"
"""A label as it is stored: digits without leading zeros, and up to two capital letters."""
_TYPED = re.compile(r"0*([1-9][0-9]{0,5})([A-Za-z]{0,2})")
_LABEL = re.compile(r"([1-9][0-9]{0,5})([A-Z]{0,2})")


def parse_label(text: str) -> str | Fault:
    """Return the label that somebody typed, as `012a` for 12A, or its fault."""
    found = _TYPED.fullmatch(text.strip())
    if found is None:
        message = f"must be 1 to {LABEL_DIGITS_MAX} digits and up to two letters, such as 12 or 12A"
        return Fault("label_format", message)
    return found[1] + found[2].upper()


def label_order(label: str) -> str:
    """Return a text that sorts as labels do: 2 < 12 < 12A < 12Z < 12AA < 13."""
    digits, letters = _parts(label)
    return f"{digits.zfill(LABEL_DIGITS_MAX)}{len(letters)}{letters}"


def next_label(labels: Iterable[str]) -> str:
    """Return the whole number after the highest of `labels`; 1 for none. Raises ValueError if there is none above."""
    highest = max((int(_parts(label)[0]) for label in labels), default=0)
    if highest + 1 >= 10**LABEL_DIGITS_MAX:
        raise ValueError("no label is above the highest one")
    return str(highest + 1)


def _parts(label: str) -> tuple[str, str]:
    found = _LABEL.fullmatch(label)
    assert found is not None, "labels are parsed"
    return found[1], found[2]
