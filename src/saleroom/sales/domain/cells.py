"""Cells of a catalogue file: amounts in English and German decimals, labels, and texts without their guard against formulas.

A cell is a text, or a number as XLSX has it. Nobody guesses: `1.234` can be two amounts, so it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal

from saleroom.kernel.errors import Fault
from saleroom.kernel.money import STEP, parse_money
from saleroom.kernel.texts import in_xml, unguarded

Cell = str | int | Decimal | None
"""A number of a spreadsheet is an int or a Decimal of at most 15 digits, which is what spreadsheets keep."""

_SPACES = re.compile("[\\s\u00a0\u2007\u202f]+")
_GROUPED = re.compile("[0-9]{1,3}(?:[.,'\u2019][0-9]{3})+")
"""Thousands in groups; the Swiss group them by an apostrophe."""
_DASHES = re.compile(",(?:-|--|\u2013)$")
"""What German writes for no cents."""
_NEGATIVE = re.compile("[-\u2212][0-9.,]+")
_BREAKS = re.compile("\r\n?|[\u2028\u2029]")
_AMBIGUOUS = Fault(
    "ambiguous_number",
    "can be read in two ways, in English or in German decimals; write it with two decimals, or without a mark",
)
_BELOW_ZERO = Fault("money_negative", "must not be negative")
_NO_NUMBER = Fault("money_format", "must be an amount such as 1234.50 or 1.234,50")


def text_of(cell: Cell) -> str:
    """Return the text of a cell, trimmed, with plain line breaks, without the apostrophe that `guarded` put before it."""
    if cell is None:
        return ""
    if isinstance(cell, Decimal):
        return f"{cell.normalize():f}"
    return unguarded(plain_text(str(cell))).strip()


def plain_text(text: str) -> str:
    """Return a text trimmed, with plain line breaks and without what XML cannot say: so files and forms are compared."""
    return _BREAKS.sub("\n", in_xml(text)).strip()


def parse_amount(cell: Cell, marks: Collection[str] = ()) -> Decimal | Fault:
    """Return the amount in a cell, or its fault. `marks` are the signs and codes of the house's currency, such as € and EUR."""
    if isinstance(cell, int | Decimal):
        if cell < 0:
            return _BELOW_ZERO
        return _amount(f"{cell:f}" if isinstance(cell, Decimal) else str(cell))
    text = text_of(cell)
    for mark in marks:
        text = text.removeprefix(mark).removesuffix(mark).strip()
    text = _DASHES.sub("", _SPACES.sub("", text))
    if _NEGATIVE.fullmatch(text):
        return _BELOW_ZERO
    plain = _plain(text)
    return plain if isinstance(plain, Fault) else _amount(plain)


def written_amount(amount: Decimal, decimal_mark: str) -> str:
    """Return an amount as `parse_amount` reads it, with two decimals, or with four where three would be ambiguous."""
    cents = amount.quantize(Decimal("0.01"))
    text = f"{cents:f}" if cents == amount else f"{amount.quantize(STEP):f}0"
    return text.replace(".", decimal_mark)


def _plain(text: str) -> str | Fault:
    """Return a number with a point or none as its decimal mark."""
    marks = [one for one in text if one in ".,"]
    if not marks:
        return re.sub("['\u2019]", "", text) if _GROUPED.fullmatch(text) else text
    last = marks[-1]
    whole, _, fraction = text.rpartition(last)
    if last in marks[:-1]:
        # The same mark twice groups thousands, and nothing stands behind them.
        same = len(set(marks)) == 1
        return re.sub("[.,]", "", text) if same and _GROUPED.fullmatch(text) else _NO_NUMBER
    if groups := set(re.findall("[^0-9]", whole)):
        return (
            f"{re.sub('[^0-9]', '', whole)}.{fraction}"
            if len(groups) == 1 and _GROUPED.fullmatch(whole)
            else _NO_NUMBER
        )
    if len(fraction) == 3 and 1 <= len(whole) <= 3 and not whole.startswith("0"):
        return _AMBIGUOUS
    return f"{whole}.{fraction}"


def _amount(plain: str) -> Decimal | Fault:
    """Return the amount in a plain number; zeros before it and behind its third decimal do not matter."""
    found = re.fullmatch("0*([0-9]+)(?:[.]([0-9]{1,3})[0-9]*)?", plain)
    if found is None:
        return _NO_NUMBER
    whole, fraction = found[1], found[2] or ""
    if len(plain.partition(".")[2].rstrip("0")) > 3:
        return Fault("money_decimals", "must have at most 3 decimals")
    return parse_money(f"{whole}.{fraction}" if fraction else whole)
