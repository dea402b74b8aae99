"""Parties: the countries and the VAT numbers of those whom documents name."""

from __future__ import annotations

import re

from babel import Locale

from saleroom.kernel.errors import Fault

TEXT_MAX = 100
COUNTRY_PATTERN = "[A-Za-z]{2}"
VAT_ID_PATTERN = "[A-Za-z]{2}[A-Za-z0-9 .+*-]{2,20}"
_FORM = re.compile(VAT_ID_PATTERN)
COUNTRIES = frozenset(code for code in map(str, Locale("en").territories) if re.fullmatch("[A-Z]{2}", code)) - {
    "EU",
    "EZ",
    "UN",
    "ZZ",
}
"""ISO 3166: the names of Babel without those of unions."""
_COUNTRY = "must be a country by its two letters, such as DE"
_VAT_ID = "must be a VAT number with the letters of its country and correct check digits, such as DE136695976"


def parse_country(text: str) -> str | Fault:
    """Return a country by its two letters, empty if nobody has said, or its fault."""
    found = text.strip().upper()
    return found if not found or found in COUNTRIES else Fault("country", _COUNTRY)


def parse_vat_id(text: str) -> str | Fault:
    """Return a VAT number, empty if nobody has said, or its fault: the check digits of its country are wrong.

    Greece is EL in VAT numbers. Northern Ireland is XI for goods, with the digits of the United Kingdom.
    """
    from stdnum import get_cc_module  # it is not loaded before somebody has a number

    sent = text.strip()
    if not sent:
        return ""
    if _FORM.fullmatch(sent) is None:
        return Fault("vat_id", _VAT_ID)
    found = re.sub("[^A-Z0-9]", "", sent.upper())
    found = re.sub("^GR", "EL", found)
    module = get_cc_module({"EL": "gr", "XI": "gb"}.get(found[:2], found[:2].lower()), "vat")
    return found if module is not None and module.is_valid(found) else Fault("vat_id", _VAT_ID)
