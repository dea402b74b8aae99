"""Selections: which lots or paddles somebody means, as they type it: `1-3,5,12A`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from saleroom.bidding.domain.paddles import PADDLE_MAX
from saleroom.kernel.errors import Fault
from saleroom.sales.domain.labels import label_order, parse_label

TEXT_MAX = 500
"""A longer text is no selection that somebody types."""
SELECTION = r"[0-9A-Za-z \-\u2013,;]{1,500}"
_DASH = re.compile(r"[-\u2013]")
T = TypeVar("T")


class Span(Struct, frozen=True):
    """Lots from one number to another, both of them included, in the natural order of labels."""

    first: str
    last: str

    def holds(self, label: str) -> bool:
        """Return whether a label is in the span."""
        return label_order(self.first) <= label_order(label) <= label_order(self.last)


Spans = Sequence[Span]


def chosen(label: str, spans: Spans) -> bool:
    """Return whether a label is in one of the spans; without spans, all are."""
    return not spans or any(span.holds(label) for span in spans)


def parse_lots(text: str) -> tuple[Span, ...] | Fault:
    """Return the spans of lots that somebody typed, or the fault."""
    found = _pairs(text, parse_label, Fault("lots_format", "must be numbers of lots and ranges, such as 1-3,5,12A"))
    if isinstance(found, Fault):
        return found
    for first, last in found:
        if label_order(last) < label_order(first):
            return _backwards(first, last)
    return tuple(Span(first, last) for first, last in found)


def parse_paddles(text: str) -> tuple[range, ...] | Fault:
    """Return the ranges of paddles that somebody typed, or the fault."""
    found = _pairs(text, _paddle, Fault("paddles_format", "must be paddles and ranges, such as 1-3,5"))
    if isinstance(found, Fault):
        return found
    for first, last in found:
        if last < first:
            return _backwards(first, last)
    return tuple(range(first, last + 1) for first, last in found)


def _pairs(text: str, parse: Callable[[str], T | Fault], fault: Fault) -> list[tuple[T, T]] | Fault:
    if len(text) > TEXT_MAX:
        return fault
    found: list[tuple[T, T]] = []
    for part in re.split("[,;]", text):
        ends = [parse(end) for end in _DASH.split(part)]
        good = [end for end in ends if not isinstance(end, Fault)]
        if len(good) < len(ends) or len(ends) > 2:
            return fault
        found.append((good[0], good[-1]))
    return found


def _paddle(text: str) -> int | Fault:
    text = text.strip().removeprefix("#")
    if text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= PADDLE_MAX:
        return int(text)
    return Fault("paddles_format", f"must be 1 to {PADDLE_MAX}")


def _backwards(first: object, last: object) -> Fault:
    return Fault("backwards", f"must not go from {first} down to {last}")
