"""The import of a catalogue: what each row of a file would change, decided without doing it.

Rows find their lots by label. A column that the file lacks leaves its values as they are; an empty cell empties its value.
All faults of all rows are found at once, and a file with a fault changes nothing. An import reads neither winners nor prices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from itertools import islice

from msgspec import Struct

from saleroom.bidding.domain.categories import Category
from saleroom.kernel.errors import Contradiction, Fault
from saleroom.kernel.texts import hidden_fault, shown_fault
from saleroom.sales.domain.cells import Cell, parse_amount, plain_text, text_of
from saleroom.sales.domain.columns import AMOUNTS, TAX_WORDS, Column, Headings, folded, tax_scheme
from saleroom.sales.domain.labels import parse_label
from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.domain.sale import LOTS_MAX

ROWS_MAX = LOTS_MAX
"""The most rows of a file."""
NAME_MAX, DESCRIPTION_MAX = 200, 10_000
TERMS = frozenset({Column.TITLE, Column.DESCRIPTION, Column.STARTING_PRICE, Column.RESERVE, Column.CATEGORY})
"""The columns that are terms of the auction; bids rest on them. The others are the house's own notes."""
_REQUIRED = (Column.TITLE, Column.STARTING_PRICE)
_AUCTION_ONLY = (Column.STARTING_PRICE, Column.RESERVE)
_BETWEEN = re.compile(r"\s*[/;\n]\s*")
"""What stands between two levels."""

Value = str | TaxScheme | Decimal | tuple[Decimal, ...] | None
Values = Mapping[Column, Value]
"""What a lot has in each column but the label: a text, an amount, the levels of a fund-a-need, or None for nothing."""


class Effect(StrEnum):
    """What a row does."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAULT = "fault"


class CellChange(Struct, frozen=True):
    """A value that a row changes."""

    column: Column
    was: Value
    now: Value


class CellFault(Struct, frozen=True):
    """A fault of a row, in a column, or in None for the row as a whole. `heading` is the file's own."""

    column: Column | None
    heading: str
    fault: Fault


class RowPlan(Struct, frozen=True):
    """What a row of a file, by its number there, does with the lot of its label. `values` are what the row gives."""

    row: int
    label: str
    values: Values
    changes: tuple[CellChange, ...] = ()
    faults: tuple[CellFault, ...] = ()
    is_new: bool = False

    @property
    def effect(self) -> Effect:
        """What the row does."""
        if self.faults:
            return Effect.FAULT
        if self.is_new:
            return Effect.NEW
        return Effect.CHANGED if self.changes else Effect.UNCHANGED


class House(Struct, frozen=True):
    """What decides about cells besides themselves: the signs of the currency, the categories and the codes of consignors.

    `check` raises Contradiction, with fields by their names in JSON, if no lot can have these values together.
    """

    check: Callable[[Values], None]
    currency: tuple[str, ...] = ()
    categories: Iterable[Category] = ()
    consignors: Iterable[str] = ()


class Present(Struct, frozen=True):
    """A lot as it is. `locked` is the fault of a change to its terms, if they are fixed; `fixed` that of any change.

    `bidders` are the codes of the consignors who have bid on it.
    """

    values: Values
    locked: Fault | None = None
    fixed: Fault | None = None
    bidders: Collection[str] = ()


_BIDS = Fault("consignor_bids", "has bid on the lot, and nobody bids on a lot that they have consigned")


def plan(
    rows: Iterable[Sequence[Cell]], headings: Headings, present: Mapping[str, Present], house: House
) -> list[RowPlan]:
    """Return what each row below the headings does to the lots that are there, by label. Empty rows are left out."""
    reader = _Reader(headings, house)
    seen: dict[str, int] = {}
    plans = []
    for number, row in islice(enumerate(rows, 1), headings.row, None):
        if any(text_of(cell) for cell in row):
            plans.append(reader.read(number, row, present, seen))
    return plans


def too_many(rows: int) -> Fault | None:
    """Return the fault of a file with so many rows, if it has one."""
    return Fault("too_many_rows", f"must have at most {ROWS_MAX} rows", most=ROWS_MAX) if rows > ROWS_MAX else None


class _Reader:
    """Reads rows below these headings."""

    def __init__(self, headings: Headings, house: House) -> None:
        self._headings = headings
        consignors = {code.casefold(): code for code in house.consignors}
        named = [(one.name, name) for one in house.categories for name in (one.name, *one.translations.values())]
        categories = {folded(name): category for category, name in named}
        known = ", ".join(one.name for one in house.categories) or "nothing, as this house has no categories"
        self._check = house.check
        self._parse: Mapping[Column, Callable[[Cell], Value | Fault]] = {
            Column.TITLE: lambda cell: _text(text_of(cell), NAME_MAX, lines=False),
            Column.DESCRIPTION: lambda cell: _text(text_of(cell), DESCRIPTION_MAX, lines=True),
            Column.TAX: _tax,
            Column.CONSIGNOR: lambda cell: _one_of(
                consignors.get(text_of(cell).casefold()),
                "unknown_consignor",
                "is not the code of a consignor here; add it first",
            ),
            Column.CATEGORY: lambda cell: _one_of(
                categories.get(folded(text_of(cell))),
                "unknown_category",
                f"must be one of: {known}",
            ),
            Column.LEVELS: lambda cell: _levels(cell, house.currency),
            **{column: lambda cell: parse_amount(cell, house.currency) for column in AMOUNTS},
        }

    def read(self, number: int, row: Sequence[Cell], present: Mapping[str, Present], seen: dict[str, int]) -> RowPlan:
        """Return what a row does. `seen` are the rows of the labels above it, and gets its own."""
        faults: list[CellFault] = []
        label = parse_label(text_of(self._cell(row, Column.LABEL)).replace(" ", ""))
        if isinstance(label, Fault):
            faults.append(self._fault(Column.LABEL, label))
            label = ""
        elif label in seen:
            repeated = Fault(
                "repeated_label", f"must be given once; row {seen[label]} has this label too", row=seen[label]
            )
            faults.append(self._fault(Column.LABEL, repeated))
        else:
            seen[label] = number
        was = present.get(label)
        before: Values = {} if was is None else was.values
        is_need = self._is_need(row, before)
        values = self._values(row, before, faults, is_need=is_need)
        if was is not None and is_need != (before.get(Column.LEVELS) is not None):
            stays = Fault("kind_stays", "must stay an auction or a fund-a-need; withdraw the lot and add another one")
            faults.append(self._fault(Column.LEVELS, stays))
        if label and was is None:
            needed = [column for column in _REQUIRED if not (is_need and column in _AUCTION_ONLY)]
            missing = [column for column in needed if column not in self._headings.places]
            faults += [self._fault(column, Fault("required", "is required for a new lot")) for column in missing]
        if not faults:
            faults += self._contradictions({**before, **values})
        changes = () if was is None else _changes(before, values)
        if was is not None:
            faults += self._fixed(was, changes)
        return RowPlan(number, label, values, changes, tuple(faults), is_new=was is None)

    def _is_need(self, row: Sequence[Cell], before: Values) -> bool:
        """Return whether a row is a fund-a-need: by its levels, or by those that it has if the file says nothing of any."""
        if Column.LEVELS not in self._headings.places:
            return before.get(Column.LEVELS) is not None
        return bool(text_of(self._cell(row, Column.LEVELS)))

    def _values(
        self, row: Sequence[Cell], before: Values, faults: list[CellFault], *, is_need: bool
    ) -> dict[Column, Value]:
        values: dict[Column, Value] = {}
        for column in self._headings.places:
            if column is Column.LABEL:
                continue
            cell = self._cell(row, column)
            value: Value | Fault
            if is_need and column in _AUCTION_ONLY:
                value = Fault("of_auctions", "must be empty, as a fund-a-need has levels") if text_of(cell) else None
            elif not is_need and column is Column.GOAL and text_of(cell):
                value = Fault("of_needs", "must be empty, as only a fund-a-need has a goal; give its levels too")
            elif text_of(cell) and text_of(cell) == before.get(column):
                value = before[column]  # such as a category that the house no longer has
            elif text_of(cell):
                value = self._parse[column](cell)
            elif column in _REQUIRED:
                value = Fault("required", "must not be empty")
            else:
                value = "" if column is Column.DESCRIPTION else None
            if isinstance(value, Fault):
                faults.append(self._fault(column, value))
            else:
                values[column] = value
        return values

    def _contradictions(self, values: Values) -> list[CellFault]:
        try:
            self._check(values)
        except Contradiction as refused:
            return [self._fault(Column(field), fault) for field, faults in refused.faults.items() for fault in faults]
        return []

    def _fixed(self, was: Present, changes: Sequence[CellChange]) -> list[CellFault]:
        """Return the faults of changes to what is fixed."""
        found = []
        for change in changes:
            fault = was.fixed or (was.locked if change.column in TERMS or change.column is Column.LEVELS else None)
            if change.column is Column.CONSIGNOR and change.now in was.bidders:
                fault = fault or _BIDS
            found += [] if fault is None else [self._fault(change.column, fault)]
        return found

    def _cell(self, row: Sequence[Cell], column: Column) -> Cell:
        place = self._headings.places[column]
        return row[place] if place < len(row) else None

    def _fault(self, column: Column, fault: Fault) -> CellFault:
        return CellFault(column, self._headings.shown.get(column, column.value), fault)


def _changes(before: Values, values: Values) -> tuple[CellChange, ...]:
    return tuple(
        CellChange(column, before.get(column), value)
        for column, value in values.items()
        if _compared(before.get(column)) != _compared(value)
    )


def _compared(value: Value) -> Value:
    """Return a value as it is compared: files write line breaks in their own ways, and nothing is an empty text."""
    return (plain_text(value) or None) if isinstance(value, str) else value


def _text(text: str, most: int, *, lines: bool) -> str | Fault:
    if len(text) > most:
        return Fault("text_length", f"must have at most {most} characters", most=most)
    if not lines and "\n" in text:
        return Fault("text_lines", "must be one line")
    return hidden_fault(text, lines=lines) or shown_fault(text) or text


def _levels(cell: Cell, currency: Collection[str]) -> Value | Fault:
    amounts = [parse_amount(one, currency) for one in _BETWEEN.split(text_of(cell)) if one]
    fault = next((one for one in amounts if isinstance(one, Fault)), None)
    return fault or tuple(one for one in amounts if isinstance(one, Decimal))


def _tax(cell: Cell) -> Value | Fault:
    words = ", ".join(by_language["en"][0] for by_language in TAX_WORDS.values())
    return _one_of(tax_scheme(text_of(cell)), "unknown_tax_scheme", f"must be one of: {words}")


def _one_of(found: Value, code: str, message: str) -> Value | Fault:
    return Fault(code, message) if found is None else found
