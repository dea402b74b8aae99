"""Countries and VAT numbers of those whom documents name."""

import pytest

from saleroom.kernel.errors import Fault
from saleroom.settlement.domain.documents.parties import parse_vat_id


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("de 136 695 976", "DE136695976"),
        ("EL094259216", "EL094259216"),
        ("GR094259216", "EL094259216"),
        ("XI110305878", "XI110305878"),
        ("GB110305878", "GB110305878"),
        ("CHE-107.787.577 MWST", "CHE107787577MWST"),
        (" ", ""),
    ],
)
def test_vat_numbers_are_kept_as_their_countries_write_them(sent: str, kept: str) -> None:
    """Blanks and marks do not matter; Greece is EL whatever is sent, and Northern Ireland has its own letters."""
    assert kept == parse_vat_id(sent)


@pytest.mark.parametrize(
    "sent", ["DE136695975", "XI110305877", "GR094259215", "XX136695976", "136695976", "US123456789"]
)
def test_wrong_vat_numbers_are_refused(sent: str) -> None:
    """Wrong check digits, and letters of no country that has such numbers."""
    found = parse_vat_id(sent)
    assert isinstance(found, Fault) and "vat_id" == found.code
