import io
import re
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from saleroom.kernel.errors import Invalid
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.columns import Column, LotEnding
from saleroom.sales.domain.exporting import LotResult, catalogue_rows, result_rows
from saleroom.sales.domain.importing import ROWS_MAX, Effect, House, Present, Values, plan
from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.service.files import sheets
from saleroom.sales.service.files.sheet_writing import as_csv, as_xlsx

SHEET = 'Los;Titel;Startpreis\r\n1;"Stutzuhr, um 1780\r\n""Paris""";1.250,00\r\n\r\n12A;Größe: 3 × 4;80\r\n'
ROWS = [
    ["Los", "Titel", "Startpreis"],
    ["1", 'Stutzuhr, um 1780\r\n"Paris"', "1.250,00"],
    [],
    ["12A", "Größe: 3 × 4", "80"],
]


def refusal(data: bytes) -> str:
    """Return the code of the only fault of a file."""
    with pytest.raises(Invalid) as refused:
        sheets.read(data)
    (fault,) = refused.value.faults["catalogue"]
    return fault.code


def xlsx(*rows: list[Any]) -> bytes:
    """Return a file of XLSX with these cells."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in rows:
        sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def changed(data: bytes, part: str, change: Callable[[str], str]) -> bytes:
    """Return a file of XLSX with one of its parts changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as was, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as now:
        for name in was.namelist():
            text = was.read(name).decode()
            now.writestr(name, change(text) if name.endswith(part) else text)
    return file.getvalue()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_the_encodings_of_spreadsheet_programs_are_told_apart(encoding: str) -> None:
    """CSV is read in UTF-8 and UTF-16, with a mark or without, and as Excel writes it on Windows."""
    rows, headings = sheets.read(SHEET.encode(encoding))
    assert rows == ROWS
    assert headings.shown == {Column.LABEL: "Los", Column.TITLE: "Titel", Column.STARTING_PRICE: "Startpreis"}


@pytest.mark.parametrize(
    "text",
    [
        "Lot,Title,Starting price\n1,a;b,5\n",
        "Lot;Title;Starting price\n1;a;b\n",
        "Lot\tTitle\tStarting price\n1\ta\t5\n",
        "sep=|\r\nLot|Title|Starting price\r\n1|a|5\r\n",
        '"Lot","Title","Starting price"\n"1","a","5"',
    ],
)
def test_what_divides_cells_is_found_by_the_headings(text: str) -> None:
    """Commas, semicolons and tabs are told apart, whatever stands in the texts; Excel's own hint counts first."""
    rows, headings = sheets.read(text.encode())
    assert len(headings.places) == 3
    assert len(rows) == 2 and len(rows[1]) == 3


def test_numbers_of_xlsx_are_read_as_they_are_shown() -> None:
    """A number has the 15 digits that spreadsheets keep, so that none is a little off."""
    rows, _ = sheets.read(xlsx(["Lot", "Title", "Reserve"], [12, "Clock", 0.1 + 0.2], ["12A", True, 1250]))
    assert rows[1:] == [[12, "Clock", Decimal("0.3")], ["12A", "True", 1250]]


def test_a_formula_counts_with_its_value_and_is_refused_without() -> None:
    """A formula that was calculated is read as its value; the cells of others are named."""
    sheet = xlsx(["Lot", "Title", "Reserve"], [1, "Clock", "=10*2"])
    with pytest.raises(Invalid, match="C2"):
        sheets.read(sheet)
    calculated = changed(
        sheet,
        "sheet1.xml",
        lambda text: text.replace("</f><v></v>", "</f><v>20</v>").replace("</f><v />", "</f><v>20</v>"),
    )
    assert sheets.read(calculated)[0][1] == [1, "Clock", 20]


def with_merged(*ranges: str) -> bytes:
    """Return a sheet with a title above its headings, notes behind its columns, and these cells merged."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ["Spring sale"],
        ["Lot", "Title", "Category", "Notes"],
        [1, "Clock", "Clocks", "a"],
        [2, "Watch"],
        [3, "Bell"],
    ):
        sheet.append(row)
    for one in ranges:
        sheet.merge_cells(one)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize("cells", ["C3:C5", "A4:D4", "B5:C5"])
def test_merged_cells_are_refused_with_their_place(cells: str) -> None:
    """All cells but the first of a merged range are empty in the file, so an import would empty what the sheet shows."""
    with pytest.raises(Invalid, match=f"merged cells in {cells};"):
        sheets.read(with_merged(cells))


def test_merged_cells_that_no_value_comes_from_do_not_matter() -> None:
    """A title above the headings, a column that is not read and what is below the last row may be merged."""
    rows, _ = sheets.read(with_merged("A1:D1", "D3:D5", "B7:B9"))
    assert rows[3] == [2, "Watch"]


def with_format(shown: str) -> bytes:
    """Return a sheet with cells of this format: one in a column that is read, one in another, and the headings."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Lot", "Title", "Reserve", "Discount"], [1, "Clock", 0.8, 0.1], [2, "Watch", "20", 0.2]):
        sheet.append(row)
    for cell in ("C1", "C2", "C3", "D2", "D3"):
        sheet[cell].number_format = shown
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize("shown", ["0%", "0.00%", "[Red]0.0 %", '"about "0%', "0%;-0%"])
def test_percentages_are_refused_with_their_place(shown: str) -> None:
    """A cell that shows 80 % has 0.8 in the file, and nobody knows of what: an import would take 0.80 for the reserve."""
    with pytest.raises(Invalid, match="percentages in C2;"):
        sheets.read(with_format(shown))


@pytest.mark.parametrize("shown", ['0.0 "%"', "0.0\\%", "0.00", '0 "50%"', "General"])
def test_a_percent_sign_that_stands_in_a_format_as_text_changes_no_value(shown: str) -> None:
    """Only a percent sign that multiplies what is shown makes a percentage."""
    assert Decimal("0.8") == sheets.read(with_format(shown))[0][1][2]


def test_percentages_in_columns_that_are_not_read_do_not_matter() -> None:
    """A column of the house's own may have percentages."""
    sheet = changed(with_format("0%"), "sheet1.xml", lambda text: text.replace("<v>0.8</v>", "").replace("<v />", ""))
    assert [1, "Clock", None, Decimal("0.1")] == sheets.read(sheet)[0][1]


@pytest.mark.parametrize("cells", ["nonsense", "A:C", "C5:C3", ""])
def test_a_range_that_is_none_is_no_sheet(cells: str) -> None:
    """A damaged range of merged cells is a fault of the file."""
    sheet = changed(with_merged("C3:C5"), "sheet1.xml", lambda text: text.replace('"C3:C5"', f'"{cells}"'))
    assert refusal(sheet) == "not_a_sheet"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "no_headings"),
        (b"Lot;Colour\n1;red", "no_headings"),
        (b'Lot;Title\n1;"open', "malformed_csv"),
        (b"Lot,Title,Name,Title\n1,a,b,c\n", "repeated_column"),
        (b"\xff\xfeL", "not_text"),
        (b"Lot\x81;Title", "not_text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old_format"),
        (b"PK\3\4 and no more", "not_an_archive"),
        (b"Lot;Title\n" + b"1;a\n" * (ROWS_MAX + 1), "too_many_rows"),
        (b"Lot;Title\n1;" + b"a" * 40_000, "text_length"),
        (b"Lot;Title\n1;" + b"a" * 200_000, "malformed_csv"),
        (b" " * (sheets.BYTES_MAX + 1), "file_too_large"),
    ],
)
def test_what_is_no_catalogue_is_refused(data: bytes, code: str) -> None:
    """A file that cannot be read, or that is too large, is refused with the reason."""
    assert refusal(data) == code


def bomb() -> bytes:
    """Return a small archive that unpacks to much."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * (sheets.UNPACKED_BYTES_MAX + 1))
    return file.getvalue()


def many_parts() -> bytes:
    """Return an archive of too many files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(sheets.PARTS_MAX + 1):
            archive.writestr(str(number), b"")
    return file.getvalue()


BILLION = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">'
    + "".join(f'<!ENTITY {"bcdefghij"[n]} "{("&" + "abcdefghi"[n] + ";") * 20}">' for n in range(9))
    + "]>"
)


def test_archives_that_unpack_to_too_much_are_refused_before() -> None:
    """Neither a part that unpacks to gigabytes nor thousands of parts are unpacked."""
    assert refusal(bomb()) == "unpacked_too_large"
    assert refusal(many_parts()) == "too_many_files"


def test_hostile_and_damaged_sheets_are_refused() -> None:
    """Entities that grow without end, claimed sizes and broken parts neither fill the memory nor get through."""
    sheet = xlsx(["Lot", "Title"], [1, "Clock"])
    grown = changed(
        sheet, "sheet1.xml", lambda text: BILLION + text[text.index("<worksheet") :].replace("Clock", "&j;")
    )
    assert refusal(grown) == "not_a_sheet"
    assert refusal(changed(sheet, "sheet1.xml", lambda text: text[:-50])) == "not_a_sheet"
    assert refusal(changed(sheet, "workbook.xml", lambda text: "")) == "not_a_sheet"
    claimed = changed(
        sheet, "sheet1.xml", lambda text: text.replace("<sheetData>", '<dimension ref="A1:XFD1048576"/><sheetData>')
    )
    assert len(sheets.read(claimed)[0]) == 2


LINES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)
TEXTS = st.one_of(
    LINES, st.sampled_from(["=1+1", "+49", "-", "@x", "'", "''", "'=x", "12,5", 'a;b"c\nd', "1E5", "#REF!", "'#N/A"])
)
MONEY = st.decimals(min_value=0, max_value=10**17 - 1, places=3)
LOTS: st.SearchStrategy[dict[Column, Any]] = st.fixed_dictionaries(
    {
        Column.TITLE: TEXTS.filter(lambda text: "\n" not in text),
        Column.DESCRIPTION: TEXTS,
        Column.STARTING_PRICE: MONEY,
        Column.ESTIMATE_FROM: st.none() | MONEY,
        Column.TAX: st.none() | st.sampled_from(TaxScheme),
        Column.CONSIGNOR: st.sampled_from([None, "A1", "B2"]),
        Column.CATEGORY: st.sampled_from([None, "Gone"]),
    }
)
WRITERS = (as_csv, as_xlsx)


@given(
    lots=st.lists(LOTS, min_size=1, max_size=4), language=st.sampled_from(["en", "de"]), write=st.sampled_from(WRITERS)
)
def test_a_catalogue_that_is_exported_and_imported_again_changes_nothing(
    lots: list[Values], language: str, write: Callable[[list[list[Cell]], str], bytes]
) -> None:
    """Every row of an export, in either format and language, is unchanged when it is imported."""
    present = {str(number): lot for number, lot in enumerate(lots, 1)}
    rows, headings = sheets.read(write(list(catalogue_rows(present.items(), language)), language))
    found = plan(rows, headings, {label: Present(lot) for label, lot in present.items()}, House(lambda values: None))
    assert [Effect.UNCHANGED] * len(lots) == [row.effect for row in found]


def test_results_have_prices_that_no_import_reads() -> None:
    """Prices and winners of exported results are columns that an import leaves out."""
    sold = LotResult("1", "Clock", LotEnding.SOLD, Decimal("120.000"), "=paddle", 3)
    data = as_csv(result_rows([sold], "de"), "de")
    assert (
        data
        == b"\xef\xbb\xbfLos;Titel;Ergebnis;Zuschlag;K\xc3\xa4ufer;Gebote\r\n1;Clock;verkauft;120,00;'=paddle;3\r\n"
    )
    assert sheets.read(data)[1].ignored == ("Ergebnis", "Zuschlag", "Käufer", "Gebote")


@pytest.mark.parametrize(
    ("part", "end", "tag", "many"),
    [
        ("sheet1.xml", "</sheetData>", "<row/>", sheets.TAGS_MAX),
        ("sheet1.xml", "</row></sheetData>", "<c/>", sheets.TAGS_MAX),
        ("styles.xml", "</cellXfs>", "<xf/>", sheets.STYLE_TAGS_MAX),
    ],
)
def test_a_small_file_of_many_tags_is_refused(part: str, end: str, tag: str, many: int) -> None:
    """Cells and formats without anything in them pack well, and would take minutes and gigabytes to read."""
    data = changed(xlsx(["Lot", "Title"], ["1", "Clock"]), part, lambda text: text.replace(end, tag * many + end))
    assert len(data) < 100_000
    assert "sheet_too_complex" == refusal(data)


HEADED = ["Lot", "Title", "Starting price"]


@pytest.mark.parametrize(
    ("was", "now", "named"),
    [
        ('<row r="2"', '<row r="-2"', "row -2 behind row 1"),
        ('<row r="3"', '<row r="2"', "row 2 behind row 2"),
        ('<row r="3"', '<row r="0"', "row 0 behind row 2"),
        ('r="C3"', 'r="B3"', "cell B3 behind cell B3"),
        ('r="C3"', 'r="C2"', "cell C2 behind cell B3"),
        ('r="C3"', 'r="CW3"', "cell CW3, and at most 100 columns"),
        ('<c r="C2" t="n"><v>5</v>', '<c r="C2" t="e"><v>#SPILL!</v>', "without a value in C2"),
    ],
)
def test_no_row_and_no_cell_is_lost_in_silence(was: str, now: str, named: str) -> None:
    """A row or a cell out of order, one behind the columns that are read, and an error are named with their place."""
    data = xlsx(HEADED, [1, "Clock", 5], [2, "Bell", 6])
    with pytest.raises(Invalid, match=named):
        sheets.read(changed(data, "sheet1.xml", lambda text: text.replace(was, now)))


def test_rows_and_cells_without_numbers_follow_each_other() -> None:
    """A sheet need not number its rows and cells, nor leave out formats behind the columns that are read."""
    data = xlsx(HEADED, [1, "Clock", 5], [2, "Bell", 6])
    bare = changed(data, "sheet1.xml", lambda text: re.sub(' r="[A-Z]*[0-9]+"', "", text))
    formatted = changed(data, "sheet1.xml", lambda text: text.replace("</row>", "<c r='CW1'/></row>", 1))
    assert sheets.read(data)[0] == sheets.read(bare)[0] == sheets.read(formatted)[0]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (-5, "money_negative"), (-5.5, "money_negative"), ("-5", "money_negative"),
        (1e300, "money_digits"), (1e-7, "money_decimals"),
        (True, "money_format"), (date(2026, 1, 2), "money_format"), ("1e3", "money_format"), (10**25, "money_digits"),
        ("12.50", Decimal("12.5")), (0.1 + 0.2, Decimal("0.3")), (" 12 ", Decimal(12)),
    ],
)  # fmt: skip
def test_each_kind_of_cell_is_read_or_named(value: object, found: object) -> None:
    """An amount is read from a number or a text; every other cell is a fault of its row and column."""
    rows, headings = sheets.read(xlsx(HEADED, [1, "Clock", value], [2, "Bell", 6]))
    first, second = plan(rows, headings, {}, House(lambda values: None))
    assert (2, 3, Effect.NEW) == (first.row, second.row, second.effect)
    faults = [(one.heading, one.fault.code) for one in first.faults]
    assert ([("Starting price", found)] if isinstance(found, str) else []) == faults
    assert isinstance(found, str) or found == first.values[Column.STARTING_PRICE]


def test_the_first_sheet_that_is_shown_counts() -> None:
    """A hidden sheet before it is not what somebody sees, so it is not imported."""
    book = Workbook()
    hidden, shown = book.active, book.create_sheet()
    assert hidden is not None
    hidden.sheet_state = "hidden"
    for sheet, title in ((hidden, "Old"), (shown, "Clock")):
        sheet.append(HEADED)
        sheet.append([1, title, 5])
    file = io.BytesIO()
    book.save(file)
    assert [1, "Clock", 5] == sheets.read(file.getvalue())[0][1]


def test_times_of_days_are_kept() -> None:
    """A date is read as one, and a moment with its time."""
    moments = [datetime.fromisoformat(one) for one in ("2026-01-02T03:04:05", "2026-01-02")]
    rows, _ = sheets.read(xlsx(HEADED, *([n, at, 5] for n, at in enumerate(moments, 1))))
    assert ["2026-01-02 03:04:05", "2026-01-02"] == [row[1] for row in rows[1:]]


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("Lot,Title,Starting price,Description\n1,Clock,5,old, but good\n", "surplus_cells", "E2"),
        ("Lot;Title;Starting price\n1;Clock;5;;;\n2;Bell;6;;x\n", "surplus_cells", "E3"),
        ("Lot;Title" + ";" * 99 + "\n1;Clock" + ";" * 99 + "x\n", "too_many_columns", "row 2"),
    ],
)
def test_no_cell_of_csv_is_lost_in_silence(text: str, code: str, named: str) -> None:
    """A cell behind the last heading, or behind the columns that are read, is named with its place."""
    assert code == refusal(text.encode())
    with pytest.raises(Invalid, match=named):
        sheets.read(text.encode())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_end_of_a_line_is_read(end: str) -> None:
    """Lines end as on Unix, on Windows or on an old Macintosh."""
    assert [["Lot", "Title"], ["1", "Clock"]] == sheets.read(end.join(("Lot;Title", "1;Clock", "")).encode())[0]
