"""The program of the process that prints documents: Typst sets PDF/A-3, factur-x writes what is embedded in it.

The libraries for electronic invoices are loaded here alone, so that the house itself starts without them.
"""

from __future__ import annotations

from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import facturx
import msgspec
from lxml import etree
from pypdf import PdfReader, PdfWriter
from pypdf.generic import StreamObject
from segno import helpers

from saleroom.kernel.texts import in_xml
from saleroom.sales.service.paper.paper_files import DATA
from saleroom.sales.service.paper.typesetting import run, set_paper

TEMPLATE = Path(__file__).parents[2] / "paper" / "document.typ"
XML, CODE = "factur-x.xml", "code.svg"
LEVEL = "EN 16931"
_FX = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SCHEMAS = f".//{{http://www.aiim.org/pdfa/ns/extension/}}schemas/{{{_RDF}}}Bag"


def main() -> None:
    """Set a document in the folder that the arguments name."""
    run(typeset)


def typeset(kind: str, folder: Path) -> bytes:
    """Return a document as PDF/A-3 and PDF/UA-1, with its electronic form embedded if it has one. Raises ValueError.

    The kind `xml` is that form alone.
    """
    data = msgspec.json.decode((folder / DATA).read_bytes())
    if kind == "xml":
        return einvoice(data["terms"])
    if data["terms"] is not None:
        (folder / XML).write_bytes(einvoice(data.pop("terms")))
    if data["epc"] is not None:
        helpers.make_epc_qr(**data.pop("epc")).save(
            str(folder / CODE), kind="svg", border=4, light="#fff", xmldecl=False
        )
    data["embeds"], data["code"] = (folder / XML).exists(), (folder / CODE).exists()
    made = set_paper(TEMPLATE, folder, data, ("a-3a", "ua-1"), data["at"])
    return _named(made) if data["embeds"] else made


def einvoice(terms: dict[str, Any]) -> bytes:
    """Return the XML of an electronic invoice (CII) that says these business terms. Raises ValueError if no schema has it."""
    try:
        made: bytes = facturx.generate_xml(_in_xml(terms), level="en16931", check_xsd=True, check_schematron=False)
    except Exception as error:
        # If the XML does not fit the schema, facturx raises Exception itself.
        raise ValueError(f"the electronic invoice: {error}") from error
    return made


def _in_xml(value: Any) -> Any:
    """Return business terms with texts that XML can have."""
    if isinstance(value, str):
        return in_xml(value)
    if isinstance(value, list):
        return [_in_xml(one) for one in value]
    return {name: _in_xml(one) for name, one in value.items()} if isinstance(value, dict) else value


def _named(made: bytes) -> bytes:
    """Return a PDF whose metadata say that it embeds an electronic invoice, as Factur-X wants it."""
    reader = PdfReader(BytesIO(made))
    writer = PdfWriter(clone_from=reader)
    writer.pdf_header = reader.pdf_header
    found = writer.root_object["/Metadata"].get_object()
    assert isinstance(found, StreamObject), "Typst writes it"
    writer.xmp_metadata = _with_extension(found.get_data())
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def _with_extension(metadata: bytes) -> bytes:
    """Return metadata with the properties of Factur-X, and the description of their schema that PDF/A asks for."""
    extension = etree.fromstring((files(facturx) / "xmp" / "Factur-X_extension_schema.xmp").read_bytes())
    found = etree.fromstring(metadata)
    properties, schemas = extension.findall(f"{{{_RDF}}}Description")
    properties.find(f"{{{_FX}}}ConformanceLevel").text = LEVEL
    found.find(_SCHEMAS).extend(schemas.find(_SCHEMAS))
    found.find(f"{{{_RDF}}}RDF").append(properties)
    told: bytes = etree.tostring(found.getroottree(), encoding="utf-8")
    return told
