"""Files of banks: each version read, and what is hostile, broken or too much refused with its name."""

from datetime import date
from decimal import Decimal

import pytest

from saleroom.kernel.errors import Invalid
from saleroom.settlement.service.bank import camt
from tests.settlement.camt import IBAN, REVERSAL, credit, statement

HEAD = b'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">'


@pytest.mark.parametrize("version", ["02", "08"])
def test_a_payment_is_read_in_each_version(version: str) -> None:
    """Account, day, amount, payer and text; debits, reversals and what is not booked are other entries."""
    data = statement(
        credit("1250.50", "INV-2026-00012", reference="R1", version=version),
        credit("7.00", "out", kind="DBIT", version=version),
        credit("8.00", "later", status="PDNG", version=version),
        credit("9.00", "back", extra=REVERSAL, version=version),
        version=version,
    )
    found = camt.read(data)
    assert 3 == found.others
    [one] = found.payments
    assert (IBAN, date(2026, 11, 20), Decimal("1250.500"), "EUR", "Ada Lovelace", "INV-2026-00012", ("R1",)) == (
        one.account, one.on, one.amount, one.currency, one.payer, one.text, one.references
    )  # fmt: skip


@pytest.mark.parametrize(
    "amount", ["<AmtDtls><TxAmt><Amt Ccy='EUR'>{}</Amt></TxAmt></AmtDtls>", "<Amt Ccy='EUR'>{}</Amt>"]
)
def test_a_batch_is_read_one_by_one(amount: str) -> None:
    """An entry of several payments gives each with its own amount, wherever the version has it."""
    parts = "".join(
        f"<TxDtls>{amount.format(one)}<RmtInf><Ustrd>INV {one}</Ustrd></RmtInf></TxDtls>" for one in (10, 20)
    )
    entry = f"""<Ntry><Amt Ccy="EUR">30.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts>
      <BookgDt><DtTm>2026-11-20T10:00:00+01:00</DtTm></BookgDt><NtryDtls>{parts}</NtryDtls></Ntry>"""
    found = camt.read(statement(entry, version="04")).payments
    assert [(Decimal("10.000"), "INV 10"), (Decimal("20.000"), "INV 20")] == [(one.amount, one.text) for one in found]


def test_a_batch_without_amounts_is_one_payment() -> None:
    """A person looks at the whole of a batch that does not say what each part is."""
    entry = """<Ntry><Amt Ccy="EUR">30.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-11-20</Dt></BookgDt>
      <NtryDtls><TxDtls/><TxDtls/></NtryDtls></Ntry>"""
    [one] = camt.read(statement(entry)).payments
    assert Decimal("30.000") == one.amount


@pytest.mark.parametrize(
    "parts",
    [
        [("EUR", "40", ""), ("EUR", "10", "<CdtDbtInd>DBIT</CdtDbtInd>")],
        [("EUR", "40", ""), ("EUR", "10", "")],
        [("USD", "20", ""), ("USD", "10", "")],
        [("EUR", "30", ""), ("EUR", "0", "")],
    ],
)
def test_a_batch_that_does_not_add_up_is_one_payment(parts: list[tuple[str, str, str]]) -> None:
    """Money that went out, that is missing or in another currency is never taken as money that came in by a part."""
    said = "".join(f'<TxDtls><Amt Ccy="{one}">{amount}</Amt>{side}</TxDtls>' for one, amount, side in parts)
    entry = f"""<Ntry><Amt Ccy="EUR">30.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-11-20</Dt></BookgDt>
      <NtryDtls>{said}</NtryDtls></Ntry>"""
    assert [(Decimal("30.000"), "EUR")] == [(one.amount, one.currency) for one in camt.read(statement(entry)).payments]


def test_an_entry_of_nothing_is_no_payment() -> None:
    """Banks book 0.00 when they close an account; the rest of the statement counts."""
    found = camt.read(statement(credit("0.00", "Closing"), credit("5", "x")))
    assert ([Decimal("5.000")], 1) == ([one.amount for one in found.payments], found.others)


@pytest.mark.parametrize("day", ["2026-11-20", "2026-11-20Z", "2026-11-20+01:00", "2026-11-20T23:59:59.5+01:00"])
def test_days_are_read_as_banks_write_them(day: str) -> None:
    """A day or a moment, perhaps with its time zone: the day is as the bank says it."""
    [one] = camt.read(statement(credit("1", "x").replace("2026-11-20", day))).payments
    assert date(2026, 11, 20) == one.on


def test_an_account_without_iban_is_none() -> None:
    """A number of another kind is never taken for an IBAN."""
    other = statement(credit("1", "x")).replace(f"<IBAN>{IBAN}</IBAN>".encode(), b"<Othr><Id>4711</Id></Othr>")
    assert [""] == [one.account for one in camt.read(other).payments]


BOMB = b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n else b"ha" * 10) for n in range(12))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "not_camt"),
        (b"hello", "not_camt"),
        (b"PK\3\4" + statement(), "zipped"),
        (b"<Document/>", "not_camt"),
        (b"\x00" * 100, "not_camt"),
        (HEAD, "not_camt"),
        (statement(version="99"), "not_camt"),
        (statement(version="01"), "not_camt"),
        (HEAD + b"<a>" * 100 + b"</a>" * 100 + b"</Document>", "not_camt"),
        (b"<!DOCTYPE a [" + BOMB + b"]>" + HEAD + b"&a11;</Document>", "document_type"),
        (b'<!DOCTYPE a SYSTEM "file:///etc/passwd">' + HEAD + b"</Document>", "document_type"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "http://127.0.0.1/">]>' + HEAD + b"&x;</Document>", "document_type"),
        ('<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a><a/>'.encode("utf-16"), "document_type"),
        (b'<?xml version="1.0" encoding="no-such"?>' + HEAD + b"</Document>", "not_camt"),
        (statement(credit("1e9", "x")), "broken_entry"),
        (statement(credit("-5", "x")), "broken_entry"),
        (statement(credit("9" * 30, "x")), "broken_entry"),
        (statement(credit("1.0001", "x")), "broken_entry"),
        (statement(credit("", "x")), "broken_entry"),
        (statement(credit(".", "x")), "broken_entry"),
        (statement(credit("1", "x", currency="euro")), "broken_entry"),
        (statement(credit("1", "x").replace("2026-11-20", "2026-13-20")), "broken_entry"),
        (statement(credit("1", "x").replace("<Dt>2026-11-20</Dt>", "")), "broken_entry"),
        *(
            (statement(credit("1", "x").replace("2026-11-20", day)), "broken_entry")
            for day in (
                "0001-01-01",
                "1926-11-20",
                "9999-12-31",
                "20261120",
                "2026-W47-5",
                "2026-11-20x",
                "2026-11-20 10:00",
                "2026-11-20T25:00:00",
                "20261120T100000",
                "2026-W47-5T10:00:00",
                "0001-01-01T00:00:00",
            )
        ),
        (b" " * (camt.BYTES_MAX + 1), "statement_size"),
    ],
)
def test_what_is_no_statement_is_refused(data: bytes, code: str) -> None:
    """No entity is expanded, nothing is fetched, and each fault has its name."""
    with pytest.raises(Invalid) as refused:
        camt.read(data)
    assert [code] == [fault.code for fault in refused.value.faults["statement"]]


def test_an_entry_that_cannot_be_read_is_named() -> None:
    """By its number among the entries of its account."""
    with pytest.raises(Invalid) as refused:
        camt.read(statement(credit("1", "x"), credit("5,00", "x")))
    [found] = refused.value.faults[camt.FILE]
    assert ("broken_entry", {"entry": 2}) == (found.code, found.facts)


@pytest.mark.parametrize("written", ["0001.50", "1.5", "1.500000000"])
def test_amounts_are_those_of_xml(written: str) -> None:
    """Zeros before and behind an amount do not matter, as XML Schema has it."""
    [one] = camt.read(statement(credit(written, "x"))).payments
    assert Decimal("1.500") == one.amount


def test_too_many_payments_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may have so many payments and no more."""
    monkeypatch.setattr(camt, "PAYMENTS_MAX", 2)
    assert 2 == len(camt.read(statement(*[credit("1", "x")] * 2)).payments)
    with pytest.raises(Invalid):
        camt.read(statement(*[credit("1", "x")] * 3))


def test_texts_are_one_clean_line() -> None:
    """White space is one blank, and a text with hidden characters is left out."""
    found = camt.read(statement(credit("1", "a \n  b"), credit("2", "a\u202eb"))).payments
    assert ["a b", ""] == [one.text for one in found]
