"""Payment files against the published schema, whatever names and texts they have; and accounts that are refused."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sepaxml
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from saleroom.kernel.errors import Fault
from saleroom.settlement.domain.bank.transfers import BankAccount, Transfer, holder_fault, read_account, sepa_text
from saleroom.settlement.service.bank import sepa

NOW = datetime(2026, 11, 26, 9, 30, tzinfo=UTC)
HOUSE = BankAccount(holder="Auktionshaus Süd", iban="DE75512108001245126199", bic="SOLADEST600")
ADA = BankAccount(holder="Ada Müßig & Söhne", iban="DE89370400440532013000", bic="COBADEFFXXX")
MESSAGE = "PAY-2026-00001-9F3A2C"
LATIN = re.compile(r"[A-Za-z0-9/?:().,'+ -]*")


@cache
def schema() -> Any:
    """The schema of ISO 20022, as the library ships it."""
    return etree.XMLSchema(etree.parse(Path(sepaxml.__file__).parent / "schemas" / f"{sepa.SCHEMA}.xsd"))


def transfer(place: int = 1, amount: str = "12.340", to: BankAccount = ADA, text: str = "STM-2026-00001") -> Transfer:
    """Return a transfer."""
    return Transfer(end_to_end=f"{MESSAGE}-{place:04d}", to=to, amount=Decimal(amount), text=text)


def texts(content: str, name: str) -> list[str | None]:
    """Return the texts of all elements of a name."""
    return [one.text for one in etree.fromstring(content.encode()).iter(f"{{*}}{name}")]


@pytest.mark.parametrize("house", [HOUSE, BankAccount(holder="House", iban=HOUSE.iban)])
@pytest.mark.parametrize("to", [ADA, BankAccount(holder="Ada", iban="CH9300762011623852957")])
def test_a_file_is_valid_and_says_what_is_paid(house: BankAccount, to: BankAccount) -> None:
    """With or without a BIC on either side: sums, day and accounts, in euros; the same transfers make the same file."""
    some = [transfer(1, "12.340", to), transfer(2, "1000000.000", to), transfer(3, "0.010", to)]
    content = sepa.payment_file(MESSAGE, NOW, house, some)
    schema().assertValid(etree.fromstring(content.encode()))
    assert content == sepa.payment_file(MESSAGE, NOW, house, some)
    assert ["3", "3"] == texts(content, "NbOfTxs")
    assert ["1000012.35", "1000012.35"] == texts(content, "CtrlSum")
    assert ["12.34", "1000000.00", "0.01"] == texts(content, "InstdAmt")
    assert ([MESSAGE], ["2026-11-26T09:30:00Z"]) == (texts(content, "MsgId"), texts(content, "CreDtTm"))
    assert ("EUR" in content, ["SEPA"], ["SLEV"]) == (True, texts(content, "Cd"), texts(content, "ChrgBr"))
    assert [(one.end_to_end, one.amount, to.iban) for one in some] == sepa.transfers_in(content)
    assert [*filter(None, [house.bic, *[to.bic] * 3])] == texts(content, "BICFI")
    assert ([] if house.bic else ["NOTPROVIDED"]) == texts(content, "Id")[1:2] or house.bic


def test_names_are_written_as_every_bank_can_read_them() -> None:
    """German letters become two, others the nearest Latin one, and nothing stays that a bank reads as a mark."""
    for text, latin in {
        "Müßig & Söhne // GmbH": "Muessig + Soehne / GmbH",
        "ÄÖÜ": "AeOeUe",
        "Żółć Ørsted": "Zolc Orsted",
        "Ελλάδα": "Ellada",
        "a\nb\tc": "a b c",
        "/x/": "x",
        "<b>*": ".b..",
    }.items():
        assert latin == sepa_text(text, 140)
    content = sepa.payment_file(MESSAGE, NOW, HOUSE, [transfer(text="Auktion „Ätsch“")])
    assert ["Auktionshaus Sued", "Auktionshaus Sued", "Ada Muessig + Soehne"] == texts(content, "Nm")


@given(st.text(max_size=90), st.text(max_size=200), st.decimals("0.01", "999999999.99", places=2))
def test_any_text_makes_a_valid_file(holder: str, text: str, amount: Decimal) -> None:
    """Any name that is not refused, and any text: within the characters and the lengths of SEPA, valid by the schema."""
    if isinstance(holder_fault(holder), Fault):
        holder = "Ada"
    to = BankAccount(holder=holder, iban=ADA.iban)
    content = sepa.payment_file(MESSAGE, NOW, HOUSE, [transfer(amount=f"{amount}0", to=to, text=f"INV {text}")])
    schema().assertValid(etree.fromstring(content.encode()))
    [*_, name], [said] = texts(content, "Nm"), texts(content, "Ustrd")
    assert LATIN.fullmatch(name or "") and LATIN.fullmatch(said or "") and "//" not in (said or "")
    assert [(f"{MESSAGE}-0001", amount, ADA.iban)] == sepa.transfers_in(content)


@pytest.mark.parametrize(
    ("iban", "code"),
    [
        ("DE89370400440532013001", "iban_digits"),
        ("DE8937040044053201300", "iban_length"),
        ("XX89370400440532013000", "iban_country"),
        ("BR1500000000000010932840814P2", "iban_not_sepa"),
        ("DE8937040044053201300O", "iban_form"),
        ("no account", "iban_form"),
        ("", "iban_form"),
        ("Ä" * 50, "iban_form"),
    ],
)
def test_a_wrong_iban_is_refused_with_its_fault(iban: str, code: str) -> None:
    """A slip of a digit, a digit too few, no country, a country without SEPA, and what is none at all."""
    found = read_account("Ada", iban)
    assert isinstance(found, Fault) and code == found.code


def test_the_bank_follows_from_the_iban() -> None:
    """Blanks and small letters do not matter; a bank that no register has is left out."""
    assert ADA.bic == getattr(read_account("Ada", "de89 3704 0044 0532 0130 00"), "bic", None)
    assert "ABNANL2A" == getattr(read_account("Ada", "NL91ABNA0417164300"), "bic", None)
    assert "" == getattr(read_account("Ada", "CH9300762011623852957"), "bic", None)
    assert "DE…3000" == ADA.masked


def test_a_name_without_letters_is_refused() -> None:
    """A bank could not read it."""
    assert "holder" == getattr(holder_fault("🙂"), "code", None)
    assert None is holder_fault("漢字")
