"""Catalogue files as spreadsheet programs write them: CSV in their dialects and encodings, and XLSX within bounds.

The bytes say what a file is, not its name. A small file can take seconds and hundreds of megabytes, so a house reads it in
a confined process (`read_confined`).
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from saleroom.confined.confinement import Confinement, Crash, TooCostly, Work
from saleroom.kernel.errors import Fault, Invalid
from saleroom.sales.domain.cells import Cell
from saleroom.sales.domain.columns import HEADING_ROWS_MAX, REPEATED, Headings, find_headings
from saleroom.sales.domain.importing import ROWS_MAX, too_many
from saleroom.sales.service.files.archives import PIECE_BYTES, opened
from saleroom.sales.service.files.sent_sheets import SentSheet, packed, received

CATALOGUE = "catalogue"
"""The field of a form with the catalogue."""
BYTES_MAX = 8 * 2**20
"""The largest file: 5,000 lots with 1,500 characters each."""
UNPACKED_BYTES_MAX = 48 * 2**20
PARTS_MAX = 1_000
TAGS_MAX = 1_500_000
"""The most tags of XML in all parts. 5,000 lots with 30 columns have 1,200,000; each takes time and memory, however short."""
STYLE_TAGS_MAX = 100_000
"""The most tags in the part of the formats, whose reading takes ten times as long."""
STYLES = "xl/styles.xml"
COLUMNS_MAX = 100
CELL_CHARACTERS_MAX = 32_767
"""The longest text in a cell of a spreadsheet."""
CELLS_NAMED_MAX = 20
PRIVATE_PART = "_get_source"
"""How openpyxl opens a sheet that is read in pieces."""
PRIVATE_STYLES, PRIVATE_FORMATS = "_cell_styles", "_number_formats"
"""Where openpyxl keeps the styles of cells, and the formats of numbers that a file brings."""
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^]]*\]')
"""What a format of numbers shows as it stands, the width and the filling that it leaves, and its colours and conditions."""
_ZIP, _OLD_EXCEL = b"PK\3\4", b"\xd0\xcf\x11\xe0"
_DELIMITERS = (";", ",", "\t")
_ENCODINGS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


async def read_confined(confinement: Confinement, data: bytes) -> tuple[list[list[Cell]], Headings]:
    """Return what `read` returns, from a process with limits. Raises as `read`, or Busy if the house closes."""
    if len(data) > BYTES_MAX:
        raise _refused(_TOO_LARGE)
    try:
        return await confinement.do(WORK, data, received)
    except TooCostly:
        raise _refused(_TOO_COSTLY) from None
    except Crash:
        raise _refused(_NOT_A_SHEET) from None


def read_to_send(data: bytes) -> SentSheet:
    """Return what `read` returns, ready for MessagePack. The process that reads calls it."""
    from openpyxl import load_workbook  # noqa: F401  # a failing import is no fault of the file

    return packed(*read(data))


def read(data: bytes) -> tuple[list[list[Cell]], Headings]:
    """Return the rows of a file from the first one on, and its headings. Raises Invalid, field `catalogue`."""
    if len(data) > BYTES_MAX:
        raise _refused(_TOO_LARGE)
    if data.startswith(_OLD_EXCEL):
        raise _refused(Fault("old_format", "is of an old format or has a password; save it as XLSX or CSV without one"))
    rows = _read_xlsx(data) if data.startswith(_ZIP) else _read_csv(data)
    headings = find_headings(rows)
    fault = headings if isinstance(headings, Fault) else too_many(len(rows) - headings.row)
    if isinstance(headings, Fault) or fault is not None:
        raise _refused(fault)
    return rows, headings


def _read_csv(data: bytes) -> list[list[Cell]]:
    text = _decoded(data)
    first, _, rest = text.partition("\n")
    if first.strip().strip('"').startswith("sep=") and len(first.strip().strip('"')) == 5:
        return _fitting(_records(rest, first.strip().strip('"')[-1]))  # Excel's own hint; it is no row of the sheet
    tries = {delimiter: _count_columns(text, delimiter) for delimiter in _DELIMITERS}
    return _fitting(_records(text, max(tries, key=lambda one: tries[one])))


def _fitting(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Return rows of CSV. Raises Invalid for those with a cell behind the last heading: what divides cells stands in a text."""
    headings = find_headings(rows)
    if isinstance(headings, Fault):
        return rows
    width = len(rows[headings.row - 1])
    wrong = [
        f"{_letters(place)}{number}"
        for number, row in enumerate(rows[headings.row :], headings.row + 1)
        for place, cell in enumerate(row[width:], width)
        if str(cell).strip()
    ]
    if wrong:
        shown = _named(wrong)
        message = f"has cells behind the last heading: {shown}; put texts with what divides cells into quotation marks"
        raise _refused(Fault("surplus_cells", message, cells=shown))
    return rows


def _count_columns(text: str, delimiter: str) -> int:
    """Return how many known headings there are if this is what divides cells; 1 if they are there, with one twice."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        found = find_headings([row for row, _ in zip(rows, range(HEADING_ROWS_MAX), strict=False)])
    except csv.Error:
        return 0
    if isinstance(found, Fault):
        return int(found.code == REPEATED)
    return len(found.places)


def _records(text: str, delimiter: str) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row[COLUMNS_MAX:]):
                raise _refused(_too_wide(f"behind them in row {len(rows) + 1}"))
            rows.append(_bounded(row, len(rows) + 1))
    except csv.Error as error:
        message = f"cannot be read behind row {len(rows)} ({error}); is there a quotation mark without its other one?"
        raise _refused(Fault("malformed_csv", message)) from None
    return rows


def _decoded(data: bytes) -> str:
    """Return the text of a file: by its mark, otherwise UTF-8, otherwise what Excel writes on a Windows in the west."""
    encoding = next((name for mark, name in _ENCODINGS if data.startswith(mark)), None)
    if encoding is None and b"\0" in data[:200]:
        encoding = "utf-16-be" if data[:1] == b"\0" else "utf-16-le"
    for name in (encoding,) if encoding else ("utf-8", "cp1252"):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            continue
    raise _refused(Fault("not_text", "must be a text in UTF-8, UTF-16 or Windows-1252, or a file in XLSX"))


def _read_xlsx(data: bytes) -> list[list[Cell]]:
    try:
        with opened(io.BytesIO(data), CATALOGUE, UNPACKED_BYTES_MAX, PARTS_MAX) as archive:
            _refuse_complex(archive)
        values, formulas = (_sheet(data, values=values) for values in (True, False))
        merged = _scanned(data, values)
    except (Invalid, MemoryError):
        raise
    except Exception as error:
        # On damaged files openpyxl raises KeyError, ValueError, ParseError, BadZipFile and more.
        raise _refused(_NOT_A_SHEET) from error
    _refuse_formulas(values, formulas)
    if merged:
        shown = _named(merged)
        raise _refused(Fault("merged_cells", f"has merged cells in {shown}; divide them and fill each", cells=shown))
    return [[_cell(value) for value in row] for row in values]


def _refuse_complex(archive: zipfile.ZipFile) -> None:
    """Raise Invalid for more tags than are parsed here, or what zipfile raises for a damaged part."""
    tags = {name: _count_tags(archive, name) for name in archive.namelist()}
    if sum(tags.values()) > TAGS_MAX or tags.get(STYLES, 0) > STYLE_TAGS_MAX:
        raise _refused(_TOO_COMPLEX)


def _count_tags(archive: zipfile.ZipFile, name: str) -> int:
    """Return how many tags of XML a part of a file has, at most."""
    with archive.open(name) as part:
        return sum(piece.count(b"<") for piece in iter(lambda: part.read(PIECE_BYTES), b""))


def _sheet(data: bytes, *, values: bool) -> list[list[Any]]:
    """Return the cells of the first sheet: the values that were shown last, or the formulas. Its claimed size is ignored."""
    from openpyxl import load_workbook  # only here, as it takes 10 MB

    book = load_workbook(io.BytesIO(data), read_only=True, data_only=values, keep_links=False)
    try:
        sheet = _shown(book)
        sheet.reset_dimensions()
        rows: list[list[Any]] = []
        for row in sheet.iter_rows(max_row=ROWS_MAX + HEADING_ROWS_MAX + 1, max_col=COLUMNS_MAX, values_only=True):
            rows.append(_bounded(row, len(rows) + 1))
        while rows and not any(cell is not None for cell in rows[-1]):
            rows.pop()
        return rows
    finally:
        book.close()


def _scanned(data: bytes, rows: list[list[Any]]) -> list[str]:
    """Return the first ranges of merged cells below the headings, in columns that are read.

    Raises Invalid for a row or a cell whose number does not follow that of the one before it, as openpyxl would leave it out or
    put it in the place of another; and for a percentage in such a column, as the file has 0.8 where the sheet shows 80 %.
    """
    from openpyxl import load_workbook
    from openpyxl.utils.cell import range_boundaries
    from openpyxl.xml.constants import SHEET_MAIN_NS
    from openpyxl.xml.functions import iterparse

    headings = find_headings(rows)
    first = len(rows) if isinstance(headings, Fault) else headings.row
    columns = set() if isinstance(headings, Fault) else {place + 1 for place in headings.places.values()}
    book = load_workbook(io.BytesIO(data), read_only=True, keep_links=False)
    found: list[str] = []
    percentages: list[str] = []
    order = _Order()
    tags = (f"{{{SHEET_MAIN_NS}}}{name}" for name in ("row", "c", "v", "t", "mergeCell"))
    row_tag, cell_tag, value_tag, text_tag, merged_tag = tags
    try:
        # A sheet that is read in pieces does not tell its merged cells.
        styles = _percent_styles(book)
        is_percent = False
        with getattr(_shown(book), PRIVATE_PART)() as source:
            for event, element in iterparse(source, events=("start", "end")):
                if event == "start":
                    if element.tag == row_tag:
                        order.row(element.get("r"))
                    elif element.tag == cell_tag:
                        order.cell(element.get("r"))
                        is_percent = element.get("s") in styles and element.get("t", "n") == "n"
                    continue
                if element.tag in (value_tag, text_tag) and element.text:
                    order.value()
                    if is_percent and order.stands_in(columns, first):
                        percentages.append(order.address)
                if element.tag == merged_tag and len(found) <= CELLS_NAMED_MAX:
                    left, top, right, bottom = (int(side or 0) for side in range_boundaries(element.get("ref", "")))
                    if bottom > first and top <= len(rows) and columns.intersection(range(left, right + 1)):
                        found.append(element.get("ref", ""))
                element.clear()
        if percentages:
            shown = _named(percentages)
            message = f"has percentages in {shown}; format these cells as numbers, and enter what is meant"
            raise _refused(Fault("percentage", message, cells=shown))
        return found
    finally:
        book.close()


def _percent_styles(book: Any) -> set[str]:
    """Return the numbers of the styles by which a cell shows its value as a percentage."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE

    formats = BUILTIN_FORMATS | dict(enumerate(getattr(book, PRIVATE_FORMATS), BUILTIN_FORMATS_MAX_SIZE))
    shown = [formats.get(style.numFmtId, "") for style in getattr(book, PRIVATE_STYLES)]
    return {str(number) for number, one in enumerate(shown) if "%" in _LITERAL.sub("", one)}


def _shown(book: Any) -> Any:
    """Return the first sheet that is not hidden: what somebody sees is what is imported."""
    return next((one for one in book.worksheets if one.sheet_state == "visible"), book.worksheets[0])


class _Order:
    """The numbers of rows and cells of a sheet, each greater than the one before it."""

    def __init__(self) -> None:
        self._row = 0
        self._place = 0

    @property
    def address(self) -> str:
        """The address of the present cell."""
        return f"{_letters(self._place - 1)}{self._row}"

    def stands_in(self, columns: set[int], below: int) -> bool:
        """Whether the present cell is in one of these columns, the first of which is 1, below a row."""
        return self._row > below and self._place in columns

    def row(self, number: str | None) -> None:
        """A row begins. Raises Invalid."""
        said = self._row + 1 if number is None else int(number)
        if said <= self._row:
            raise _refused(_order_fault(f"row {said}", f"row {self._row}"))
        self._row, self._place = said, 0

    def cell(self, address: str | None) -> None:
        """A cell of the row begins. Raises Invalid."""
        from openpyxl.utils.cell import coordinate_to_tuple

        row, place = (self._row, self._place + 1) if address is None else coordinate_to_tuple(address)
        if row != self._row or place <= self._place:
            raise _refused(_order_fault(f"cell {address}", f"cell {self.address}"))
        self._place = place

    def value(self) -> None:
        """The cell has a value. Raises Invalid if it stands behind the columns that are read."""
        if self._place > COLUMNS_MAX:
            raise _refused(_too_wide(self.address))


def _order_fault(this: str, last: str) -> Fault:
    message = f"has {this} behind {last}, so a value would be lost; open the file and save it again"
    return Fault("sheet_order", message, this=this, last=last)


def _too_wide(cell: str) -> Fault:
    message = f"has a cell {cell}, and at most {COLUMNS_MAX} columns are read; delete the columns behind them"
    return Fault("too_many_columns", message, most=COLUMNS_MAX, cell=cell)


def _refuse_formulas(values: list[list[Any]], formulas: list[list[Any]]) -> None:
    """Raise Invalid for cells that show an error, or whose formula has no value: nobody has calculated it yet."""
    wrong = []
    for number, row in enumerate(formulas):
        for place, cell in enumerate(row):
            value = values[number][place] if number < len(values) and place < len(values[number]) else None
            if (cell is not None and value is None) or (isinstance(value, str) and value in _ERRORS):
                wrong.append(f"{_letters(place)}{number + 1}")
    if wrong:
        shown = _named(wrong)
        raise _refused(
            Fault("formula", f"has formulas without a value in {shown}; put values in their place", cells=shown)
        )


def _named(cells: list[str]) -> str:
    """Return the first of these cells, for a person."""
    return ", ".join(cells[:CELLS_NAMED_MAX]) + (", …" if len(cells) > CELLS_NAMED_MAX else "")


def _cell(value: Any) -> Cell:
    if isinstance(value, bool) or value is None:
        return None if value is None else str(value)
    if isinstance(value, int):
        return value if abs(value) < 2**63 else Decimal(value)
    if isinstance(value, float):
        return Decimal(f"{value:.15g}")
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return str(value)


def _bounded(row: Iterable[Any], number: int) -> list[Any]:
    """Return a row without what is behind the last column. Raises Invalid if there are too many rows, or too long a text."""
    if number > ROWS_MAX + HEADING_ROWS_MAX:
        raise _refused(too_many(number))
    cells = list(row)[:COLUMNS_MAX]
    while cells and cells[-1] is None:
        cells.pop()
    if any(isinstance(cell, str) and len(cell) > CELL_CHARACTERS_MAX for cell in cells):
        message = f"row {number}: no cell may have more than {CELL_CHARACTERS_MAX} characters"
        raise _refused(Fault("text_length", message, most=CELL_CHARACTERS_MAX))
    return cells


def _letters(place: int) -> str:
    letters = ""
    while place >= 0:
        letters, place = chr(65 + place % 26) + letters, place // 26 - 1
    return letters


def _refused(fault: Fault | None) -> Invalid:
    assert fault is not None, "there is a fault"
    return Invalid({CATALOGUE: [fault]})


WORK = Work(function=f"{__name__}:read_to_send", cpu_seconds=30, memory_bytes=768 * 2**20, seconds=120.0)
"""Limits well above what 5,000 lots with 50 columns take: some 7 s."""
_TOO_LARGE = Fault("file_too_large", f"must have at most {BYTES_MAX} bytes", most=BYTES_MAX)
_NOT_A_SHEET = Fault("not_a_sheet", "is no spreadsheet in XLSX or CSV, or is broken off or damaged")
_TOO_COSTLY = Fault(
    "sheet_too_costly",
    f"takes more than {WORK.cpu_seconds} s or {WORK.memory_bytes // 2**20} MB to read; "
    "save it as CSV, or copy the lots into a new file",
)
_TOO_COMPLEX = Fault(
    "sheet_too_complex",
    "has too many cells or formats, perhaps empty ones; save it as CSV, or copy the lots into a new file",
)
_ERRORS = frozenset(
    {"#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#N/A", "#NULL!", "#NUM!", "#SPILL!", "#CALC!", "#FIELD!", "#BLOCKED!"}
    | {"#CONNECT!", "#BUSY!", "#UNKNOWN!", "#GETTING_DATA", "#EXTERNAL!", "#PYTHON!", "#TIMEOUT!"}
)
"""The text of a cell that has no value, in Excel of all years and in LibreOffice."""
