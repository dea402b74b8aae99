from decimal import Decimal

import pytest

from saleroom.bidding.domain.categories import Category
from saleroom.kernel.errors import Contradiction, Fault
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.columns import HEADINGS, TAX_WORDS, Column, Headings, column_of, find_headings, tax_scheme
from saleroom.sales.domain.importing import Effect, House, Present, RowPlan, Values, plan
from saleroom.sales.domain.lots import TaxScheme

CLOCK: Values = {
    Column.TITLE: "Longcase clock",
    Column.DESCRIPTION: "Walnut,\r\nabout 1740",
    Column.STARTING_PRICE: Decimal("100.000"),
    Column.RESERVE: None,
    Column.ESTIMATE_FROM: Decimal("150.000"),
    Column.ESTIMATE_TO: Decimal("200.000"),
    Column.CONSIGNOR: "A1",
    Column.TAX: TaxScheme.MARGIN,
    Column.CATEGORY: "Clocks",
}


def check(values: Values) -> None:
    """Refuse a reserve below the starting price, as the rules of auctions do."""
    start, reserve = values.get(Column.STARTING_PRICE), values.get(Column.RESERVE)
    if isinstance(start, Decimal) and isinstance(reserve, Decimal) and reserve < start:
        raise Contradiction({"reservePrice": [Fault("below_starting_price", "must be at least the starting price")]})


HOUSE = House(check, ("€",), (Category("Clocks", {"de": "Uhren"}), Category("Books", {})), ("A1", "B2"))


def headings(*rows: list[Cell]) -> Headings:
    """Return the headings of rows that have them."""
    found = find_headings(rows)
    assert isinstance(found, Headings)
    return found


def planned(present: dict[str, Present], *rows: list[Cell]) -> list[RowPlan]:
    """Return what rows with headings do."""
    return plan(rows, headings(*rows), present, HOUSE)


def faults(row: RowPlan) -> set[tuple[str, str]]:
    """Return the faults of a row by heading and code."""
    return {(one.heading, one.fault.code) for one in row.faults}


def test_every_heading_and_every_word_means_one_thing() -> None:
    """No synonym stands for two columns or two tax schemes, in either language."""
    for column, by_language in HEADINGS.items():
        assert {column} == {column_of(heading) for words in by_language.values() for heading in words}
    for scheme, by_language in TAX_WORDS.items():
        assert {scheme} == {tax_scheme(word) for words in by_language.values() for word in words}


@pytest.mark.parametrize("heading", ["LOS-NR", " los nr. ", "Los", "Lot (number)", "label"])
def test_case_spaces_and_punctuation_of_a_heading_do_not_matter(heading: str) -> None:
    """A heading is known however its author writes it."""
    assert column_of(heading) is Column.LABEL


def test_titles_above_the_headings_and_unknown_columns_are_left_out() -> None:
    """The headings may stand below a title; a column that says nothing here is named."""
    found = headings(["Autumn sale"], [], ["Schaetzpreis von", "Lagerort", "Los", "Titel"])
    assert found.row == 3
    assert found.ignored == ("Lagerort",)
    assert found.places == {Column.ESTIMATE_FROM: 0, Column.LABEL: 2, Column.TITLE: 3}


def test_two_columns_for_one_value_are_refused() -> None:
    """A file in which two headings mean the same is refused, as nobody can tell which counts."""
    found = find_headings([["Lot", "Title", "Titel"]])
    assert isinstance(found, Fault) and found.code == "repeated_column"


def test_a_missing_column_changes_nothing_and_an_empty_cell_empties() -> None:
    """Only columns of the file count; an empty cell takes the value away."""
    (row,) = planned({"1": Present(CLOCK)}, ["Lot", "Title", "Category"], ["1", "Clock", None])
    assert [(one.column, one.was, one.now) for one in row.changes] == [
        (Column.TITLE, "Longcase clock", "Clock"),
        (Column.CATEGORY, "Clocks", None),
    ]
    assert row.effect is Effect.CHANGED


def test_all_faults_of_all_rows_are_named_with_row_and_column() -> None:
    """Nothing stops at the first fault; each says its row, the heading of its column and what is wrong."""
    found = planned(
        {"1": Present(CLOCK)},
        ["Los", "Titel", "Startpreis", "Mindestpreis", "Steuer", "Einlieferer", "Kategorie"],
        ["1", "", "1.234", None, "19 %", "C3", "Uhren"],
        ["1", "Clock", "100", None, None, None, None],
        [None, None, None, None, None, None, None],
        ["x", "Vase", "-1", None, None, None, "Vases"],
        ["3", "Vase", "100", "50", None, None, None],
    )
    assert [row.row for row in found] == [2, 3, 5, 6]
    assert [faults(row) for row in found] == [
        {
            ("Titel", "required"),
            ("Startpreis", "ambiguous_number"),
            ("Steuer", "unknown_tax_scheme"),
            ("Einlieferer", "unknown_consignor"),
        },
        {("Los", "repeated_label")},
        {("Los", "label_format"), ("Startpreis", "money_negative"), ("Kategorie", "unknown_category")},
        {("Mindestpreis", "below_starting_price")},
    ]


def test_a_new_lot_needs_a_title_and_a_starting_price() -> None:
    """A file without these columns can change lots, and cannot add any."""
    (row,) = planned({}, ["Lot", "Tax"], ["12a", "margin"])
    assert row.label == "12A" and row.effect is Effect.FAULT
    assert {one.column for one in row.faults} == {Column.TITLE, Column.STARTING_PRICE}


def test_terms_that_are_fixed_are_refused_only_if_they_change() -> None:
    """A lot with bids keeps its terms; its row may repeat them, and may change what is not of the auction."""
    locked = {"1": Present(CLOCK, locked=Fault("has_bids", "has bids"))}
    sheet: list[list[Cell]] = [["Lot", "Title", "Tax"], ["1", "Longcase clock", "exempt"]]
    assert [Effect.CHANGED] == [row.effect for row in planned(locked, *sheet)]
    sheet[1][1] = "Another clock"
    assert [{("Title", "has_bids")}] == [faults(row) for row in planned(locked, *sheet)]


def test_what_a_lot_has_already_is_no_fault() -> None:
    """A lot keeps a category that the house no longer has."""
    was = Present({**CLOCK, Column.CATEGORY: "Toys"})
    (row,) = planned({"1": was}, ["Lot", "Category"], ["1", "Toys"])
    assert row.effect is Effect.UNCHANGED
