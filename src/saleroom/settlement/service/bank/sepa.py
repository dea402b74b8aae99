"""Payment files: pain.001.001.09 (ISO 20022) as banks in Germany, Austria and Switzerland take it, written by `sepaxml`.

The library numbers and dates a file by chance and by the machine's clock; here both come from the house, so that the same
transfers make the same file.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from xml.etree import ElementTree as ET

from saleroom.settlement.domain.bank.transfers import CURRENCY, HOLDER_MAX, TEXT_MAX, BankAccount, Transfer, sepa_text

SCHEMA = "pain.001.001.09"
_SPACE = f"urn:iso:std:iso:20022:tech:xsd:{SCHEMA}"
_NAMES = {"": _SPACE}


def prepare() -> None:
    """Load the libraries, which takes a moment, before a transaction needs them."""
    import sepaxml  # noqa: F401  # as above
    import text_unidecode  # noqa: F401  # as above


def payment_file(message: str, made_at: datetime, house: BankAccount, transfers: Sequence[Transfer]) -> str:
    """Return the XML of a payment file for the bank of the house; `message` is what banks know it by.

    It is to be carried out on the day on which it is made. The bank books each transfer by itself, with its own text.
    """
    from sepaxml import SepaTransfer

    config = {
        "name": sepa_text(house.holder, HOLDER_MAX),
        "IBAN": house.iban,
        "currency": CURRENCY,
        "batch": True,
    } | ({"BIC": house.bic} if house.bic else {})
    sepa = SepaTransfer(config, schema=SCHEMA, clean=False)
    for one in transfers:
        sepa.add_payment(
            {
                "name": sepa_text(one.to.holder, HOLDER_MAX),
                "IBAN": one.to.iban,
                "amount": int(one.amount * 100),
                "execution_date": made_at.date(),
                "description": sepa_text(one.text, TEXT_MAX),
                "endtoend_id": one.end_to_end,
            }
            | ({"BIC": one.to.bic} if one.to.bic else {})
        )
    root = ET.fromstring(sepa.export(validate=False))  # noqa: S314  # written a line above
    _say(root, "CstmrCdtTrfInitn/GrpHdr/MsgId", message)
    _say(root, "CstmrCdtTrfInitn/GrpHdr/CreDtTm", made_at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    _say(root, "CstmrCdtTrfInitn/PmtInf/PmtInfId", message)
    _say(root, "CstmrCdtTrfInitn/PmtInf/BtchBookg", "false")
    if not house.bic:
        _name_no_bank(root)
    ET.indent(root, space="")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def transfers_in(content: str) -> list[tuple[str, Decimal, str]]:
    """Return the transfers of a payment file of the house: what banks know each by, its amount, and its account."""
    root = ET.fromstring(content)  # noqa: S314  # a file that the house has written, whose digest was compared
    return [
        (
            one.findtext("PmtId/EndToEndId", "", _NAMES),
            Decimal(one.findtext("Amt/InstdAmt", "0", _NAMES)),
            one.findtext("CdtrAcct/Id/IBAN", "", _NAMES),
        )
        for one in root.iterfind("CstmrCdtTrfInitn/PmtInf/CdtTrfTxInf", _NAMES)
    ]


def _say(root: ET.Element, path: str, text: str) -> None:
    found = root.find(path, _NAMES)
    assert found is not None, f"a payment file has {path}"
    found.text = text


def _name_no_bank(root: ET.Element) -> None:
    """Say that the bank is known by the account alone: banks refuse an element that is empty."""
    bank = root.find("CstmrCdtTrfInitn/PmtInf/DbtrAgt/FinInstnId", _NAMES)
    assert bank is not None, "a payment file names the bank of the house"
    other = ET.SubElement(bank, f"{{{_SPACE}}}Othr")
    ET.SubElement(other, f"{{{_SPACE}}}Id").text = "NOTPROVIDED"
