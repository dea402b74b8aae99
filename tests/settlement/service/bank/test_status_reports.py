"""Payment status reports: each version read, and what is hostile, broken or another file refused with its name."""

from decimal import Decimal

import pytest

from saleroom.kernel.errors import Invalid
from saleroom.settlement.domain.bank.status_reports import BankAnswer
from saleroom.settlement.service.bank import status_reports
from tests.settlement.camt import statement
from tests.settlement.pain002 import NAMESPACES, block, reasons, report, sums, transfer
from tests.settlement.service.bank.test_camt import BOMB

FILE, KNOWN_BY = "PAY-2026-00001-9F3A2C", "PAY-2026-00001-9F3A2C-0001"
HEAD = f'<Document xmlns="{NAMESPACES["001.10"]}">'.encode()


@pytest.mark.parametrize("version", [*[f"001.{number:02d}" for number in range(3, 15)], "002.03", "003.03", "ch"])
def test_a_report_is_read_in_each_version(version: str) -> None:
    """The file, its block and a transfer, each with its status, its reason and the bank's words."""
    data = report(
        FILE,
        block(FILE, transfer(KNOWN_BY, "RJCT", "AC04", "Konto", "erloschen", amount="86.9100"), status="PART"),
        status="PART",
        sums=sums(2, "100.00"),
        version=version,
    )
    found = status_reports.read(data)
    assert ("BANK-1", "2026-11-26T11:30:00+01:00") == (found.message, found.said_at)
    whole = found.file
    assert (FILE, BankAnswer("PART"), 2, Decimal(100)) == (whole.known_by, whole.said, whole.count, whole.total)
    [one] = found.blocks
    assert (FILE, BankAnswer("PART"), None, None) == (
        one.whole.known_by,
        one.whole.said,
        one.whole.count,
        one.whole.total,
    )
    [part] = one.parts
    assert (KNOWN_BY, BankAnswer("RJCT", "AC04", "Konto erloschen")) == (part.known_by, part.said)
    assert (Decimal("86.910"), "EUR") == (part.amount, part.currency)


def test_reasons_are_one_code_and_one_text() -> None:
    """A code of the bank's own, a second reason, white space, and a text with hidden characters, which is left out."""
    own = "<StsRsnInf><Rsn><Prtry>X99</Prtry></Rsn><AddtlInf>a \n b</AddtlInf></StsRsnInf>"
    own += reasons("AM04", "c\u202ed", "e")
    data = report(FILE, block(FILE, transfer(KNOWN_BY).replace("</TxSts>", f"</TxSts>{own}")))
    [part] = status_reports.read(data).blocks[0].parts
    assert BankAnswer("RJCT", "X99", "a b AM04 e") == part.said


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_pain002"),
        (b"hello", "not_pain002"),
        (b"<Document/>", "not_pain002"),
        (b"\x00" * 100, "not_pain002"),
        (HEAD, "not_pain002"),
        (HEAD + b"</Document>", "not_pain002"),
        (HEAD + b"<CstmrPmtStsRpt/></Document>", "not_pain002"),
        (report(FILE, status="RJCT", version="001.02"), "not_pain002"),
        (report(FILE, status="RJCT", version="001.15"), "not_pain002"),
        (report("", status="RJCT"), "not_pain002"),
        (report("X" * 36, status="RJCT"), "not_pain002"),
        (report(FILE, status="RJCT", message=""), "not_pain002"),
        (report(FILE, status="rejected"), "not_pain002"),
        (report(FILE, status="RJCT", sums="<OrgnlNbOfTxs>-1</OrgnlNbOfTxs>"), "not_pain002"),
        (report(FILE, status="RJCT", sums="<OrgnlCtrlSum>1e9</OrgnlCtrlSum>"), "not_pain002"),
        (report(FILE, block(FILE, transfer(KNOWN_BY, amount="-5"))), "not_pain002"),
        (report(FILE, block(FILE, transfer(KNOWN_BY, amount="9" * 30))), "not_pain002"),
        *(
            (report(FILE, status="RJCT", said_at=moment), "not_pain002")
            for moment in ("", "2026-11-26", "0001-01-01T00:00:00", "2026-02-30T10:00:00", "2026-11-26T25:00:00")
        ),
        (HEAD + b"<a>" * 100 + b"</a>" * 100 + b"</Document>", "not_pain002"),
        (report(FILE), "no_status"),
        (report(FILE, block(FILE, transfer(KNOWN_BY, ""))), "no_status"),
        (b"<!DOCTYPE a [" + BOMB + b"]>" + HEAD + b"&a11;</Document>", "document_type"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "http://127.0.0.1/">]>' + HEAD + b"&x;</Document>", "document_type"),
        ('<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a><a/>'.encode("utf-16"), "document_type"),
        (statement(), "is_statement"),
        (b'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"/>', "is_payment_file"),
        (b"PK\x03\x04" + b"\x00" * 100, "zipped"),
        (b" " * (status_reports.BYTES_MAX + 1), "report_size"),
    ],
)
def test_what_is_no_report_is_refused(data: bytes, code: str) -> None:
    """No entity is expanded, nothing is fetched, and each fault has its name."""
    with pytest.raises(Invalid) as refused:
        status_reports.read(data)
    assert [code] == [fault.code for fault in refused.value.faults["report"]]


def test_too_many_transfers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report may have so many transfers, in all of its blocks, and no more."""
    monkeypatch.setattr(status_reports, "PARTS_MAX", 2)
    one = block(FILE, transfer(KNOWN_BY))
    assert 2 == len(status_reports.read(report(FILE, one, one)).blocks)
    with pytest.raises(Invalid) as refused:
        status_reports.read(report(FILE, one, one, one))
    assert ["too_many_transfers"] == [fault.code for fault in refused.value.faults["report"]]
