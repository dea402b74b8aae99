"""The export of a catalogue and of results as rows, with the headings that an import reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import Struct

from saleroom.sales.domain.cells import Cell, plain_text
from saleroom.sales.domain.columns import HEADINGS, OUTCOMES, RESULTS, TAX_WORDS, Column, Result
from saleroom.sales.domain.importing import Value, Values
from saleroom.sales.domain.lots import TaxScheme

LANGUAGES = ("en", "de")
"""The languages of headings and words; a sheet in German has German decimals too."""


class LotResult(Struct, frozen=True):
    """How a lot ended, or stands: the hammer price and the winner's name of a sold one, and how many bids there were."""

    label: str
    title: str
    result: Result
    price: Decimal | None
    winner: str | None
    bids: int


def catalogue_rows(lots: Iterable[tuple[str, Values]], language: str) -> list[list[Cell]]:
    """Return the headings and a row for each lot by its label, in this order."""
    headings: list[Cell] = [words[language][0] for words in HEADINGS.values()]
    others = [column for column in Column if column is not Column.LABEL]
    return [headings, *([label, *(_cell(values.get(one), language) for one in others)] for label, values in lots)]


def result_rows(results: Sequence[LotResult], language: str) -> list[list[Cell]]:
    """Return the headings and a row for each lot. An import reads only the label and the title of them."""
    named = [HEADINGS[column][language][0] for column in (Column.LABEL, Column.TITLE)]
    return [
        [*named, *(heading[language] for heading in RESULTS)],
        *([one.label, one.title, OUTCOMES[one.result][language], one.price, one.winner, one.bids] for one in results),
    ]


def _cell(value: Value, language: str) -> Cell:
    if isinstance(value, TaxScheme):
        return TAX_WORDS[value][language][0]
    return (plain_text(value) or None) if isinstance(value, str) else value
