"""Cells of files that the house gives out: no text of a stranger is run as a formula, in CSV and in XLSX."""

import csv
import io
import re
from decimal import Decimal
from pathlib import Path

import pytest
from openpyxl import load_workbook

import saleroom
from saleroom.kernel.texts import guarded, unguarded
from saleroom.sales.service.files.sheet_writing import as_csv, as_workbook

FORMULAS = [
    "=1+1", "+49 30 1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201",
    "'=1", "'", "#REF!", "#N/A", "#DIV/0!", "'#N/A",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_guarded_in_every_kind_of_file(text: str) -> None:
    """A text that a spreadsheet could run begins with an apostrophe in CSV and XLSX, and is no formula to a reader."""
    assert f"'{text}" == guarded(text) and text == unguarded(guarded(text))
    rows = [["Name"], [text]]
    for language, delimiter in (("en", ","), ("de", ";")):
        written = io.StringIO(as_csv(rows, language).decode("utf-8-sig"), newline="")
        assert [["Name"], [f"'{text}"]] == list(csv.reader(written, delimiter=delimiter))
    sheet = load_workbook(io.BytesIO(as_workbook({None: rows}, "en"))).worksheets[0]
    assert ("s", "'") == (sheet["A2"].data_type, sheet["A2"].value[0])


@pytest.mark.parametrize("text", ["Clock", "1-2", "a=b", "", "12.50", "\u00e4", "#12", "#floor", "#1A"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    """A text that nothing runs has no apostrophe before it."""
    assert text == guarded(text) == unguarded(text)


def test_an_amount_is_a_number() -> None:
    """A negative amount of the house is a number, and needs no guard."""
    assert b"-5.00" in as_csv([[Decimal(-5)]], "en")


def test_few_places_write_csv_and_xlsx_and_each_guards() -> None:
    """No other file of the source writes rows of CSV or workbooks than those that guard their cells."""
    root = Path(saleroom.__file__).parent
    writes = re.compile(r"csv[.](writer|DictWriter)\(|Workbook\(")
    found = {
        str(one.relative_to(root)): one.read_text() for one in root.rglob("*.py") if writes.search(one.read_text())
    }
    assert {"sales/service/files/sheet_writing.py", "bidding/web/results.py"} == set(found)
    assert all("guarded(" in text for text in found.values())
