"""Documents as PDF: what they say, PDF/A-3 and PDF/UA, and the electronic invoice inside.

No validator of PDF/A is to be had from the registries; what can be read of the standard is read here, and Typst refuses to
write what does not keep it.
"""

from io import BytesIO
from pathlib import Path
from typing import Any

import facturx
import msgspec
import pytest
from lxml import etree
from msgspec import structs
from pypdf import PdfReader

from saleroom.sales.domain.lots import TaxScheme
from saleroom.sales.service.paper.paper_files import DATA, FAULT
from saleroom.settlement.domain.documents.content import Document, DocumentKind, Payment, credit_note, issued
from saleroom.settlement.service.documents.document_papers import paper_data
from saleroom.settlement.service.documents.typesetting import CODE, XML, typeset
from tests.settlement.documents import FORMS, HOUSE, ON, document, line

NAMES = {
    "pdfaid": "http://www.aiim.org/pdfa/ns/id/",
    "pdfuaid": "http://www.aiim.org/pdfua/ns/id/",
    "fx": "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#",
    "schema": "http://www.aiim.org/pdfa/ns/schema#",
}


def pdf_of(made: Document, folder: Path) -> PdfReader:
    """Return a document as its process sets it, without a fault."""
    (folder / DATA).write_bytes(msgspec.json.encode(paper_data(made)))
    found = typeset(made.kind, folder)
    assert not (folder / FAULT).exists()
    return PdfReader(BytesIO(found))


def text_of(pdf: PdfReader) -> str:
    """Return the words of all pages."""
    return "\n".join(page.extract_text() for page in pdf.pages).replace("\u00a0", " ")


@pytest.mark.parametrize("form", ["standard", "margin", "all at once"])
def test_an_invoice_says_what_it_is_and_embeds_its_electronic_form(form: str, tmp_path: Path) -> None:
    """Its metadata name both, as PDF/A-3 and Factur-X want it, and the file inside is the invoice."""
    pdf = pdf_of(FORMS[form], tmp_path)
    root: Any = pdf.root_object
    metadata = etree.fromstring(root["/Metadata"].get_object().get_data())

    def said(name: str) -> list[str]:
        return [one.text for one in metadata.iterfind(f".//{name}", NAMES)]

    assert (["3"], ["A"], ["1"]) == (said("pdfaid:part"), said("pdfaid:conformance"), said("pdfuaid:part"))
    assert (["EN 16931"], ["factur-x.xml"]) == (said("fx:ConformanceLevel"), said("fx:DocumentFileName"))
    assert NAMES["fx"] in said("schema:namespaceURI"), "PDF/A wants a description of each schema"
    assert pdf.pdf_header == "%PDF-1.7"
    assert "/ID" in pdf.trailer
    assert {"/MarkInfo", "/StructTreeRoot", "/OutputIntents", "/Lang", "/AF"} <= root.keys()
    assert "/Alternative" == root["/AF"][0].get_object()["/AFRelationship"]
    assert [(tmp_path / XML).read_bytes()] == pdf.attachments["factur-x.xml"]
    assert ("factur-x.xml", (tmp_path / XML).read_bytes()) == facturx.get_xml_from_pdf(pdf.stream)
    pages: Any = pdf.pages
    assert all(font_is_embedded(font) for page in pages for font in page["/Resources"]["/Font"].values())


def font_is_embedded(font: Any) -> bool:
    """Return whether a font is within the file."""
    inner = font.get_object()["/DescendantFonts"][0].get_object()
    return bool({"/FontFile", "/FontFile2", "/FontFile3"} & inner["/FontDescriptor"].get_object().keys())


@pytest.mark.parametrize(("net", "has_code"), [("999999999.99", True), ("1000000000.00", False)])
def test_what_no_code_can_say_is_printed_without_one(net: str, has_code: bool, tmp_path: Path) -> None:
    """A transfer in euros moves up to 999,999,999.99; the invoice is printed all the same, with the words for its payment."""
    pdf = pdf_of(document(line(TaxScheme.STANDARD, net)), tmp_path)
    assert has_code == (tmp_path / CODE).exists()
    assert "DE75512108001245126199" in text_of(pdf).replace(" ", "")


def test_a_long_name_in_rare_letters_fits_into_the_code(tmp_path: Path) -> None:
    """A name of 70 letters with four bytes each is longer than the code can say; it is cut between two letters."""
    rare = document(line(TaxScheme.STANDARD), house=structs.replace(HOUSE, name="\U00010300" * 70))
    pdf_of(rare, tmp_path)
    assert (tmp_path / CODE).exists()


def test_an_invoice_in_words(tmp_path: Path) -> None:
    """Who, for what, how much by which tax, by when, and what the law wants to be said."""
    said = text_of(pdf_of(FORMS["all at once"], tmp_path))
    for words in (
        "Rechnung INV-2026-00001",
        "Kunst SARL",
        "Frankreich",
        "USt-IdNr. FR40303265045",
        "25. November 2026",
        "19 %",
        "22,80 €",
        "742,80 €",
        "Gebrauchtgegenstände/Sonderregelung",
        "Steuerschuldnerschaft des Leistungsempfängers",
        "Verwendungszweck INV-2026-00001",
        "USt-IdNr. DE136695976",
        "1 / 1",
    ):
        assert words in said
    assert (tmp_path / CODE).exists()


def test_a_line_names_the_words_that_hold_for_it(tmp_path: Path) -> None:
    """If lines differ in what the law wants to be said, each has the mark of its words; otherwise there are no marks."""
    data = paper_data(FORMS["all at once"])
    notes = {note.split(" ", 1)[0]: note for note in data["notes"]}
    for shown, said in zip(data["lines"], FORMS["all at once"].lines, strict=True):
        mark = shown[1].removeprefix(said.text).strip()
        assert (said.words and f"{mark} {said.words}") == notes.get(mark, ""), said
        assert bool(said.words) == bool(mark)
    said_on_paper = text_of(pdf_of(FORMS["all at once"], tmp_path))
    assert "¹ Gebrauchtgegenstände/Sonderregelung" in said_on_paper and "\ufffd" not in said_on_paper
    alone = paper_data(FORMS["margin"])
    assert FORMS["margin"].lines[0].text == alone["lines"][0][1]
    assert FORMS["margin"].lines[0].words == alone["notes"][0]


def test_the_margin_scheme_shows_no_tax(tmp_path: Path) -> None:
    """Neither a column nor a rate: the law forbids it."""
    said = text_of(pdf_of(FORMS["margin"], tmp_path))
    assert "144,00 €" in said
    assert "Steuersatz" not in said
    assert "%" not in said


def test_a_credit_note_and_a_receipt_in_english(tmp_path: Path) -> None:
    """They ask for no money, so there is no code, and the receipt has no electronic form."""
    english = structs.replace(FORMS["standard"], language="en")
    note = text_of(pdf_of(issued(credit_note(english, (), [1]), "CRN-2026-00001", ON), tmp_path))
    assert "Credit note CRN-2026-00001" in note
    assert "INV-2026-00001 of 25 November 2026" in note
    assert "€39.66" in note
    assert not (tmp_path / CODE).exists()
    (tmp_path / XML).unlink()
    paid = Payment(on=ON, amount=line(TaxScheme.NONE, "80.00").net, method="Cash")
    receipt = structs.replace(english, kind=DocumentKind.RECEIPT, lines=(), payments=(paid,), number="RCP-2026-00001")
    pdf = pdf_of(receipt, tmp_path)
    assert "Receipt RCP-2026-00001" in text_of(pdf)
    assert "€80.00" in text_of(pdf)
    assert {} == dict(pdf.attachments)


def test_texts_of_people_are_never_code_and_break_no_page(tmp_path: Path) -> None:
    """What looks like Typst is printed, a character without a glyph is replaced, and 300 lines take several pages."""
    odd = structs.replace(line(TaxScheme.MARGIN), text='#panic("x") $a$ 中 ' + "w" * 300)
    pdf = pdf_of(document(odd, *[line(TaxScheme.MARGIN)] * 300), tmp_path)
    assert '#panic("x") $a$ \ufffd' in text_of(pdf)
    assert len(pdf.pages) > 5
    assert f"{len(pdf.pages)} / {len(pdf.pages)}" in text_of(pdf)
