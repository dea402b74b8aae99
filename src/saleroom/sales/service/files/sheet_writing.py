"""Sheets as files: CSV as Excel reads it in the language, and XLSX. No cell of either is run as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from saleroom.kernel.texts import guarded, in_xml
from saleroom.sales.domain.cells import Cell, written_amount

CSV_TYPE = "text/csv; charset=utf-8"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DIALECTS = {"en": (",", "."), "de": (";", ",")}
"""What divides cells, and the decimal mark, by language."""
_DIGITS_OF_SHEETS = 15


def as_csv(rows: Iterable[Sequence[Cell]], language: str) -> bytes:
    """Return rows as CSV in UTF-8 with its mark, without which Excel would take it for another encoding."""
    delimiter, mark = _DIALECTS[language]
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    for row in rows:
        writer.writerow([_text(cell, mark) for cell in row])
    return text.getvalue().encode("utf-8-sig")


def as_xlsx(rows: Iterable[Sequence[Cell]], language: str) -> bytes:
    """Return rows as XLSX. An amount with more digits than spreadsheets keep is a text."""
    return as_workbook({None: rows}, language)


def as_workbook(sheets: Mapping[str | None, Iterable[Sequence[Cell]]], language: str) -> bytes:
    """Return sheets by their names as XLSX, as `as_xlsx` does; None is the name that XLSX gives by itself."""
    from openpyxl import Workbook  # only here, as it takes 10 MB

    _, mark = _DIALECTS[language]
    book = Workbook(write_only=True)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "B2"
        for row in rows:
            sheet.append([cell if _is_number(cell) else in_xml(_text(cell, mark)) or None for cell in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _text(cell: Cell, mark: str) -> str:
    if isinstance(cell, Decimal):
        return written_amount(cell, mark)
    return "" if cell is None else guarded(str(cell))


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int) or (
        isinstance(cell, Decimal) and len(cell.normalize().as_tuple().digits) <= _DIGITS_OF_SHEETS
    )
