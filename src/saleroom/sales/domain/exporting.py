"""The export of a catalogue and of results as rows, with the headings that an import reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal

from msgspec import Struct

from saleroom.sales.domain.cells import Cell, plain_text, written_amount
from saleroom.sales.domain.columns import HEADINGS, OF_NEEDS, OUTCOMES, PLEDGES, RESULTS, TAX_WORDS, Column, LotEnding
from saleroom.sales.domain.importing import Value, Values
from saleroom.sales.domain.lots import TaxScheme

LANGUAGES = ("en", "de")
"""The languages of headings and words; a sheet in German has German decimals too."""


class LotResult(Struct, frozen=True):
    """How a lot ended, or stands: the hammer price and the winner's name of a sold one, and how many bids there were."""

    label: str
    title: str
    result: LotEnding
    price: Decimal | None
    winner: str | None
    bids: int


def catalogue_rows(lots: Collection[tuple[str, Values]], language: str) -> Iterator[list[Cell]]:
    """Yield the headings and a row for each lot by its label, in this order."""
    has_needs = any(values.get(Column.LEVELS) is not None for _, values in lots)
    shown = [column for column in HEADINGS if has_needs or column not in OF_NEEDS]
    headings: list[Cell] = [HEADINGS[column][language][0] for column in shown]
    others = [column for column in shown if column is not Column.LABEL]
    yield headings
    for label, values in lots:
        yield [label, *(_cell(values.get(one), language) for one in others)]


def pledge_rows(pledges: Iterable[tuple[str, int, str, str, Decimal, str, bool]], language: str) -> list[list[Cell]]:
    """Return the headings and a row for each pledge: label, number, bidder, name, amount, instant, whether it was undone."""
    undone = {"en": "undone", "de": "gestrichen"}[language]
    headings: list[Cell] = [words[language] for words in PLEDGES]
    return [headings, *([*one[:-1], undone if one[-1] else None] for one in pledges)]


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
    if isinstance(value, tuple):
        return " / ".join(written_amount(one, "," if language == "de" else ".") for one in value)
    return (plain_text(value) or None) if isinstance(value, str) else value
