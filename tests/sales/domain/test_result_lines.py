"""The lines of results: the script of the page reads them, run by node over lines whose meaning is known."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from babel import Locale
from hypothesis import example, given, settings
from hypothesis import strategies as st

from saleroom.kernel.errors import Fault
from saleroom.sales.domain.labels import label_order
from saleroom.site import amounts
from tests.needs import need

STATIC = Path(amounts.__file__).parents[1] / "sales" / "web" / "static"
RUN = (
    f"require({str(STATIC / 'amounts.js')!r});"
    f"require({str(STATIC / 'result_lines.js')!r});"
    "const lines = require('readline').createInterface({ input: process.stdin });"
    "const answer = ([name, ...facts]) => ({ ...amounts, ...resultLines })[name](...facts) ?? null;"
    "lines.on('line', (text) => console.log(JSON.stringify(JSON.parse(text).map(answer))));"
)
LOCALES = ("en", "de", "de_CH", "de_AT")
NOTATIONS = {name: amounts.notation("EUR", Locale.parse(name)) for name in LOCALES}
LABELS = st.from_regex(r"[1-9][0-9]{0,5}[A-Z]{0,2}", fullmatch=True)
PRICES = st.integers(1, 10**11).map(lambda cents: f"{cents // 100}.{cents % 100:02}0")
NAMES = st.lists(st.text("abcÄß129,-;", min_size=1, max_size=8), min_size=1, max_size=5).map(" ".join)


class Script:
    """The script in one process of node, which answers line by line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def __call__(self, *calls: Any) -> list[Any]:
        """What its functions answer to these calls."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(calls) + b"\n")
        self._process.stdin.flush()
        return list(msgspec.json.decode(self._process.stdout.readline()))


@pytest.fixture(scope="module")
def asked() -> Iterator[Script]:
    """The script."""
    with subprocess.Popen([need("node"), "-e", RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Script(process)


def span(ends: tuple[str, str]) -> list[str]:
    """A span of lots, from the lower to the higher."""
    return sorted(ends, key=label_order)


SPANS = st.lists(
    st.one_of(LABELS.map(lambda one: [one, one]), st.tuples(LABELS, LABELS).map(span)), min_size=1, max_size=6
)
SOLD = st.fixed_dictionaries({"price": PRICES, "paddle": st.integers(1, 99_999)})
LINES = st.one_of(
    SPANS.map(lambda spans: {"spans": spans}),
    st.tuples(SPANS, SOLD).map(lambda two: {"spans": two[0], **two[1]}),
    st.tuples(NAMES, SOLD).map(lambda two: {"name": two[0], **two[1]}),
)


@settings(deadline=None)
@given(meant=LINES, locale=st.sampled_from(LOCALES))
def test_reading_what_was_written_gives_it_back(asked: Script, meant: dict[str, Any], locale: str) -> None:
    """In every language, for one lot and many, passed and sold, and for lots that are made on the spot."""
    notation = NOTATIONS[locale]
    [written] = asked(["write", meant, notation])
    assert [meant] == asked(["read", written, notation])


TEXTS = st.one_of(
    st.from_regex(r"[0-9]{1,3}([.,'’ ][0-9]{1,3}){0,2}([.,](-|--|[0-9]{1,4}))?", fullmatch=True),
    st.text("0123456789.,'-€E", max_size=12),
)


@settings(deadline=None)
@given(text=TEXTS, locale=st.sampled_from(LOCALES))
@example(text="1,-", locale="en")
@example(text="1.-", locale="de")
@example(text="1'000'000", locale="de_CH")
@example(text="1’000’000", locale="de_CH")
def test_amounts_are_read_as_on_all_pages(asked: Script, text: str, locale: str) -> None:
    """What the script takes is the same exact amount as in a form; what no form takes, it refuses."""
    [exact] = asked(["amount", text, NOTATIONS[locale]])
    read = amounts.read(text, "EUR", Locale.parse(locale))
    if exact is None:
        assert isinstance(read, Fault) or read == 0 or " " in text
    else:
        assert Decimal(exact) == read


@settings(deadline=None)
@given(text=TEXTS, locale=st.sampled_from(LOCALES), currency=st.sampled_from(("EUR", "JPY", "KWD")))
@example(text="12,500", locale="de", currency="EUR")
@example(text="1.234", locale="en", currency="EUR")
@example(text="1.234", locale="de", currency="EUR")
@example(text="1.234", locale="en", currency="KWD")
def test_thousands_are_in_doubt_as_on_all_pages(asked: Script, text: str, locale: str, currency: str) -> None:
    """The script doubts what a form doubts, in each currency, and writes an amount as it stands in a field."""
    place = Locale.parse(locale)
    notation = amounts.notation(currency, place)
    [exact, meant] = asked(["amount", text, notation], ["inThousands", text, notation])
    if exact is None:
        assert meant is None
        return
    doubted = amounts.in_thousands(text, Decimal(exact), currency, place)
    assert doubted == (None if meant is None else Decimal(meant))
    assert [amounts.write_bare(Decimal(exact), currency, place)] == asked(["written", exact, notation])


TYPED = [
    ("50", "en", {"exact": "50.000"}),
    ("12,50", "en", {"exact": "12.500"}),
    ("12.5", "de", {"exact": "12.500"}),
    ("1.234", "de", {"exact": "1234.000"}),
    ("1,234", "en", {"exact": "1234.000"}),
    ("1.234.500", "de", {"exact": "1234500.000"}),
    ("0.500", "en", {"exact": "0.500"}),
    ("0,500", "en", {"fault": "amount"}),
    ("1.234,50", "en", {"fault": "amount"}),
    ("1.", "en", {"fault": "amount"}),
    ("", "en", {"fault": "amount"}),
    ("1.234", "en", {"fault": "doubt", "amount": "1.234", "meant": "1234.000", "low": None, "high": "1234.00"}),
    ("12,500", "de", {"fault": "doubt", "amount": "12.500", "meant": "12500.000", "low": "12,50", "high": "12500,00"}),
]


@pytest.mark.parametrize(("text", "locale", "read"), TYPED)
def test_an_amount_typed_at_the_desk(asked: Script, text: str, locale: str, read: dict[str, Any]) -> None:
    """Decimals stand after the mark of either keypad; three digits are thousands or in doubt, as in a form."""
    assert [read] == asked(["typed", text, NOTATIONS[locale]])


EN, DE, CH = NOTATIONS["en"], NOTATIONS["de"], NOTATIONS["de_CH"]
CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("12 340 57", EN, {"spans": [["12", "12"]], "price": "340.000", "paddle": 57}),
    ("  012a   1,234.50\t#57 ", EN, {"spans": [["12A", "12A"]], "price": "1234.500", "paddle": 57}),
    ("12 1.234,50 057", DE, {"spans": [["12", "12"]], "price": "1234.500", "paddle": 57}),
    ("12 €340 57", EN, {"spans": [["12", "12"]], "price": "340.000", "paddle": 57}),
    ("12 340,- 57", DE, {"spans": [["12", "12"]], "price": "340.000", "paddle": 57}),
    ("12 1'000'000 57", CH, {"spans": [["12", "12"]], "price": "1000000.000", "paddle": 57}),
    ("12 1’000’000.5 57", CH, {"spans": [["12", "12"]], "price": "1000000.500", "paddle": 57}),
    ("12 1'000’000 57", CH, {"spans": [["12", "12"]], "price": "1000000.000", "paddle": 57}),
    ("12 -", EN, {"spans": [["12", "12"]]}),
    ("12 –", EN, {"spans": [["12", "12"]]}),
    ("1-3,5 20 44", EN, {"spans": [["1", "3"], ["5", "5"]], "price": "20.000", "paddle": 44}),
    ("1–3, 5; 7A 20 44", EN, {"spans": [["1", "3"], ["5", "5"], ["7A", "7A"]], "price": "20.000", "paddle": 44}),
    ("1-3,5 -", EN, {"spans": [["1", "3"], ["5", "5"]]}),
    ("0 Some name 25 44", EN, {"name": "Some name", "price": "25.000", "paddle": 44}),
    ("0 Bowls, 2 25 44", EN, {"name": "Bowls, 2", "price": "25.000", "paddle": 44}),
    ("", EN, {"fault": "empty", "text": ""}),
    ("12", EN, {"fault": "form", "text": "12"}),
    ("12 340", EN, {"fault": "form", "text": "12 340"}),
    ("12 3 40 57", EN, {"fault": "form", "text": "12 3 40 57"}),
    ("3-1 20 44", EN, {"fault": "lots", "text": "3-1"}),
    ("1-2-3 20 44", EN, {"fault": "lots", "text": "1-2-3"}),
    ("1234567 20 44", EN, {"fault": "lots", "text": "1234567"}),
    ("12 1.234,50 57", EN, {"fault": "amount", "text": "1.234,50"}),
    ("12 1,50 57", EN, {"fault": "amount", "text": "1,50"}),
    ("12 0 57", EN, {"fault": "amount", "text": "0"}),
    ("12 -5 57", EN, {"fault": "amount", "text": "-5"}),
    ("12 1e3 57", EN, {"fault": "amount", "text": "1e3"}),
    ("12 1.2345 57", EN, {"fault": "amount", "text": "1.2345"}),
    (
        "12 12,500 57",
        DE,
        {
            "fault": "doubt",
            "text": "12,500",
            "amount": "12.500",
            "meant": "12500.000",
            "low": "12,50",
            "high": "12500,00",
        },
    ),
    ("12 340 0", EN, {"fault": "paddle", "text": "0"}),
    ("12 340 100000", EN, {"fault": "paddle", "text": "100000"}),
    ("12 340 -", EN, {"fault": "paddle", "text": "-"}),
    ("0 25 44", EN, {"fault": "form", "text": "25 44"}),
    ("0 A -", EN, {"fault": "form", "text": "A -"}),
    (f"0 {'a' * 201} 25 44", EN, {"fault": "name", "text": "a" * 201}),
]


def test_lines_as_people_write_them(asked: Script) -> None:
    """Each way to write a line, and each fault with the part that has it."""
    found = asked(*(["read", text, notation] for text, notation, _ in CASES))
    assert [(text, meaning) for text, _, meaning in CASES] == [
        (text, read) for (text, _, _), read in zip(CASES, found, strict=True)
    ]


@pytest.mark.parametrize(
    ("spans", "chosen"),
    [
        ([["1", "3"]], {"labels": ["1", "2", "2A", "3"]}),
        ([["12", "12"], ["1", "2"], ["2", "2"]], {"labels": ["1", "2", "12"]}),
        ([["4", "4"]], {"labels": ["4"]}),
        ([["3", "12"]], {"labels": ["3", "12"]}),
        ([["1", "5"]], {"fault": "unknown", "text": "5"}),
        ([["2B", "2B"]], {"fault": "unknown", "text": "2B"}),
    ],
)
def test_a_range_names_the_lots_between_its_ends(asked: Script, spans: list[list[str]], chosen: dict[str, Any]) -> None:
    """In the natural order, each once; one that was withdrawn is left out, unless it is named alone."""
    lots = [
        {"label": label, "state": "withdrawn" if label == "4" else "open"} for label in ("1", "2", "2A", "3", "4", "12")
    ]
    assert [chosen] == asked(["chosen", spans, lots])


def test_a_line_names_no_more_lots_than_the_house_takes(asked: Script) -> None:
    """A hundred, as the API does."""
    lots = [{"label": str(number), "state": "open"} for number in range(1, 102)]
    most, many = asked(["chosen", [["1", "100"]], lots], ["chosen", [["1", "101"]], lots])
    assert (100, {"fault": "many", "text": "100"}) == (len(most["labels"]), many)
